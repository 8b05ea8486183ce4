"""The systems of one or more runs by task, best first: what the leaderboard shows, without how it looks.

Systems of several runs stand in one table where they were asked the same: the task's name and metrics are the same,
they have samples in common, and those were read and asked alike. Elsewhere a task has a table for each run. Best is by
the main metric on the odd half, which nothing was tuned on; where there is no odd sample, on all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eval.reporting import costs
from eval.reporting.bootstrap import NOTHING, Interval, holm
from eval.reporting.differences import verdict
from eval.reporting.metric_directions import better
from eval.reporting.origin import embedder_of, engine_of
from eval.reporting.results import JUDGED, Line, Results, halved
from eval.reporting.scores import difference, score
from nscma_torch.core.errors import InvalidInputError

HALVES = ("odd", "all")
_RECALL = "recall@"  # how the names of evidence recall begin


@dataclass(frozen=True)
class Run:
    """A run's results and the name by which the page tells them from others."""

    name: str
    results: Results


@dataclass(frozen=True)
class Entry:
    """One system of a run on a task."""

    run: Run
    task: str
    system: str
    label: str

    @property
    def lines(self) -> Sequence[Line]:
        """Of all its samples."""
        return self.run.results.lines[self.task, self.system]

    @property
    def errors(self) -> Mapping[str, int]:
        """How many samples failed, by the kind of error, most first."""
        return dict(Counter(line.error.type for line in self.lines if line.error is not None).most_common())

    @property
    def commits(self) -> str:
        """Of its lines, shortened; of the run where they do not say."""
        made = {line.commit or self.run.results.run["commit"] for line in self.lines}
        return ", ".join(sorted(commit[:7] + "+" * commit.endswith("+") for commit in made))

    @property
    def engine(self) -> str:
        """The language engine that it asks."""
        return engine_of(self.run.results, self.system)

    @property
    def embedder(self) -> str:
        """The model that embeds for it."""
        return embedder_of(self.run.results, self.system)

    def score(self, metric: str, half: str, categories: Sequence[str] = ()) -> Interval:
        """The mean of a metric on a half, of questions of some categories where they are named."""
        return score(halved(self.lines, half), metric, self.run.results.seed, categories)

    def read_seconds(self) -> float | None:
        """Of one message, a mean."""
        return costs.read_per_message(self.lines)

    def ask_seconds(self) -> tuple[float, float] | None:
        """Of one question, p50 and p95."""
        return costs.ask_percentiles(self.lines)


@dataclass(frozen=True)
class Row:
    """An entry with its scores, all against the reference of the table.

    Attributes:
        scores, apart: by half; the reference is apart from nothing.
        shown: what the difference on the odd half shows.
        beside: the judge's verdicts and recall of the evidence on the odd half, by metric.
    """

    entry: Entry
    scores: Mapping[str, Interval]
    apart: Mapping[str, Interval]
    shown: str
    beside: Mapping[str, Interval]
    cost: costs.Expense | None

    @property
    def main(self) -> Interval:
        """That it is ordered by."""
        return self.scores["odd"] if self.scores["odd"].drawn or self.scores["odd"].failed else self.scores["all"]


@dataclass(frozen=True)
class Board:
    """All systems on one task."""

    title: str
    task: str
    entries: Sequence[Entry]
    reference: Entry

    @property
    def metrics(self) -> Sequence[str]:
        """The main one first."""
        return self.reference.run.results.metrics[self.task]

    @property
    def beside(self) -> list[str]:
        """Metrics that stand beside the main one, where any system has them."""
        return [name for name in self.rows[0].beside if any(row.beside[name].drawn for row in self.rows)]

    @cached_property
    def rows(self) -> list[Row]:
        """Best first, of equal ones the better on all samples; what has no score comes last."""
        metric, name = self.metrics[0], self.reference.label
        apart = [self._apart(entry, metric) for entry in self.entries]
        odd = [own.get("odd", NOTHING) for own in apart]
        ps = holm([math.nan if one.of_questions else one.p for one in odd])
        shown = ["" if not own else verdict(own["odd"], p, metric, name) for own, p in zip(apart, ps, strict=True)]
        rows = [self._row(*own, metric) for own in zip(self.entries, apart, shown, strict=True)]
        return sorted(rows, key=lambda row: (_order(metric, row.main), _order(metric, row.scores["all"])))

    def _apart(self, entry: Entry, metric: str) -> dict[str, Interval]:
        """Of the samples that both have."""
        if entry is self.reference:
            return {}
        shared = {line.sample for line in entry.lines} & {line.sample for line in self.reference.lines}
        own, base = ([line for line in one.lines if line.sample in shared] for one in (entry, self.reference))
        seed = self.reference.run.results.seed
        return {half: difference(halved(own, half), halved(base, half), metric, seed) for half in HALVES}

    def _row(self, entry: Entry, apart: Mapping[str, Interval], shown: str, metric: str) -> Row:
        scores = {half: entry.score(metric, half) for half in HALVES}
        named = [name for name in self.metrics[1:] if name == JUDGED or name.startswith(_RECALL)]
        beside = {name: entry.score(name, "odd") for name in sorted(named, key=lambda name: name != JUDGED)}
        return Row(entry, scores, apart, shown, beside, costs.expense(entry.lines))


def _order(metric: str, value: Interval) -> tuple[bool, float]:
    if not value.drawn:
        return True, 0.0
    return False, -value.value if better(metric, 1.0) else value.value


def boards(runs: Sequence[Run], reference: str = "") -> list[Board]:
    """The tables of all runs, in their order.

    Args:
        reference: the system that others are compared with where a task has it; else the one that [report.differences]
            of the run names, or its first.

    Raises InvalidInputError where no task has that system.
    """
    together: list[list[tuple[Run, str]]] = []
    for run in runs:
        for task in run.results.tasks:
            same = [own for own in together if all(_alike(other, run, task) for other in own)]
            if same:
                same[0].append((run, task))
            else:
                together.append([(run, task)])
    found = [_board(own, reference, _named(own, together)) for own in together]
    if reference and not any(board.reference.system == reference for board in found):
        raise InvalidInputError(f"no task has a system {reference!r} to compare with; take the name from a table")
    return found


def _named(own: Sequence[tuple[Run, str]], together: Sequence[Sequence[tuple[Run, str]]]) -> str:
    """The task, with the run where another table has a task of that name."""
    run, task = own[0]
    twice = sum(others[0][1] == task for others in together) > 1
    return f"{task} ({run.name})" if twice else task


def _board(own: Sequence[tuple[Run, str]], reference: str, title: str) -> Board:
    names = Counter(system for run, task in own for system in run.results.systems[task])
    entries = [
        Entry(run, task, system, f"{system} ({run.name})" if names[system] > 1 else system)
        for run, task in own
        for system in run.results.systems[task]
    ]
    first: Mapping[str, Any] = own[0][0].results.config.get("report", {}).get("differences", {})
    wanted = [entry for name in (reference, first.get("reference")) for entry in entries if entry.system == name]
    return Board(title, own[0][1], entries, (wanted or entries)[0])


def _alike(other: tuple[Run, str], run: Run, task: str) -> bool:
    """Whether both were asked the same of the samples that both have, if they have any."""
    if other[1] != task or other[0].results.metrics[task] != run.results.metrics[task]:
        return False
    one, two = _asked(other[0], task), _asked(run, task)
    shared = one.keys() & two.keys()
    return bool(shared) and all(one[sample] == two[sample] for sample in shared)


def _asked(run: Run, task: str) -> dict[str, object]:
    """Of each sample what was read and asked, or the questions where an old line does not say."""
    lines = [line for system in run.results.systems[task] for line in run.results.lines[task, system]]
    whole = [line for line in lines if line.error is None]
    return {line.sample: line.data or tuple((own.id, own.question) for own in line.questions) for line in whole}
