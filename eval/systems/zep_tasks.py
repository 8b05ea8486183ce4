"""What Zep asks of language about an episode, and what comes back; `zep_prompted` and `zep_embedded` do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from eval.systems.temporal_graph import Entity, Fact


@dataclass(frozen=True, slots=True)
class Named:
    """An entity as an episode names it, with what the episode tells of it."""

    name: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """An entity after it was held against those that are known.

    Attributes:
        known: place of the one that it is among its candidates; None for a new one.
        name: as it is to be.
        summary: as it is to be.
    """

    known: int | None
    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact as an episode states it.

    Attributes:
        subject: place among the entities of the episode.
        object: the same.
        denied: whether the episode says that it does not hold, or no longer: it ends facts and is none.
    """

    subject: int
    object: int
    predicate: str
    text: str
    valid: datetime | None
    invalid: datetime | None
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """What a stated fact has to do with those that are known, by their places: facts of its two entities, then others.

    Attributes:
        same: those of its two entities that say the same.
        contradicted: those that it contradicts.
    """

    same: tuple[int, ...] = ()
    contradicted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """Known facts that a stated one is held against: those of its two entities, and others.

    Attributes:
        subject: row in the graph of the stated fact's subject.
    """

    subject: int
    own: Sequence[Fact]
    others: Sequence[Fact]


class ZepTasks(Protocol):
    """The steps of an episode's way into the graph."""

    def entities(self, row: int) -> list[Named]:
        """Whom and what the episode names, its speaker first (section 2.2.1)."""

    def resolve(self, row: int, named: Sequence[tuple[Named, Sequence[Entity]]]) -> list[Resolved]:
        """Which of its candidates each of them is, if any, and what is known of it now (2.2.1)."""

    def facts(self, row: int, entities: Sequence[str]) -> list[Stated]:
        """What the episode states of these entities, with the times that it holds (2.2.2 and 2.2.3)."""

    def judge(self, row: int, stated: Sequence[tuple[Stated, Candidates]]) -> list[Judged]:
        """Which known facts each of them repeats, and which it contradicts (2.2.2 and 2.2.3)."""
