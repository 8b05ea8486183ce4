"""The reader's network: the bundled encoder, its upper layers trained anew, and a head for each thing it tells.

Legend: B rows, L tokens of the longest row, d = 384.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nscma_torch.text.minilm import DIMENSION, LAYERS, MiniLM

TRAINED_LAYERS = 4  # the upper ones; the lower ones are the embedder's own
KINDS = ("span", "yes", "no", "when", "count", "list")
STANCES = ("holds", "ended", "future", "denied", "wished", "supposed", "hearsay", "fiction")
CHANGES = ("none", "confirms", "replaces", "corrects", "ends", "cancels")


class Outputs(NamedTuple):
    """Logits: of each token as first and last of a span and as the end of a passage that answers, and of the row."""

    first: Tensor  # [B, L]
    last: Tensor  # [B, L]
    evidence: Tensor  # [B, L], read at the last token of each passage
    answerable: Tensor  # [B]
    kind: Tensor  # [B, len(KINDS)]
    stance: Tensor  # [B, len(STANCES)]
    change: Tensor  # [B, len(CHANGES)]


class ReaderModel(nn.Module):
    """Reads a question together with passages (Devlin et al. 2019, section 4.2, with more heads)."""

    def __init__(self, encoder: MiniLM, trained_layers: int = TRAINED_LAYERS) -> None:
        super().__init__()
        self.word, self.position, self.norm = encoder.word, encoder.position, encoder.norm
        self.lower = encoder.layers[: LAYERS - trained_layers]
        self.upper = encoder.layers[LAYERS - trained_layers :]
        self.passage = nn.Parameter(torch.zeros(DIMENSION))  # added to the tokens after the question
        self.token = nn.Linear(DIMENSION, 3)
        self.pool = nn.Linear(DIMENSION, DIMENSION)
        self.answerable = nn.Linear(DIMENSION, 1)
        self.kind = nn.Linear(DIMENSION, len(KINDS))
        self.stance = nn.Linear(DIMENSION, len(STANCES))
        self.change = nn.Linear(DIMENSION, len(CHANGES))
        for table in (self.word, self.position, self.norm, self.lower):
            table.requires_grad_(False)

    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        passage: Tensor,  # [B, L] bool, True at the tokens after the question
    ) -> Outputs:
        x = self.norm(self.word(ids) + self.position.weight[: ids.shape[1]])
        attention = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in self.lower:
            x = layer(x, attention)
        x = x + passage.unsqueeze(-1) * self.passage
        for layer in self.upper:
            x = layer(x, attention)
        first, last, evidence = self.token(x).float().unbind(-1)
        whole = torch.tanh(self.pool(x[:, 0]))
        return Outputs(
            first,
            last,
            evidence,
            self.answerable(whole)[:, 0].float(),
            self.kind(whole).float(),
            self.stance(whole).float(),
            self.change(whole).float(),
        )

    def trained_state(self) -> dict[str, Tensor]:
        """What training changes: all but the tables and layers that are the embedder's."""
        own = ("word.", "position.", "norm.", "lower.")
        return {name: value for name, value in self.state_dict().items() if not name.startswith(own)}
