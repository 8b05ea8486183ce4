"""Seconds that a unit of each system takes on each task, over all ranks, and how long the rest of a run will take.

Known are the lines that were in the folder before; what the ranks do is added as it is done. A system that was not yet
measured on a task counts as it does on the others, one that never was as the mean of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eval.harness.ranks import Ranks
from eval.harness.raw_lines import Line
from eval.harness.sample_run import CACHED

Pair = tuple[str, str]  # task, system
Taken = tuple[float, int]  # seconds, units
_NOTHING: Taken = (0.0, 0)


def seconds_of(line: Line) -> float:
    """What a unit took by the clock; of lines that do not say it the stages, but for what was kept from before."""
    if "took" in line:
        took: float = line["took"]
        return took
    costs = [line.get("read", {}), *(question["cost"] for question in line["questions"])]
    total: float = sum(
        seconds for cost in costs for stage, seconds in cost.get("seconds", {}).items() if stage != CACHED
    )
    return total


def known(lines: Iterable[Line]) -> dict[Pair, Taken]:
    """Of lines that say what they took."""
    found: dict[Pair, Taken] = {}
    for line in lines:
        pair, own = (line["task"], line["system"]), seconds_of(line)
        if own > 0:
            found[pair] = _sum([found.get(pair, _NOTHING), (own, 1)])
    return found


class Pace:
    """The seconds of a run's units.

    Args:
        before: of the units that were done before this attempt.
        units: that this attempt has to do.
    """

    def __init__(self, ranks: Ranks, before: Mapping[Pair, Taken], units: Mapping[Pair, int]) -> None:
        self._ranks = ranks
        self._before = before
        self._units = units

    def note(self, pair: Pair, seconds: float) -> None:
        """Count a unit that is done."""
        self._ranks.add(_key("ms", pair), round(seconds * 1000))
        self._ranks.add(_key("units", pair))

    def seconds(self, pairs: Sequence[Pair]) -> float | None:
        """Of a unit of each, together; None where nothing at all was measured."""
        taken = {pair: self._taken(pair) for pair in self._units}
        means = {pair: _mean(pair, taken) for pair in set(pairs)}
        return None if None in means.values() else sum(means[pair] or 0.0 for pair in pairs)

    def left(self) -> float | None:
        """Seconds until all units are done, if the ranks share them well; None where nothing was measured."""
        rest = {pair: units - self._ranks.add(_key("units", pair), 0) for pair, units in self._units.items()}
        total = self.seconds([pair for pair, units in rest.items() for _ in range(units)])
        return None if total is None else total / self._ranks.size

    def _taken(self, pair: Pair) -> Taken:
        here = self._ranks.add(_key("ms", pair), 0) / 1000, self._ranks.add(_key("units", pair), 0)
        return _sum([self._before.get(pair, _NOTHING), here])


def _mean(pair: Pair, taken: Mapping[Pair, Taken]) -> float | None:
    """Of the pair, else of its system, else of all."""
    of_system = [own for other, own in taken.items() if other[1] == pair[1]]
    for alike in ([taken[pair]], of_system, list(taken.values())):
        seconds, units = _sum(alike)
        if units:
            return seconds / units
    return None


def _key(what: str, pair: Pair) -> str:
    return "\0".join((what, *pair))


def _sum(taken: Sequence[Taken]) -> Taken:
    return sum(seconds for seconds, _ in taken), sum(units for _, units in taken)
