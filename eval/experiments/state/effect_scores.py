"""How well the reader tells what a later message takes away from an earlier one.

    python -m eval.experiments.state.effect_scores --state DIR... [--threads N]

The folders hold `groups-NN.jsonl` (`train/reader/state_files.py`), in which every pair of messages is labelled. Printed
are, at several thresholds, precision and recall of an effect (any change or "voids"), and the share of the found ones
that have the labelled kind; then the recall of each kind, and precision and recall of what rests on what. Intervals are
Wilson's, of 95 %; they treat pairs as independent.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.reading.conversations import LEVEL
from eval.reporting.shares import wilson
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES, UNCHANGED
from train.reader.state_files import StateGroup, read_state

THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
_SAID = datetime(2026, 1, 1, tzinfo=UTC)


class Pair(NamedTuple):
    """A labelled pair with the reader's probability of each of `CHANGES`."""

    label: str
    likely: dict[str, float]

    @property
    def effect(self) -> float:
        """Return the probability that the later message changes or voids the earlier one."""
        return sum(p for kind, p in self.likely.items() if kind not in UNCHANGED)

    @property
    def kind(self) -> str:
        """Return the likeliest kind of effect."""
        return max((kind for kind in CHANGES if kind not in UNCHANGED), key=self.likely.__getitem__)


def pairs(group: StateGroup, reader: Reader) -> list[Pair]:
    """Return the pairs of a group: each later message with each earlier one, and the earlier ones with each other."""
    labels: list[str] = []
    earlier: list[str] = []
    later: list[list[InputPassage]] = []

    def add(place: int, passage: InputPassage, label: str) -> None:
        said = group.earlier[place]
        earlier.append(f"{said.speaker}: {said.text}")
        later.append([replace(passage, said_at=_SAID)])
        labels.append(label)

    for one in group.later:
        for place in range(len(group.earlier)):
            add(place, one.said, one.effects.get(place, "none"))
    rests = set(group.rests)
    for a, b in permutations(range(len(group.earlier)), 2):
        if (a, b) in rests or (b, a) not in rests:
            add(b, group.earlier[a], "rests" if (a, b) in rests else "no rest")
    found = reader.changes(earlier, later).tolist()
    return [Pair(label, dict(zip(CHANGES, own, strict=True))) for label, own in zip(labels, found, strict=True)]


def tables(found: Sequence[Pair]) -> tuple[Table, Table, Table]:
    """Return the tables of effects by threshold, of kinds, and of what rests on what."""
    told = [pair for pair in found if pair.label not in ("rests", "no rest")]
    held = [pair.label not in UNCHANGED for pair in told]
    effects = Table("threshold", "precision", "recall", "of the labelled kind", "found", title="effects")
    for least in THRESHOLDS:
        chosen = [(pair, own) for pair, own in zip(told, held, strict=True) if pair.effect >= least]
        right = [pair for pair, own in chosen if own]
        effects.add_row(
            f"{least}",
            _share([own for _, own in chosen]),
            _share([pair.effect >= least for pair, own in zip(told, held, strict=True) if own]),
            _share([pair.kind == pair.label for pair in right]),
            str(len(chosen)),
        )
    kinds = Table("kind", "recall at .5", "n", title="kinds")
    for kind in CHANGES:
        own = [pair.effect >= 0.5 for pair in told if pair.label == kind]
        if own and kind not in UNCHANGED:
            kinds.add_row(kind, _share(own), str(len(own)))
    rests = Table("threshold", "precision", "recall", "found", title="rests")
    linked = [pair for pair in found if pair.label in ("rests", "no rest")]
    for least in THRESHOLDS:
        chosen_rests = [pair for pair in linked if pair.likely["rests"] >= least]
        rests.add_row(
            f"{least}",
            _share([pair.label == "rests" for pair in chosen_rests]),
            _share([pair.likely["rests"] >= least for pair in linked if pair.label == "rests"]),
            str(len(chosen_rests)),
        )
    return effects, kinds, rests


def _share(right: Sequence[bool]) -> str:
    if not right:
        return ""
    values = np.asarray(right, dtype=np.float64)
    low, high = wilson(values, LEVEL)
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, nargs="+", required=True, help="folders of groups")
    parser.add_argument("--reader", type=Path, help="weights; the bundled ones without it")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    reader = Reader.from_pretrained(arguments.reader)
    groups = [group for folder in arguments.state for group in read_state(folder)]
    found = [pair for group in groups for pair in pairs(group, reader)]
    console = Console(width=120)
    for table in tables(found):
        console.print(table)


if __name__ == "__main__":
    main()
