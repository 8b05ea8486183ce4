"""Zep's semantic subgraph: entities, and facts between two of them with the times of two timelines.

Rasmussen et al. 2025, "Zep: A Temporal Knowledge Graph Architecture for Agent Memory", sections 2.2.2 and 2.2.3: T is
the timeline of events, on which a fact holds from t_valid to t_invalid; T' that of the system, which knows it from
t'_created and knows better from t'_expired. Here T' is the times of the messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(slots=True)
class Entity:
    """Somebody or something.

    Attributes:
        rows: of the episodes that mention it, ascending.
    """

    name: str
    summary: str = ""
    rows: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        """As a prompt and a reader have it."""
        return f"{self.name}: {self.summary}" if self.summary else self.name


@dataclass(slots=True)
class Fact:
    """An edge.

    Attributes:
        ends: rows of the entities, the subject first.
        valid: t_valid, None where nobody knows.
        invalid: t_invalid, None while it holds.
        created: t'_created, None for a message without a time.
        rows: of the episodes that state it, the first one first.
        expired: t'_expired: when another fact ended it.
        stated_end: what `invalid` was before that.
    """

    ends: tuple[int, int]
    predicate: str
    text: str
    valid: datetime | None
    invalid: datetime | None
    created: datetime | None
    rows: list[int]
    expired: datetime | None = None
    stated_end: datetime | None = None

    def end_by(self, now: datetime) -> datetime | None:
        """t_invalid as it was known then."""
        return self.stated_end if self.expired is not None and self.expired > now else self.invalid

    def shown(self, now: datetime | None = None) -> str:
        """The fact with its date range, as it was known then, or is."""
        end = self.invalid if now is None else self.end_by(now)
        begin = "date unknown" if self.valid is None else f"{self.valid:%Y-%m-%d}"
        return f"{self.text} (date range: {begin} - {'present' if end is None else f'{end:%Y-%m-%d}'})"


def contradict(old: Fact, new: Fact, now: datetime | None) -> None:
    """What is contradicted ends where the other begins, if their times meet at all (section 2.2.3).

    New information has precedence. As in the authors' code (edge_operations.py of getzep/graphiti) it is the new fact
    that ends where it began earlier than the old one, and without t_valid of both nothing is known to end.
    """
    if old.valid is None or new.valid is None or over(old, new.valid) or over(new, old.valid):
        return
    ended, by = (old, new) if old.valid <= new.valid else (new, old)
    if ended.expired is None:
        ended.stated_end = ended.invalid
    ended.invalid, ended.expired = by.valid, now


def over(fact: Fact, by: datetime | None) -> bool:
    """Whether a fact is known to hold no longer by then."""
    return fact.invalid is not None and by is not None and fact.invalid <= by


class TemporalGraph:
    """The graph.

    Attributes:
        entities: in the order they were first mentioned.
        facts: in the order they were first stated.
    """

    def __init__(self) -> None:
        self.entities: list[Entity] = []
        self.facts: list[Fact] = []

    def between(self, ends: tuple[int, int]) -> list[int]:
        """Facts that join the same two entities, in whichever direction."""
        return [row for row, fact in enumerate(self.facts) if {*fact.ends} == {*ends}]

    def touching(self, entities: Collection[int]) -> list[int]:
        """Facts that one of these entities is an end of."""
        return [row for row, fact in enumerate(self.facts) if not {*entities}.isdisjoint(fact.ends)]

    def weights(self) -> Counter[tuple[int, int]]:
        """How many facts join two entities, the lesser row first."""
        return Counter((min(fact.ends), max(fact.ends)) for fact in self.facts)

    def distances(self, sources: Sequence[int], facts: Collection[int], most: int) -> dict[int, int]:
        """How many of these facts lie between each entity and the nearest source, breadth first, up to `most`."""
        joined: dict[int, set[int]] = {}
        for row in facts:
            one, other = self.facts[row].ends
            joined.setdefault(one, set()).add(other)
            joined.setdefault(other, set()).add(one)
        found = dict.fromkeys(sources, 0)
        reached = list(found)
        for distance in range(1, most + 1):
            reached = sorted({other for own in reached for other in joined.get(own, ())} - found.keys())
            found |= dict.fromkeys(reached, distance)
        return found
