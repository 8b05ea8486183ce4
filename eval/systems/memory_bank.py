"""MemoryBank's forgetting curve over dense retrieval (Zhong et al. 2023, "MemoryBank: Enhancing Large Language Models
with Long-Term Memory", section 3.3, memory updating).

A memory is retained with probability R = exp(-t / S): t are whole days since it was said or last recalled, S its
strength, 1 at first; a recall adds 1 to S and sets t to 0. Each day's messages of a user recall the `top_k` nearest
memories of earlier days that are not forgotten by then. A question is put to what is retained when it is asked; it
recalls nothing by default, for it must not change a later answer; with `questions_recall` it does, as in the paper.

The authors' code has the curve in two forms (memory_bank/memory_retrieval/forget_memory.py of
zhongwanjun/MemoryBank-SiliconFriend): `math.exp(-t / S)` at commit 0cc7111, and at commit 3869efc
`math.exp(-t / 5*S)`, which Python reads as exp(-t S / 5), so that a stronger memory is forgotten sooner. `formula` is
the paper's by default; "reference" is the latter. Their code draws anew whenever a memory is loaded, so that what is
opened often is forgotten sooner than the curve says; here each memory has one draw, and is forgotten when the curve
falls below it. Draws are of torch's global generator, which a run seeds for each sample of a task. Summaries and the
portrait of the user are not part of the curve and are left out. What has no time never ages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any, Literal

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, best, text_bytes
from eval.systems.documents import said
from eval.systems.options import options_of
from nscma_torch.config import Section
from nscma_torch.protocols import Embedder

Formula = Literal["paper", "reference"]


class MemoryBankOptions(Section):
    """Options of kind memory-bank."""

    top_k: int = Field(5, gt=0, description="Memories that are read, or recalled by a message.")
    strength: float = Field(1.0, gt=0, description="S of what was never recalled, in days.")
    questions_recall: bool = Field(False, description="Whether a question recalls what it finds, as in the paper.")
    formula: Formula = Field("paper", description="The curve: 'paper' is exp(-t/S), 'reference' exp(-t*S/5).")


def retention(days: int, strength: float, formula: Formula) -> float:
    """R of a memory of that strength so many days after it was last recalled."""
    return math.exp(-days / strength if formula == "paper" else -days * strength / 5)


class MemoryBank:
    """Memories with their strength.

    Attributes:
        strength: S of each memory, in days.
        recalled: when each was last recalled, or said; None where nobody knows.
    """

    def __init__(self, embedder: Embedder, options: MemoryBankOptions) -> None:
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._vectors = torch.empty(0, 0)
        self._draws: list[float] = []
        self.strength: list[float] = []
        self.recalled: list[date | None] = []
        self._forgotten: set[int] = set()

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take the passages in day by day, forgetting and recalling on the way."""
        self._passages = passages
        texts = [said(passage) for passage in passages]
        self._vectors = self._embedder.embed(texts).cpu()
        self._draws = torch.rand(len(texts), dtype=torch.float64).tolist()
        self.strength = [self._options.strength] * len(texts)
        self.recalled = [_day(passage.message.timestamp) for passage in passages]
        earlier: list[int] = []
        for day, rows in groupby(range(len(passages)), key=lambda row: self.recalled[row]):
            own = list(rows)
            self._forgotten.update(row for row in earlier if not self._retained(row, day))
            kept = [row for row in earlier if row not in self._forgotten]
            for row in own:
                if passages[row].message.role == "user":
                    self._recall(self._nearest(kept, self._vectors[row])[: self._options.top_k], day)
            earlier += own

    def _recall(self, rows: Sequence[int], day: date | None) -> None:
        for row in rows:
            self.strength[row] += 1
            self.recalled[row] = self.recalled[row] and day

    def _retained(self, row: int, day: date | None) -> bool:
        since = self.recalled[row]
        days = max(0, (day - since).days) if day is not None and since is not None else 0
        return self._draws[row] < retention(days, self.strength[row], self._options.formula)

    def _nearest(self, rows: Sequence[int], vector: torch.Tensor) -> list[int]:
        scores = self._vectors[rows] @ vector if rows else torch.empty(0)
        order: list[int] = scores.argsort(descending=True, stable=True).tolist()
        return [rows[place] for place in order]

    def find(self, question: str, now: datetime) -> Found:
        """The nearest of those that are retained now."""
        day = _day(now)
        kept = [row for row in range(len(self._passages)) if row not in self._forgotten and self._retained(row, day)]
        near = self._nearest(kept, self._embedder.embed_query(question).cpu())
        if self._options.questions_recall:
            self._recall(near[: self._options.top_k], day)
        return best([self._passages[row] for row in near], self._options.top_k)

    def store_bytes(self) -> int:
        """Of the texts and vectors that were not forgotten while reading."""
        kept = [row for row in range(len(self._passages)) if row not in self._forgotten]
        return text_bytes([self._passages[row] for row in kept]) + self._vectors[kept].nbytes


def _day(time: datetime | None) -> date | None:
    return None if time is None else time.astimezone(UTC).date()


def make_memory_bank(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind memory-bank."""
    options = options_of(MemoryBankOptions(), section)
    return Baseline(section["name"], options, shared, lambda *_: nullcontext(MemoryBank(shared.embedder, options)))
