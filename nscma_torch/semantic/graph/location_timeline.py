"""Derive present and past locations of people and things from facts whose relation expresses location.

There are three kinds of such facts, by the relation's object: a *place* ("the milk is in the kitchen"), a *person* who
has the thing ("Ann took the milk"), and a *whole* that it is part of ("Oslo is in Norway"). A held thing is where its
holder is and moves with the holder; once put down, it stays there until it is taken or placed again. The latest
statement wins, except that a thing placed at its holder's location still counts as held. A whole is used only if
neither a place nor a holder is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple

from nscma_torch.core.records import SEQUENCE_STEP, Fact
from nscma_torch.reading.relations import Shape
from nscma_torch.semantic.graph.fact_graph import EARLIEST, FactGraph
from nscma_torch.text.names import name_key

_Role = Literal["place", "holder", "whole"]
_ROLES: dict[Shape, _Role] = {"place": "place", "person": "holder"}


@dataclass(frozen=True, slots=True)
class Stay:
    """A place where something was, `since` when (None if unknown), and the supporting facts."""

    place: str
    since: datetime | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """One step outwards: the container, holder or place of something, with the supporting facts."""

    name: str
    role: _Role
    facts: tuple[Fact, ...]


class _Event(NamedTuple):
    at: datetime
    said: int  # place of its sentence in the order of saying, among what happens at one time
    phase: int  # within a sentence: 0 left at once, 1 put down, 2 ends, 3 begins
    key: str
    fact: Fact


class LocationTimeline:
    """Location timelines over the facts of one graph."""

    def __init__(self, graph: FactGraph) -> None:
        self._graph = graph
        self._roles = {name: _ROLES.get(graph.schema.shape(name), "whole") for name in graph.schema.locating}

    def stays(self, name: str, as_of: datetime | None = None) -> list[Stay]:
        """Return the places of an entity up to a time, oldest first, without consecutive repetitions. Periods at
        unknown places are skipped.
        """
        return self._follow(name, as_of)[0]

    def chain(self, name: str, as_of: datetime | None = None) -> list[Link]:
        """Return what contains an entity at a time, innermost first: its holder, its place, the place's parent."""
        return self._follow(name, as_of)[1]

    def before(self, name: str, place: str, as_of: datetime | None = None) -> Stay | None:
        """Return the last different place where the entity was before its latest stay at `place`."""
        stays, key = self.stays(name, as_of), name_key(place)
        there = max((i for i, stay in enumerate(stays) if name_key(stay.place) == key), default=0)
        return stays[there - 1] if there else None

    def _follow(self, name: str, as_of: datetime | None) -> tuple[list[Stay], list[Link]]:
        key = name_key(name)
        state = _State(self._roles)
        stays: list[Stay] = []
        events = sorted(self._events(key, as_of), key=lambda event: event[:3])
        for (at, _, phase), group in groupby(events, key=lambda event: event[:3]):
            for event in group:
                if phase in (1, 2):
                    state.end(event.key, event.fact)
                else:
                    state.begin(event.key, event.fact)
            links = state.chain(key)
            place = _place(links)
            if place and (not stays or name_key(stays[-1].place) != name_key(place.name)):
                facts = tuple(fact for link in links[: links.index(place) + 1] for fact in link.facts)
                stays.append(Stay(place.name, None if at == EARLIEST else at, facts))
        return stays, state.chain(key)

    def _events(self, key: str, as_of: datetime | None) -> Iterator[_Event]:
        """Yield the events of an entity, and of everything that it was ever in or with."""
        until = as_of or self._graph.now
        waiting, seen = [key], {key}
        while waiting:
            name = waiting.pop()
            for relation in sorted(self._roles):
                for edge in self._graph.edges_of(name, relation, as_of=as_of):
                    fact = self._graph.facts[edge.fact]
                    if as_of is None and fact.status == "archived" and fact.valid_to is None:
                        continue  # forgotten
                    at = fact.valid_from or EARLIEST
                    brief = fact.valid_from is not None and fact.valid_from == fact.valid_to
                    if until is not None and at > until:
                        continue
                    yield _Event(at, fact.sequence // SEQUENCE_STEP, 0 if brief else 3, name, fact)
                    if fact.valid_to is not None and (until is None or fact.valid_to <= until):
                        phase = 1 if self._roles[relation] == "holder" else 2
                        ended = fact.sequence if fact.ended is None else fact.ended
                        yield _Event(fact.valid_to, ended // SEQUENCE_STEP, phase, name, fact)
                    target = name_key(fact.object)
                    if target not in seen:
                        seen.add(target)
                        waiting.append(target)


class _State:
    """Locations of all entities after the events applied so far."""

    def __init__(self, roles: dict[str, _Role]) -> None:
        self._roles = roles
        self._anchors: dict[str, Link] = {}
        self._wholes: dict[str, Link] = {}

    def begin(self, key: str, fact: Fact) -> None:
        """Apply the start of a fact."""
        link = Link(fact.object, self._roles[fact.relation], (fact,))
        if link.role == "whole":
            self._wholes[key] = link
            return
        held = self._anchors.get(key)
        if link.role == "place" and held and held.role == "holder":
            place = _place(self.chain(name_key(held.name)))
            if place and name_key(place.name) == name_key(link.name):
                return
        self._anchors[key] = link

    def end(self, key: str, fact: Fact) -> None:
        """Apply the end of a fact; a thing that is put down stays where the person was."""
        if (whole := self._wholes.get(key)) and fact in whole.facts:
            del self._wholes[key]
        held = self._anchors.get(key)
        if held is None or fact not in held.facts:
            return
        del self._anchors[key]
        if held.role == "holder":
            links = self.chain(name_key(held.name))
            if place := _place(links):
                since = tuple(each for link in links[: links.index(place) + 1] for each in link.facts)
                self._anchors[key] = Link(place.name, "place", (fact, *since))

    def chain(self, key: str) -> list[Link]:
        """Return the links outwards from an entity; a cycle is cut where it closes."""
        links: list[Link] = []
        seen = {key}
        while (link := self._anchors.get(key) or self._wholes.get(key)) and name_key(link.name) not in seen:
            links.append(link)
            key = name_key(link.name)
            seen.add(key)
        return links


def _place(links: list[Link]) -> Link | None:
    """Return the innermost place in a chain, or else the first whole."""
    return next((link for link in links if link.role == "place"), None) or next(
        (link for link in links if link.role == "whole"), None
    )
