"""Whether `Memory.ask` knows the state of things: what has ended, was deleted, or was never told.

    python -m eval.experiments.state.state_questions --histories DIR... [--config FILE] [--errors] [--json FILE]

`histories.py` beside this file describes the form. Messages are added one by one at their times; a deletion is
`Memory.delete` of a message, unless a message asks for it in words. Every question is asked at its own time.

- *right*: a short right answer; where nobody can know, an abstention.
- *void*: an answer that names a value which no longer holds, was deleted, or belongs to a neighbour.
- *silent*: an abstention although there is an answer.

Each type stands beside its controls, which are built alike and have an answer, because a memory that always abstains is
right in every cascade, absence and deletion; *balanced* is the mean of both. Intervals are Wilson's, of 95 %; they
treat questions as independent.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.reading.conversations import LEVEL, Models, loaded, opened
from eval.experiments.state.histories import TYPES, History, load
from eval.reporting.shares import wilson
from nscma_torch import Memory, load_config
from nscma_torch.core.records import Answer
from nscma_torch.demo.short_answers import Gold, judge, says
from nscma_torch.text.calendar.timestamps import parse_timestamp


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question; for the verdicts, see the module."""

    author: str
    history: str
    type: str
    like: str
    depth: int
    link: str
    question: str
    gold: str
    answer: str
    right: bool
    void: bool
    silent: bool


def outcomes(history: History, models: Models, asked_of: Models | None = None) -> Iterator[Outcome]:
    """Tell a fresh store a history, and ask its questions; with `asked_of`, of other models than read the history."""
    user = history.user
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "chat.db"
        with opened(store, models) as memory:
            _tell(memory, history)
        with opened(store, asked_of or models) as memory:
            for asked in history.questions:
                answer = memory.ask(asked.text, user_id=user, now=asked.asked_at)
                right, void, silent = verdict(asked.gold, answer)
                yield Outcome(
                    history.author,
                    history.name,
                    asked.type,
                    asked.like,
                    asked.depth,
                    asked.link,
                    asked.text,
                    str(asked.gold),
                    answer.short,
                    right,
                    void,
                    silent,
                )


def _tell(memory: Memory, history: History) -> None:
    user = history.user
    ids: list[str] = []
    for number, message in enumerate(history.messages, start=1):
        at = parse_timestamp(message.timestamp)
        ids += [added.id for added in memory.add_many([message], user_id=user, now=at)]
        for deletion in history.deletions:
            if deletion.after == number and not deletion.said:
                memory.delete(ids[deletion.message - 1], user_id=user, now=at)
    memory.flush()


def verdict(gold: Gold, answer: Answer) -> tuple[bool, bool, bool]:
    """Return whether an answer is right, void and silent."""
    if gold.answers:
        told = judge(gold, answer)
        return told.short, told.stale, told.silent
    void = not answer.abstained and any(says(answer.short, value) for value in gold.stale)
    return answer.abstained, void, False


def table(found: Sequence[Outcome]) -> Table:
    """Return a row for each type with its controls, and one for each depth and link of cascades."""
    printed = Table("questions", "n", "right", "95 %", "void", "silent", "controls right", "n", "balanced")
    for kind in TYPES:
        own = [one for one in found if one.type == kind]
        controls = [one for one in found if one.type == "control" and one.like == kind]
        _row(printed, kind, own, controls)
        if kind == "cascade":
            for depth in sorted({one.depth for one in own}):
                _row(printed, f"  depth {depth}", [one for one in own if one.depth == depth], ())
            for link in ("said", "implied"):
                _row(printed, f"  {link}", [one for one in own if one.link == link], ())
    return printed


def _row(printed: Table, name: str, own: Sequence[Outcome], controls: Sequence[Outcome]) -> None:
    if not own:
        return
    right = np.asarray([one.right for one in own], dtype=np.float64)
    low, high = wilson(right, LEVEL)
    known = float(np.mean([one.right for one in controls])) if controls else None
    printed.add_row(
        name,
        str(len(own)),
        f"{right.mean():.3f}",
        f"{low:.3f}-{high:.3f}",
        f"{np.mean([one.void for one in own]):.3f}",
        f"{np.mean([one.silent for one in own]):.3f}",
        "" if known is None else f"{known:.3f}",
        str(len(controls)) if controls else "",
        "" if known is None else f"{(right.mean() + known) / 2:.3f}",
    )


def main() -> None:
    """Print a table, and with `--errors` every question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=Path, nargs="+", required=True, help="files, or folders of them")
    parser.add_argument("--config", type=Path, help="configuration of the memory; the defaults without it")
    parser.add_argument("--errors", action="store_true", help="print each question with gold, answer and verdict")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of each question")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    models = loaded(load_config(arguments.config))
    found = [one for history in load(arguments.histories) for one in outcomes(history, models)]
    console = Console(width=140)
    if arguments.errors:
        for one in found:
            mark = "right" if one.right else "void" if one.void else "silent" if one.silent else "wrong"
            console.print(
                f"{mark:7}{one.type:10} {one.history}: {one.question}\n    {one.gold} | {one.answer}", markup=False
            )
    console.print(table(found))
    if arguments.json is not None:
        rows = [asdict(one) for one in found]
        arguments.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
