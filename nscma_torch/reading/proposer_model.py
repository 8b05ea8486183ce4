"""The network that proposes facts: one pass over a message tells where the object of which relation may stand, and for
each such object of whom it is said, on what topic, and in what stance.

A relation is known by its words, as a vector of the published encoder, and, where it was trained on, by a vector of its
own beside them. Legend: B rows, L tokens of the longest, R relations, N objects, d width, h width of a pointer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from nscma_torch.errors import ModelError
from nscma_torch.reading.low_rank import add_changes, merge_changes
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.text.minilm import DIMENSION, MiniLM, bundled_folder, load_tokenizer, verify

RANK = 24  # of the changes of the encoder
POINTER = 64  # h
POINTERS = ("subject first", "subject last", "topic first", "topic last")
UNTOLD = len(STANCES)  # class of an object that the message does not tell in any stance
FEW = -5.0  # logit at which training begins: few tokens are the end of an object


class ProposerModel(nn.Module):
    """all-MiniLM-L6-v2 with low-rank changes, and heads.

    Args:
        relations: names of those that have vectors of their own.

    Raises:
        ModelNotFoundError: the encoder is not installed.
        ChecksumError: its files are not the published ones.
    """

    def __init__(self, relations: Sequence[str]) -> None:
        super().__init__()
        folder = bundled_folder()
        verify(folder)
        self.tokenizer = load_tokenizer(folder)
        self.relations = tuple(relations)
        self.encoder = MiniLM.from_checkpoint(folder / "model.safetensors")
        add_changes(self.encoder, RANK)
        d = DIMENSION
        self.own = nn.Parameter(torch.zeros(d))  # added to the tokens of the message itself
        self.mix = nn.Linear(d, d)
        self.words = nn.Linear(d, d)
        self.relation = nn.Parameter(torch.zeros(len(relations), d))
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
        """The hidden states of the last layer."""
        encoder = self.encoder
        x: Tensor = encoder.norm(encoder.word(ids) + encoder.position.weight[: ids.shape[1]])
        x = x + target.unsqueeze(-1) * self.own
        attention = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in encoder.layers:
            x = layer(x, attention)
        return x

    def vectors(
        self,
        words: Tensor,  # [R, d], unit vectors of the relations' words by the published encoder
        places: Tensor,  # [R] int64 among `relations`, -1 where it is none of them
        keep: Tensor | None = None,  # [R] bool: whose own vector is used; None: of all
    ) -> Tensor:  # [R, d]
        """The vectors of relations."""
        own = places >= 0 if keep is None else (places >= 0) & keep
        vectors: Tensor = self.words(words * math.sqrt(DIMENSION))
        return vectors + self.relation[places.clamp(min=0)] * own[:, None]

    def objects(self, x: Tensor, vectors: Tensor) -> Tensor:  # [B, L, d], [R, d] to [B, L, 2, R]
        """Logits of each token as first and as last of an object of each relation."""
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
        """Logits of the tokens that say of whom an object is said and on what topic, and of its stances or `UNTOLD`."""
        both = F.gelu(self.pair(torch.cat([x[row, first], x[row, last], vectors.to(x.dtype)], -1)))
        query = self.query(both).view(len(row), len(POINTERS), POINTER)
        key = self.key(x).view(*x.shape[:2], len(POINTERS), POINTER)
        scores = torch.einsum("nph,nlph->nlp", query, key[row]) / math.sqrt(POINTER)
        return scores.float(), self.stance(both).float()

    def trained(self) -> dict[str, nn.Parameter]:
        """What training changes, by name."""
        return {name: p for name, p in self.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor], source: Path) -> None:
        """Take over weights of the names and shapes of `trained`; ModelError, which names `source`, for others."""
        own = self.trained()
        if {n: p.shape for n, p in own.items()} != {n: w.shape for n, w in weights.items()}:
            raise ModelError(f"{source} is no proposer of this version; train it again by train/reader/train_proposer")
        for name, parameter in own.items():
            parameter.copy_(weights[name])

    def merge(self) -> None:
        """Join the encoder and its changes, after which it can be used and no longer be trained."""
        merge_changes(self.encoder)
        self.eval().requires_grad_(False)
