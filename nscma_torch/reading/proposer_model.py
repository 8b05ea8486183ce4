"""The network that proposes facts.

One pass over a message finds possible objects for each relation, and each object's subject, topic and stance.

Relations are represented as in `relation_model.py`. Legend: B rows, L tokens of the longest, R relations, N objects, d
width, h width of a pointer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relation_model import RelationModel
from nscma_torch.text.embedders.minilm import DIMENSION

POINTER = 64  # h
POINTERS = ("subject first", "subject last", "topic first", "topic last")
UNTOLD = len(STANCES)  # class of an object that the message does not tell in any stance
FEW = -5.0  # logit at which training begins: few tokens are the end of an object


class ProposerModel(RelationModel):
    """The encoder with heads; see `RelationModel` for its arguments and errors."""

    RANK = 24

    def __init__(self, relations: Sequence[str]) -> None:
        super().__init__(relations)
        d = DIMENSION
        self.own = nn.Parameter(torch.zeros(d))  # added to the tokens of the message itself
        self.mix = nn.Linear(d, d)
        self.ends = nn.Linear(d, 2 * d)
        self.bias = nn.Parameter(torch.full((2,), FEW))
        self.pair = nn.Linear(3 * d, d)
        self.query = nn.Linear(d, len(POINTERS) * POINTER)
        self.key = nn.Linear(d, len(POINTERS) * POINTER)
        self.stance = nn.Linear(d, len(STANCES) + 1)

    def hidden(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        target: Tensor,  # [B, L] bool, the tokens of the message itself
    ) -> Tensor:  # [B, L, d]
        """Return the hidden states of the last layer."""
        encoder = self.encoder
        x: Tensor = encoder.norm(encoder.word(ids) + encoder.position.weight[: ids.shape[1]])
        x = x + target.unsqueeze(-1) * self.own
        attention = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in encoder.layers:
            x = layer(x, attention)
        return x

    def objects(self, x: Tensor, vectors: Tensor) -> Tensor:  # [B, L, d], [R, d] to [B, L, 2, R]
        """Return logits for each token to be the first or last token of an object, for each relation."""
        ends = self.ends(vectors).view(len(vectors), 2, DIMENSION)
        scores = torch.einsum("bld,red->bler", F.gelu(self.mix(x)), ends) / math.sqrt(DIMENSION)
        return scores.float() + self.bias.float()[:, None]

    def about(
        self,
        x: Tensor,  # [B, L, d]
        row: Tensor,  # [N] int64, of each object
        first: Tensor,  # [N] int64, its tokens
        last: Tensor,  # [N] int64
        vectors: Tensor,  # [N, d], of its relation
    ) -> tuple[Tensor, Tensor]:  # [N, L, len(POINTERS)], [N, len(STANCES) + 1]
        """Return logits for the first and last tokens of each object's subject and topic, and for its stance."""
        both = F.gelu(self.pair(torch.cat([x[row, first], x[row, last], vectors.to(x.dtype)], -1)))
        query = self.query(both).view(len(row), len(POINTERS), POINTER)
        key = self.key(x).view(*x.shape[:2], len(POINTERS), POINTER)
        scores = torch.einsum("nph,nlph->nlp", query, key[row]) / math.sqrt(POINTER)
        return scores.float(), self.stance(both).float()
