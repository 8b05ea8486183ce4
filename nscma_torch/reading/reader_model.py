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
# How a later message bears on an earlier one: "voids" takes away what the earlier one rests on, "fulfils" and "fails"
# decide its condition, and "rests" tells something that rests on the earlier one.
CHANGES = ("none", "confirms", "replaces", "corrects", "ends", "cancels", "voids", "fulfils", "fails", "rests")


# Kinds that leave the earlier message as it is.
UNCHANGED = frozenset({"none", "confirms", "rests"})
_CHANGING = [place for place, kind in enumerate(CHANGES) if kind not in UNCHANGED]


def probability_of_effect(changes: Tensor) -> Tensor:  # [n, len(CHANGES)]
    """Return the probability that a later message changes or voids an earlier one, from those of `CHANGES`. [n]"""
    return changes[:, _CHANGING].sum(1)


class Outputs(NamedTuple):
    """Logits for spans and evidence at each token, and for the classes of each row; and its hidden states in short."""

    first: Tensor  # [B, L]
    last: Tensor  # [B, L]
    evidence: Tensor  # [B, L], read at the last token of each passage
    answerable: Tensor  # [B]
    kind: Tensor  # [B, len(KINDS)]
    stance: Tensor  # [B, len(STANCES)]
    change: Tensor  # [B, len(CHANGES)]
    # The states of the first token, and the means weighted by the shares of evidence, first and last tokens: [B, 4d];
    # empty unless the encoder `pools_evidence`.
    summary: Tensor = torch.empty(0)


class Encoder(nn.Module, ABC):
    """Computes the hidden states for rows of tokens.

    Args:
        dimension: the width d.
        max_tokens: maximum number of tokens in a row.
    """

    pools_evidence = False  # whether a `ReaderModel` reads classes from the passages' ends, too
    separator: int  # the token at the end of the question and of each passage; needed if `pools_evidence`

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
    """Reads a question together with its passages (Devlin et al. 2019, section 4.2, with more heads).

    Classes are read from the first token, and with the encoder's `pools_evidence` from the ends of the passages as
    well, weighted by the softmax of their evidence.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        d = encoder.dimension
        self.encoder = encoder
        self.token = nn.Linear(d, 3)
        self.pool = nn.Linear(d, d)
        if encoder.pools_evidence:
            self.context = nn.Linear(d, d, bias=False)
            nn.init.zeros_(self.context.weight)
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
        whole, summary = self.pool(x[:, 0]), x.new_empty(len(x), 0)
        if self.encoder.pools_evidence:
            told = self._of_evidence(x, evidence, ids, passage)
            whole = whole + self.context(told)
            spans = (_weighted(x, logits, passage) for logits in (first, last))
            summary = torch.cat([x[:, 0], told, *spans], 1)
        whole = torch.tanh(whole)
        return Outputs(
            first,
            last,
            evidence,
            self.answerable(whole)[:, 0].float(),
            self.kind(whole).float(),
            self.stance(whole).float(),
            self.change(whole).float(),
            summary.float(),
        )

    def _of_evidence(
        self,
        x: Tensor,  # [B, L, d]
        evidence: Tensor,  # [B, L]
        ids: Tensor,  # [B, L]
        passage: Tensor,  # [B, L] bool
    ) -> Tensor:  # [B, d]
        """Return the mean hidden state at the passages' ends, weighted by the softmax of their evidence."""
        ends = passage & (ids == self.encoder.separator)
        return _weighted(x, evidence, ends)

    def trained(self) -> dict[str, nn.Parameter]:
        """Return the trainable parameters by their names in a weights file."""
        return {name.removeprefix("encoder."): p for name, p in self.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor], source: Path) -> None:
        """Load weights; a parameter on the meta device takes the tensor itself instead of a copy.

        Raises `ModelError`, naming `source`, unless names and shapes are those of `trained`.
        """
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
            if not parameter.is_meta:
                parameter.copy_(weights[name])
        places = {id(parameter): name for name, parameter in self.named_parameters()}
        unset = {places[id(p)]: weights[name] for name, p in own.items() if p.is_meta}
        self.load_state_dict(unset, strict=False, assign=True)


def _weighted(
    x: Tensor,  # [B, L, d]
    logits: Tensor,  # [B, L]
    at: Tensor,  # [B, L] bool
) -> Tensor:  # [B, d]
    """Return the mean hidden state at some tokens, weighted by the softmax of their logits; the first token's if there
    is none.
    """
    at = at.clone()
    at[:, 0] |= ~at.any(1)
    weight = logits.masked_fill(~at, -torch.inf).softmax(-1)
    return (weight.to(x.dtype).unsqueeze(1) @ x)[:, 0]
