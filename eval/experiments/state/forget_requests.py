"""Measure which messages a memory hides when it is asked to forget something.

    python -m eval.experiments.state.forget_requests --requests train/forgetting/test

Each labelled message (`train/forgetting/train_requests.py` describes the files) is added to a memory after the
messages before it; a message that is no request comes after those of the request before it in its file. With
`--together`, each author's earlier messages are all in one memory. Prints how many requests hide what they mean and
nothing else, and how many other messages hide something.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from eval.experiments.reading.conversations import LEVEL
from eval.reporting.shares import wilson
from nscma_torch import Memory
from train.forgetting.train_requests import rows_of

_FIRST = datetime(2026, 3, 2, 9, tzinfo=UTC)
_CONFIG = {"standing": {"neighbours": 0}}


def outcomes(rows: Sequence[Mapping[str, Any]], folder: Path, *, together: bool) -> dict[str, list[bool]]:
    """Return for each kind of outcome whether it happened, message by message."""
    found: dict[str, list[bool]] = {"exact": [], "recognised": [], "alarm": []}
    with Memory(folder / "store.db", config=_CONFIG) as memory:
        earlier: Sequence[str] = ()
        for place, row in enumerate(rows):
            earlier = row.get("earlier", earlier)
            user = "all" if together else f"u{place}"
            hour = _FIRST + timedelta(days=place)
            told = [
                memory.add(_said(text, hour, minute), user_id=user, now=hour + timedelta(hours=1))[0].id
                for minute, text in enumerate(earlier if "earlier" in row or not together else ())
            ]
            before = set(_live(memory, user))
            memory.add(_said(row["message"], hour, 50), user_id=user, now=hour + timedelta(hours=1))
            hidden = before - set(_live(memory, user))
            if row["forget"]:
                found["recognised"].append(bool(hidden))
                found["exact"].append(hidden == {told[target] for target in row["targets"]})
            else:
                found["alarm"].append(bool(hidden))
    return found


def _said(text: str, hour: datetime, minute: int) -> dict[str, str]:
    return {"role": "user", "content": text, "timestamp": (hour + timedelta(minutes=minute)).isoformat()}


def _live(memory: Memory, user: str) -> list[str]:
    return [episode.id for episode in memory.get_all(user_id=user, limit=None)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=Path, required=True)
    parser.add_argument("--together", action="store_true")
    arguments = parser.parse_args()
    for file in sorted(arguments.requests.glob("*.jsonl")):
        with tempfile.TemporaryDirectory() as folder:
            found = outcomes(rows_of(file), Path(folder), together=arguments.together)
        lines = []
        for name, values in found.items():
            low, high = wilson(np.asarray(values, float), LEVEL)
            lines.append(f"{name} {sum(values)} of {len(values)} [{low:.3f}, {high:.3f}]")
        print(f"{file.stem}: {', '.join(lines)}", flush=True)


if __name__ == "__main__":
    main()
