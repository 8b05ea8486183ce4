"""What all ranks of a run must know before they begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.harness.budget import Batch, Budget, paired, single
from eval.harness.pace import Pace, Pair, Taken, known, seconds_of
from eval.harness.progress import State
from eval.harness.ranks import Ranks
from eval.harness.raw_lines import Key, Line
from eval.harness.sample_run import Group, left


@dataclass(frozen=True)
class Plan:
    """The plan of one attempt.

    Attributes:
        batches: what is to do, in the order in which the ranks take it.
        stamp: what every line says of the run.
        before: seconds of the units that are done.
        seconds: left of the budget; None without one.
    """

    batches: Sequence[Batch]
    stamp: Mapping[str, Any]
    before: Mapping[Pair, Taken]
    seconds: float | None

    @property
    def systems(self) -> set[str]:
        """Names of those that have anything to do."""
        return {system for _, system in self.units}

    @property
    def units(self) -> Mapping[Pair, int]:
        """How many are to do."""
        groups = [group for batch in self.batches for group in batch.groups]
        return Counter((group.task, system) for group in groups for system in group.systems)

    def pace(self, ranks: Ranks) -> Pace:
        """Of the ranks, from now on."""
        return Pace(ranks, self.before, self.units)

    def budget(self, ranks: Ranks) -> Budget | None:
        """That begins now; None without one."""
        return None if self.seconds is None else Budget(ranks, self.pace(ranks), self.batches, self.seconds)


def make_plan(
    planned: Sequence[Group],
    before: Mapping[Key, Line],
    done: Collection[Key],
    stamp: Mapping[str, Any],
    *,
    budget: float | None = None,
    same: Collection[int] = (),
    ranks: int = 1,
) -> Plan:
    """The plan for what is not done.

    Args:
        before: the lines of earlier attempts.
        done: their units that are not done again.
        budget: seconds of the whole command.
        same: the attempts that this command made before.
    """
    if budget is None:
        return Plan(single(left(planned, done)), stamp, known(before.values()), None)
    own = {key: line for key, line in before.items() if line.get("attempt") in same}
    spent = sum(map(seconds_of, own.values())) / ranks
    seconds = known(before.values())
    return Plan(paired(planned, done, own, seconds), stamp, seconds, budget - spent)


def state(ranks: Ranks, pace: Pace, budget: Budget | None) -> State:
    """How far all ranks are."""
    rest = pace.left()
    if budget is not None and rest is not None:
        rest = min(rest, max(0.0, budget.left))
    return State(ranks.add("done", 0), ranks.add("failed", 0), rest)


def subset(why: str, budget: str, planned: Sequence[Group], undone: Sequence[Group]) -> dict[str, Any]:
    """What run.json says of a run that did a part: the whole samples of each task, and of how many."""
    samples, lacking = (Counter(group.task for group in groups) for groups in (planned, undone))
    counts = {task: {"done": count - lacking[task], "of": count} for task, count in samples.items()}
    return {"budget": budget, "why": why, "samples": counts}
