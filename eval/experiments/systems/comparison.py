"""Two runs of one system, the authors' code and ours, side by side: what they keep, what they find, what they ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

COLUMNS = ("system", "code", "kept", "in common", "decisions", "same hits", "same first", "model calls")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run ended with.

    Attributes:
        code: whose, with the version.
        items: texts of what is kept at the end, in any order; equal texts count as often as they are kept.
        ranked: for each query the texts that it finds, best first.
        decisions: what the model did, by kind.
        calls: chat completions.
        parts: more such rankings, by name.
    """

    code: str
    items: Sequence[str]
    ranked: Sequence[Sequence[str]]
    decisions: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    parts: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Theirs beside ours."""

    system: str
    theirs: Outcome
    ours: Outcome

    @property
    def common(self) -> int:
        """Items that both keep."""
        return (Counter(self.theirs.items) & Counter(self.ours.items)).total()

    @property
    def only_theirs(self) -> list[str]:
        """Items that ours does not keep."""
        return sorted((Counter(self.theirs.items) - Counter(self.ours.items)).elements())

    @property
    def only_ours(self) -> list[str]:
        """Items that theirs do not keep."""
        return sorted((Counter(self.ours.items) - Counter(self.theirs.items)).elements())

    @property
    def overlap(self) -> float:
        """Mean over the queries, one at least, of the share of hits that both find, of the more that one finds."""
        return mean_overlap(self.theirs.ranked, self.ours.ranked)

    @property
    def same_first(self) -> int:
        """Queries whose best hit is the same."""
        return same_first(self.theirs.ranked, self.ours.ranked)


def overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """Share of what two rankings hold that both hold, whatever its place: 1 where both are empty."""
    most = max(len(set(one)), len(set(other)))
    return len({*one} & {*other}) / most if most else 1.0


def mean_overlap(theirs: Sequence[Sequence[str]], ours: Sequence[Sequence[str]]) -> float:
    """Mean of `overlap` over queries, one at least."""
    return fmean(overlap(*pair) for pair in zip(theirs, ours, strict=True))


def same_first(theirs: Sequence[Sequence[str]], ours: Sequence[Sequence[str]]) -> int:
    """Queries whose first hit is the same, or that have none on either side."""
    return sum(a[:1] == b[:1] for a, b in zip(theirs, ours, strict=True))


def same_order(theirs: Sequence[Sequence[str]], ours: Sequence[Sequence[str]]) -> int:
    """Queries for which what both find stands in one order."""
    return sum(
        [one for one in a if one in b] == [one for one in b if one in a] for a, b in zip(theirs, ours, strict=True)
    )


def rows(found: Comparison) -> list[tuple[str, ...]]:
    """A row of `COLUMNS` for each run; what holds of both stands in the second, and below it a row for each part."""
    queries = len(found.ours.ranked)
    hits = (f"{found.overlap:.2f}", f"{found.same_first} of {queries}") if queries else ("", "")
    shares = (str(found.common), *hits)
    return [
        _row(found.system, found.theirs, ("", "", "")),
        _row("", found.ours, shares),
        *(_part(name, found.theirs.parts[name], own) for name, own in found.ours.parts.items()),
    ]


def _row(system: str, run: Outcome, shares: tuple[str, str, str]) -> tuple[str, ...]:
    decisions = ", ".join(f"{count} {kind}" for kind, count in sorted(run.decisions.items()))
    return system, run.code, str(len(run.items)), shares[0], decisions, shares[1], shares[2], str(run.calls)


def _part(name: str, theirs: Sequence[Sequence[str]], ours: Sequence[Sequence[str]]) -> tuple[str, ...]:
    queries = len(ours)
    order = f"{same_order(theirs, ours)} of {queries} in one order"
    first = f"{same_first(theirs, ours)} of {queries}"
    return "", f"  {name}", "", "", order, f"{mean_overlap(theirs, ours):.2f}", first, ""


def as_json(found: Comparison) -> dict[str, Any]:
    """Everything, for a file."""
    return {
        "system": found.system,
        "in_common": found.common,
        "only_theirs": found.only_theirs,
        "only_ours": found.only_ours,
        "overlap": found.overlap if found.ours.ranked else None,
        "same_first": found.same_first,
        **{
            side: {
                "code": run.code,
                "items": list(run.items),
                "ranked": [list(own) for own in run.ranked],
                "decisions": dict(run.decisions),
                "calls": run.calls,
                "parts": {name: [list(own) for own in ranked] for name, ranked in run.parts.items()},
            }
            for side, run in (("theirs", found.theirs), ("ours", found.ours))
        },
    }
