"""MemoryBank (Zhong et al. 2023, "MemoryBank: Enhancing Large Language Models with Long-Term Memory"): dense retrieval
with a forgetting curve (section 3.3, memory updating), and in full what it writes of the days (`memory_bank_days`).

A memory is retained with probability R = exp(-t / S): t are whole days since it was said or last recalled, S its
strength, 1 at first; a recall adds 1 to S and sets t to 0. Each day's messages of a user recall the `top_k` nearest
memories of earlier days that are not forgotten by then. A question is put to what is retained when it is asked; it
recalls nothing by default, for it must not change a later answer; with `questions_recall` it does, as in the paper.

The authors' code has the curve in two forms (memory_bank/memory_retrieval/forget_memory.py of
zhongwanjun/MemoryBank-SiliconFriend): `math.exp(-t / S)` at commit 0cc7111, and at commit 3869efc
`math.exp(-t / 5*S)`, which Python reads as exp(-t S / 5), so that a stronger memory is forgotten sooner. `formula` is
the paper's by default; "reference" is the latter. Their code draws anew whenever a memory is loaded, so that what is
opened often is forgotten sooner than the curve says; here each memory has one draw, and is forgotten when the curve
falls below it. Draws are of torch's global generator, which a run seeds for each sample of a task. What has no time
never ages.

With `summaries` the summary of a day is a memory, too, from its evening on, and the global summary stands before the
memories in what is read; with `portrait` so does the portrait of each user, as in the paper's prompt. Both are off by
default, so that the curve can be seen alone. Ours beside the paper: they are written once all was read, of the days as
they were said; what is forgotten stays in them. Each memory that the prompt shows is a passage, not a day's dialogue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import date, datetime
from itertools import groupby
from typing import Any, Literal

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, embed_beginnings, said
from eval.systems.language import Language
from eval.systems.memory_bank_days import Days, day_of, joined
from eval.systems.options import options_of
from eval.systems.text_nodes import TextNode, as_passage, ranked_leaves, said_by
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder

Formula = Literal["paper", "reference"]


class MemoryBankOptions(Section):
    """Options of kind memory-bank."""

    top_k: int = Field(5, gt=0, description="Memories that are read, or recalled by a message.")
    strength: float = Field(1.0, gt=0, description="S of what was never recalled, in days.")
    questions_recall: bool = Field(False, description="Whether a question recalls what it finds, as in the paper.")
    formula: Formula = Field("paper", description="The curve: 'paper' is exp(-t/S), 'reference' exp(-t*S/5).")
    summaries: bool = Field(False, description="Whether each day is summed up, and all days together.")
    portrait: bool = Field(False, description="Whether there is a portrait of each user.")
    day_words: int = Field(100, gt=0, description="Longest summary of a day in words.")
    words: int = Field(200, gt=0, description="Longest global summary or portrait in words.")


def retention(days: int, strength: float, formula: Formula) -> float:
    """R of a memory of that strength so many days after it was last recalled."""
    return math.exp(-days / strength if formula == "paper" else -days * strength / 5)


class MemoryBank:
    """Memories with their strength: the passages, then the summaries of days.

    Args:
        language: writes summaries and portraits; None where there are none.

    Attributes:
        nodes: the memories.
        strength: S of each memory, in days.
        recalled: when each was last recalled, or said; None where nobody knows.
        always: what is read for every question: the global summary and the portraits.
    """

    def __init__(self, embedder: Embedder, options: MemoryBankOptions, language: Language | None = None) -> None:
        self._embedder = embedder
        self._options = options
        self._language = language
        self._passages: Sequence[Passage] = ()
        self.nodes: list[TextNode] = []
        self.always: list[TextNode] = []
        self._vectors = torch.empty(0, 0)
        self._draws: list[float] = []
        self.strength: list[float] = []
        self.recalled: list[date | None] = []
        self._forgotten: set[int] = set()

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take the passages in day by day, forgetting and recalling on the way."""
        self._passages = passages
        self.nodes = [TextNode(said(passage), (row,)) for row, passage in enumerate(passages)]
        if self._language is not None:
            self._write(Days(self._language, passages))
        self._vectors = embed_beginnings(self._embedder, [node.text for node in self.nodes])
        self._draws = torch.rand(len(self.nodes), dtype=torch.float64).tolist()
        self.strength = [self._options.strength] * len(self.nodes)
        self.recalled = [day_of(passages[node.leaves[-1]].message.timestamp) for node in self.nodes]
        summary = {self.recalled[row]: row for row in range(len(passages), len(self.nodes))}
        earlier: list[int] = []
        for day, rows in groupby(range(len(passages)), key=lambda row: self.recalled[row]):
            own = list(rows)
            self._forgotten.update(row for row in earlier if not self._retained(row, day))
            kept = [row for row in earlier if row not in self._forgotten]
            for row in own:
                if passages[row].message.role == "user":
                    self._recall(self._nearest(kept, self._vectors[row])[: self._options.top_k], day)
            earlier += own
            earlier += [summary.pop(day)] if day in summary else []

    def _write(self, days: Days) -> None:
        """Summaries and portraits."""
        if self._options.summaries:
            events = days.events(self._options.day_words)
            self.nodes += [node for node in map(joined, events) if node is not None]
            self.always += filter(None, [days.history(events, self._options.words)])
        if self._options.portrait:
            self.always += days.portraits(self._options.words)

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
        day = day_of(now)
        known = said_by(self.nodes, self._passages, now)
        kept = [row for row in known if row not in self._forgotten and self._retained(row, day)]
        query = self._embedder.embed_query(question).cpu()
        near = self._nearest(kept, query)
        if self._options.questions_recall:
            self._recall(near[: self._options.top_k], day)
        nodes = [self.nodes[row] for row in near]
        similarity = self._vectors[: len(self._passages)] @ query if near else torch.empty(0)
        leaves = ranked_leaves(nodes, similarity)[: max(RANKED, self._options.top_k)]
        read = [as_passage(node, self._passages) for node in (*self.always, *nodes[: self._options.top_k])]
        return Found(read, [self._passages[row] for row in leaves])

    def store_bytes(self) -> int:
        """Of the texts and vectors that were not forgotten while reading."""
        kept = [row for row in range(len(self.nodes)) if row not in self._forgotten]
        own = [self._passages[row] for row in kept if row < len(self._passages)]
        written = [self.nodes[row] for row in kept if row >= len(self._passages)]
        texts = sum(len(node.text.encode()) for node in (*written, *self.always))
        return text_bytes(own) + texts + self._vectors[kept].nbytes


def make_memory_bank(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind memory-bank."""
    options = options_of(MemoryBankOptions(), section)
    written = options.summaries or options.portrait
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(
            MemoryBank(shared.embedder, options, Language(shared, engine) if written else None)
        ),
    )
