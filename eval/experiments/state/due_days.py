"""Measure which of the things that fall due a memory lists.

    python -m eval.experiments.state.due_days --histories eval/data/due/test

A file has a history per line: `{"history": [{"at", "text"}], "asks": [{"now", "days", "due", "not_due"}]}`, where `due`
lists all messages that tell what falls due in the next days, with the day, and `not_due` has messages that only seem to
(done, cancelled, moved, somebody else's). Printed are precision and recall of days, how many listed ones are of
`not_due`, and the same with no effects of later messages.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eval.experiments.reading.conversations import LEVEL
from eval.reporting.shares import wilson
from nscma_torch import Memory


class Counts(NamedTuple):
    """Listed days that are right, wrong (`seeming` of them from a message of `not_due`), and missing ones."""

    right: int = 0
    wrong: int = 0
    seeming: int = 0
    missing: int = 0

    def __add__(self, other: Any) -> Counts:
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


def counts(row: Mapping[str, Any], store: Path, neighbours: int) -> Counts:
    """Tell a memory a history and ask what is due."""
    total = Counts()
    with Memory(store, config={"standing": {"neighbours": neighbours}}) as memory:
        ids = []
        for one in row["history"]:
            at = datetime.fromisoformat(one["at"]).replace(tzinfo=UTC)
            message = {"role": "user", "content": one["text"], "timestamp": at.isoformat()}
            ids.append(memory.add(message, user_id="u", now=at)[0].id)
        memory.flush()
        place = {memory_id: number for number, memory_id in enumerate(ids)}
        for ask in row["asks"]:
            now = datetime.fromisoformat(ask["now"]).replace(tzinfo=UTC)
            found = memory.due(user_id="u", days=ask["days"], now=now)
            listed = {(place[one.memory_id], one.day.isoformat()) for one in found}
            gold = {(own["message"], own["date"]) for own in ask["due"]}
            wrong = listed - gold
            seeming = sum(number in ask["not_due"] for number, _ in wrong)
            total += Counts(len(listed & gold), len(wrong), seeming, len(gold - listed))
    return total


def described(found: Counts) -> str:
    """Return precision and recall with their intervals."""
    parts = []
    for name, other in (("precision", found.wrong), ("recall", found.missing)):
        low, high = wilson(np.repeat([1.0, 0.0], [found.right, other]), LEVEL)
        share = found.right / max(1, found.right + other)
        parts.append(f"{name} {share:.3f} [{low:.3f}, {high:.3f}] of {found.right + other}")
    return f"{', '.join(parts)}; {found.seeming} of {found.wrong} wrong ones only seem due"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=Path, required=True)
    arguments = parser.parse_args()
    for file in sorted(arguments.histories.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for neighbours in (8, 0):
            with tempfile.TemporaryDirectory() as folder:
                total = Counts()
                for number, row in enumerate(rows):
                    total += counts(row, Path(folder) / f"{number}.db", neighbours)
            print(f"{file.stem}, {neighbours or 'no'} neighbours: {described(total)}", flush=True)


if __name__ == "__main__":
    main()
