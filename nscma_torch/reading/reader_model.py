"""The reader's network: an encoder with a head for each output.

Legend: B rows, L tokens of the longest row, d width of the encoder's hidden states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from nscma_torch.core.errors import ModelError

KINDS = ("span", "yes", "no", "when", "count", "list")
STANCES = ("holds", "ended", "future", "denied", "wished", "supposed", "hearsay", "fiction")
CHANGES = ("none", "confirms", "replaces", "corrects", "ends", "cancels")


class Outputs(NamedTuple):
    """Logits for spans and evidence at each token, and for the classes of each row."""

    first: Tensor  # [B, L]
    last: Tensor  # [B, L]
    evidence: Tensor  # [B, L], read at the last token of each passage
    answerable: Tensor  # [B]
    kind: Tensor  # [B, len(KINDS)]
    stance: Tensor  # [B, len(STANCES)]
    change: Tensor  # [B, len(CHANGES)]


class Encoder(nn.Module, ABC):
    """Computes the hidden states for rows of tokens.

    Args:
        dimension: the width d.
        max_tokens: maximum number of tokens in a row.
    """

    def __init__(self, tokenizer: Tokenizer, *, dimension: int, max_tokens: int) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.dimension = dimension
        self.max_tokens = max_tokens

    @abstractmethod
    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        passage: Tensor,  # [B, L] bool, True at the tokens after the question
    ) -> Tensor:  # [B, L, d]
        """Return the hidden states of the last layer."""

    @abstractmethod
    def write(self, weights: dict[str, Tensor], path: Path) -> None:
        """Write everything needed to load a reader with this encoder; `weights` comes from `ReaderModel.trained`."""


class ReaderModel(nn.Module):
    """Reads a question together with its passages (Devlin et al. 2019, section 4.2, with more heads)."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        d = encoder.dimension
        self.encoder = encoder
        self.token = nn.Linear(d, 3)
        self.pool = nn.Linear(d, d)
        self.answerable = nn.Linear(d, 1)
        self.kind = nn.Linear(d, len(KINDS))
        self.stance = nn.Linear(d, len(STANCES))
        self.change = nn.Linear(d, len(CHANGES))

    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        passage: Tensor,  # [B, L] bool, True at the tokens after the question
    ) -> Outputs:
        x = self.encoder(ids, mask, passage)
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

    def trained(self) -> dict[str, nn.Parameter]:
        """Return the trainable parameters by their names in a weights file."""
        return {name.removeprefix("encoder."): p for name, p in self.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor], source: Path) -> None:
        """Load weights. Raises `ModelError`, naming `source`, unless their names and shapes are those of `trained`."""
        own = self.trained()
        if odd := sorted(own.keys() ^ weights.keys()):
            raise ModelError(
                f"{source} is not a reader of this version and encoder: {odd[0]} is missing or unknown; train it again"
            )
        for name, parameter in own.items():
            if parameter.shape != weights[name].shape:
                raise ModelError(
                    f"{source} was trained on another encoder: {name} has shape {[*weights[name].shape]}, not "
                    f"{[*parameter.shape]}; train it again"
                )
        for name, parameter in own.items():
            parameter.copy_(weights[name])
