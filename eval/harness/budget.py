"""`--budget 2h`: the largest balanced part of a run that can be done in that time.

A rank takes two samples of a task at once, one of each half, with all systems: what is begun is done whole, so that
every system has the same samples and both halves as many. These pairs stand in rounds of one for each task, in the
tasks' own order, which has their categories in turn. A rank begins a pair where its units, at the seconds that they
took so far (`Pace`), end before the budget does. What was never measured is: the first pair of a task is begun without
an estimate as long as there is time, and no rank begins a further one before the first samples are through. The first
pair that does not fit makes its round the last, of which the other tasks' pairs are still begun where they fit.

The budget is that of a command. Started again after a kill, it finishes what it had begun, whatever that takes, and has
what its units in the folder have left of it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from eval.harness.pace import Pace
from eval.harness.progress import span
from eval.harness.ranks import Ranks
from eval.harness.raw_lines import Key
from eval.harness.sample_run import Group, left
from nscma_torch.core.errors import ConfigError

_SECONDS = (3600.0, 60.0, 1.0)  # of h, m, s
_LAST = "last round"
REFUSED = "refused"  # the name of why something was not begun, as a text of `Ranks`
_MEASURED = "measured"


@dataclass(frozen=True)
class Batch:
    """What one rank takes at once.

    Attributes:
        groups: one sample, or under a budget two of a task, those that are not done.
        round: how many pairs of its task come before it.
        begun: a unit of it was done by this command before; it is finished first.
        measures: its task has systems that were never measured, and no pair comes before it.
    """

    groups: tuple[Group, ...]
    round: int = 0
    begun: bool = False
    measures: bool = False


def read_budget(text: str) -> float:
    """Seconds of "2h", "30m", "90s" or "1h30m"; ConfigError for anything else."""
    parts = re.fullmatch(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?", text)
    try:
        found = (
            []
            if parts is None
            else [float(part or 0) * each for part, each in zip(parts.groups(), _SECONDS, strict=True)]
        )
    except ValueError:
        found = []
    if sum(found) <= 0:
        raise ConfigError(f"--budget is {text!r}; write a time such as 2h, 30m or 90s")
    return sum(found)


def single(groups: Sequence[Group]) -> list[Batch]:
    """A batch for each sample, for a run without a budget."""
    return [Batch((group,)) for group in groups]


def paired(
    planned: Sequence[Group], done: Collection[Key], begun: Collection[Key], measured: Collection[tuple[str, str]]
) -> list[Batch]:
    """What is to do, in the order in which it is begun.

    Args:
        done: units that are left out.
        begun: those of them that this command did.
        measured: tasks and systems whose seconds are known.
    """
    batches: list[Batch] = []
    for task in dict.fromkeys(group.task for group in planned):
        halves = [[group for group in planned if group.task == task and group.index % 2 == half] for half in (0, 1)]
        known = all((task, system) in measured for half in halves for group in half for system in group.systems)
        for number, pair in enumerate(zip_longest(*halves)):
            groups = [group for group in pair if group is not None]
            rest = tuple(left(groups, done))
            started = any(key in begun for group in groups for key in group.keys())  # noqa: SIM118 - not a mapping
            if rest:
                batches.append(Batch(rest, number, started, not known and not started))
                known = True
    return sorted(batches, key=lambda batch: (not batch.begun, batch.round))


class Budget:
    """One rank's view of the budget, from when it is made.

    Args:
        batches: of all ranks.
        seconds: that are left.
    """

    def __init__(self, ranks: Ranks, pace: Pace, batches: Sequence[Batch], seconds: float) -> None:
        self._ranks = ranks
        self._pace = pace
        self._measuring = sum(batch.measures for batch in batches)
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds, below 0 where it is overdrawn."""
        return self._ends - time.monotonic()

    def over(self, batch: Batch) -> bool:
        """Whether neither this batch nor any after it is begun: the rounds have ended."""
        last = self._ranks.add(_LAST, 0)  # counted from 1; 0 is none
        return 0 < last <= batch.round and not batch.begun

    def admits(self, batch: Batch) -> bool:
        """Whether this rank begins a batch; waits while the first ones are measured."""
        if batch.begun:
            return True
        while not batch.measures and self._waits():
            time.sleep(0.05)
        needed, remaining = 0.0 if batch.measures else self._needed(batch), self.left
        if not self.over(batch) and needed < remaining:
            return True
        self._refuse(batch, needed, remaining)
        return False

    def measured(self, batch: Batch) -> None:
        """Note that the first sample of a batch is done, or never will be."""
        if batch.measures:
            self._ranks.add(_MEASURED)

    def _waits(self) -> bool:
        all_measured = self._ranks.add(_MEASURED, 0) >= self._measuring
        return not all_measured and not self._ranks.add(_LAST, 0) and self._ranks.stopped is None

    def _needed(self, batch: Batch) -> float:
        pairs = [(group.task, system) for group in batch.groups for system in group.systems]
        return self._pace.seconds(pairs) or 0.0

    def _refuse(self, batch: Batch, needed: float, remaining: float) -> None:
        if self._ranks.add("refusals") == 1:
            names = " and ".join(repr(group.sample) for group in batch.groups)
            estimate = f"would take {span(needed)}" if needed else "were not measured"
            self._ranks.tell(
                REFUSED, f"{batch.groups[0].task}, {names} {estimate}, {span(max(0.0, remaining))} were left"
            )
            self._ranks.add(_LAST, batch.round + 1)
        self.measured(batch)
