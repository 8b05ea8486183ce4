"""The network that parses questions.

It finds the requested relation, the kind of question, and the positions of subject, object and topic.

Relations are represented as in `relation_model.py`. Legend: B questions, L tokens of the longest, R relations, d width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from nscma_torch.reading.relation_model import RelationModel
from nscma_torch.text.embedders.minilm import DIMENSION

ASKS = ("none", "again", "object", "subject", "whether", "when", "giver", "receiver", "thing")
FLAGS = ("previous", "count", "named", "onward")
SLOTS = ("subject", "object", "topic", "before")


class QuestionLogits(NamedTuple):
    """Logits of the question network; an empty slot points to the first token, [CLS]."""

    asks: Tensor  # [B, len(ASKS)]
    flags: Tensor  # [B, len(FLAGS)]
    relation: Tensor  # [B, R]
    first: Tensor  # [B, L, len(SLOTS)]
    last: Tensor  # [B, L, len(SLOTS)]


class QuestionModel(RelationModel):
    """The encoder with heads; see `RelationModel` for its arguments and errors."""

    RANK = 8

    def __init__(self, relations: Sequence[str]) -> None:
        super().__init__(relations)
        d = DIMENSION
        self.pool = nn.Linear(d, d)
        self.asks = nn.Linear(d, len(ASKS))
        self.flags = nn.Linear(d, len(FLAGS))
        self.slots = nn.Linear(d, 2 * len(SLOTS))

    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        vectors: Tensor,  # [R, d], see `vectors`
    ) -> QuestionLogits:
        encoder = self.encoder
        x: Tensor = encoder.norm(encoder.word(ids) + encoder.position.weight[: ids.shape[1]])
        attention = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in encoder.layers:
            x = layer(x, attention)
        whole = F.gelu(self.pool(x[:, 0]))
        first, last = self.slots(x).float().masked_fill(~mask[:, :, None], -torch.inf).chunk(2, -1)
        relation = whole @ vectors.to(whole.dtype).T / math.sqrt(DIMENSION)
        return QuestionLogits(self.asks(whole).float(), self.flags(whole).float(), relation.float(), first, last)
