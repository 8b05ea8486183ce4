"""Fits the confidence of short answers (`nscma_torch.reading.short_answer.confidence`) on development data.

    python -m eval.experiments.reading.calibration --data DIR --conversations DIR|FILE... [--json FILE]

Questions of development conversations and of LoCoMo's even half (category 5 is what was never told) are searched for
and read; logistic regression on the reader's logit, the answerability of the search and the share of what others said
than the speakers whom the question names gives the constants, both sets with the same weight. The table tells, at each
threshold, what share of the answerable questions would stay silent and what share of the others would be answered.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from eval.experiments.reading.conversation_files import load as load_conversations
from eval.metrics.retrieval_metrics import auc
from eval.tasks.locomo import load as load_locomo
from nscma_torch import Memory, Scope
from nscma_torch.core.records import Message
from nscma_torch.reading.short_answer import logit, said_by_others
from nscma_torch.search.search_bounds import Bounds

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
_PENALTY = 1e-3  # of the squared weights, for each example
_STEPS = 50


@dataclass(frozen=True, slots=True)
class Point:
    """One question: the three features of `confidence`, and whether the memory holds the answer."""

    read: float  # the reader's logit
    found: float  # the answerability of the search
    others: float
    held: bool

    @property
    def row(self) -> list[float]:
        """The features, after a 1 for the intercept."""
        return [1.0, self.read, self.found, self.others]


def points(messages: Iterable[Message], asked: Sequence[tuple[str, bool]], user: str, now: datetime) -> Iterator[Point]:
    """The features of each question of a store that holds the messages."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "store.db") as memory:
        list(memory.add_many(messages, user_id=user, now=now))
        parts = memory.components
        if parts.reader_qa is None:
            raise SystemExit("there is no reader to calibrate: reading.model is 'none'")
        for question, held in asked:
            bounds = Bounds(Scope(user), now)
            hits = parts.retriever.retrieve(question, bounds, top_k=parts.config.reading.passages)
            read = parts.reader_qa.read(question, hits.hits, user_id=user, now=now)
            others = said_by_others(read.result, read.passages, read.query.speakers)
            yield Point(logit(read.result.answerable), hits.answerability(), others, held)


def fitted(sets: Sequence[Sequence[Point]]) -> NDArray[np.float64]:
    """Intercept and weights of the features, by Newton's method; every set weighs the same."""
    rows = np.array([p.row for own in sets for p in own])
    truth = np.array([p.held for own in sets for p in own], dtype=np.float64)
    weight = np.concatenate([np.full(len(own), 1 / len(own)) for own in sets if own])
    penalty = np.diag([0.0, *[_PENALTY] * (rows.shape[1] - 1)])
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weight * (share - truth)) + penalty @ found
        curve = (rows * (weight * share * (1 - share))[:, None]).T @ rows + penalty
        found -= np.linalg.solve(curve, slope)
    return found


def table(name: str, own: Sequence[Point], constants: NDArray[np.float64]) -> Table:
    """What each threshold would do to one set."""
    sure = [float(1 / (1 + np.exp(-(constants @ p.row)))) for p in own]
    held = [p.held for p in own]
    area = f"AUC {auc(sure, held):.3f} (reader {auc([p.read for p in own], held):.3f})"
    printed = Table("threshold", "silent", "invented", caption=f"{name}, n = {len(own)}\n{area}")
    for threshold in THRESHOLDS:
        silent = np.mean([s < threshold for s, h in zip(sure, held, strict=True) if h])
        invented = np.mean([s >= threshold for s, h in zip(sure, held, strict=True) if not h])
        printed.add_row(f"{threshold:.2f}", f"{silent:.3f}", f"{invented:.3f}")
    return printed


def main() -> None:
    """Print the constants, and what thresholds would do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--conversations", type=Path, nargs="+", required=True, help="chats, dialogues, or folders")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the features of each question")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    sets: dict[str, list[Point]] = {"conversations": [], "LoCoMo, even half": []}
    for one in load_conversations(arguments.conversations):
        asked = [(question.text, bool(question.gold.answers)) for question in one.questions]
        sets["conversations"] += points(one.messages, asked, one.user, one.asked_at)
    for chat in load_locomo(arguments.data)[::2]:
        asked = [(q.text, True) for q in chat.questions] + [(q.text, False) for q in chat.unanswerable]
        sets["LoCoMo, even half"] += points(chat.messages, asked, "reader", chat.asked_at)
    constants = fitted(list(sets.values()))
    console = Console(width=120)
    console.print(f"INTERCEPT, READ, FOUND, OTHERS = {', '.join(f'{value:.3f}' for value in constants)}")
    for name, own in sets.items():
        console.print(table(name, own, constants))
    if arguments.json is not None:
        told = {name: [asdict(point) for point in own] for name, own in sets.items()}
        arguments.json.write_text(json.dumps(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
