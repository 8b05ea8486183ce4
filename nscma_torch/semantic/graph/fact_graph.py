"""The facts of one memory as a graph: entities are nodes, and facts are edges with a validity period.

Legend: n is the number of entities, E of edges, q of queries.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from nscma_torch.core.records import Fact
from nscma_torch.episodic.log.speakers import Asker
from nscma_torch.reading.homes import names_one_home
from nscma_torch.reading.nouns import narrowing, relations_by_noun, singular
from nscma_torch.reading.relations import Relation, Schema, Shape
from nscma_torch.reading.resolved_dates import with_day
from nscma_torch.reading.role_mentions import called
from nscma_torch.reading.statement_times import names_unknown_time
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.names import name_key
from nscma_torch.text.spelling_variants import american
from nscma_torch.text.terms import terms

if TYPE_CHECKING:
    import torch
    from torch_geometric.data import HeteroData

    from nscma_torch.semantic.graph.fact_network import FactNetwork

Messages = Callable[[Fact], Sequence[tuple[str, datetime]]]  # the texts behind a fact and their times, the newest first

_POSSESSIVE = re.compile(r"(?P<owner>.+)(?:'s|(?<=s)')\s+(?P<noun>[^']+)")
_WRITTEN_OUT: frozenset[Shape] = frozenset({"person", "place", "group"})
EARLIEST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity reached by a walk: its name, and the facts along the path, in order."""

    name: str
    facts: tuple[Fact, ...] = ()

    @property
    def key(self) -> str:
        """Return the entity's key."""
        return name_key(self.name)


class _Edge(NamedTuple):
    source: str  # key
    relation: str
    target: str  # name
    fact: int


class FactGraph:
    """Facts of one (user, agent), including those implied by the schema's inverse and symmetric relations.

    Args:
        facts: any facts, including archived ones; corrected facts are skipped, because they never held.
        schema: the relations; facts with an unknown relation are skipped.
        now: the current time, used if a call has no `as_of`; if None, the facts' status decides what holds now.
        device: returns the device for tensors; called when the first tensor is created, because questions that only
            walk along edges need neither tensors nor torch.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        schema: Schema,
        *,
        now: datetime | None = None,
        device: Callable[[], torch.device | str] = lambda: "cpu",
    ) -> None:
        self.schema = schema
        self.now = now
        self.facts = tuple(sorted((f for f in facts if f.relation in schema and not corrected(f)), key=order))
        self._device = device
        self._messages: Messages | None = None
        self._asker: tuple[str, ...] = ()
        self._names: dict[str, str] = {}
        self._out: dict[tuple[str, str], list[_Edge]] = defaultdict(list)
        self._edges = self._edges_of_facts()
        for edge in self._edges:
            self._out[edge.source, edge.relation].append(edge)
            self._names.setdefault(name_key(edge.target), edge.target)
        self._nouns = relations_by_noun(schema)
        self._naming = [
            relation.name for relation in schema.relations.values() if self.schema.shape(relation.name) == "name"
        ]
        self._named = self._bearers_of_names()
        self._namesakes: dict[str, list[str]] = defaultdict(list)
        for key in self._names:
            name, told_apart, _ = key.partition(" (")
            if told_apart:
                self._namesakes[name].append(key)
        self.places = {key: i for i, key in enumerate(self._names)}  # of the n nodes, by their keys
        self._network = cache(self._made_network)  # views share it

    def _edges_of_facts(self) -> list[_Edge]:
        """Build one edge per fact, and a reverse edge if the schema relates the object to the subject."""
        found = []
        for i, fact in enumerate(self.facts):
            relation = self.schema[fact.relation]
            subject = name_key(fact.subject)
            self._names.setdefault(subject, fact.subject)
            found.append(_Edge(subject, relation.name, fact.object, i))
            many = relation.cardinality == "many"  # of those that hold one object, both sides are facts
            back = relation.name if relation.symmetric and many else relation.inverse
            if back:
                found.append(_Edge(name_key(fact.object), back, fact.subject, i))
        return found

    def at(self, now: datetime | None, messages: Messages | None = None, asker: Asker | None = None) -> FactGraph:
        """Return the same graph with another current time, and with an `asker`; all names in `asker` mean the person
        asking.

        With `messages`, a noun that distinguishes objects ("brother") must occur in a fact's source messages; without
        them, any noun for a relation means all of its objects.
        """
        view = copy(self)  # shares the computed data of the facts
        view.now = now
        view._messages = messages
        view._asker = () if asker is None else view._names_of(asker)
        return view

    def without(self, episode_ids: Collection[str]) -> FactGraph:
        """Return the same graph without the facts that are based on any of these messages, and without a
        current time.
        """
        left = [fact for fact in self.facts if not set(episode_ids).intersection(fact.episode_ids)]
        return FactGraph(left, self.schema, device=self._device)

    def _names_of(self, asker: Asker) -> tuple[str, ...]:
        """Return the keys that all mean the asker; their id is included only if no name is stated and no one else has
        it.
        """
        own = dict.fromkeys(map(name_key, filter(None, (asker.name, asker.named))))
        told = any(key != name_key(asker.name) for key, _ in self._aliases(name_key(asker.name), None))
        by_id = name_key(asker.by_id) if asker.by_id else ""
        return (*own, *([by_id] if by_id and not told and by_id not in self._names else []))

    @property
    def entities(self) -> tuple[str, ...]:
        """Return the names of the n nodes, as first spelled."""
        return tuple(self._names.values())

    def __contains__(self, name: str) -> bool:
        return name_key(name) in self._names

    def holds(self, fact: Fact, as_of: datetime | None = None) -> bool:
        """Return True if a fact holds in the world at the time `as_of`, or now if it is None.

        An archived fact without an end (forgotten, outweighed) doesn't hold now, though it may have held then.
        """
        if as_of is None and (self.now is None or fact.valid_to is None) and fact.status == "archived":
            return False
        at = as_of or self.now
        return at is None or ((fact.valid_from or EARLIEST) <= at and (fact.valid_to is None or at < fact.valid_to))

    @property
    def network(self) -> FactNetwork:
        """Return the facts as PyG data on the device; built once and shared by all views of this graph."""
        return self._network()

    def _made_network(self) -> FactNetwork:
        from nscma_torch.semantic.graph.fact_network import FactNetwork, Related

        relations = {name: i for i, name in enumerate(self.schema.relations)}
        related = [
            Related(self.places[edge.source], relations[edge.relation], self.places[name_key(edge.target)], edge.fact)
            for edge in self._edges
        ]
        ends = [(name_key(fact.subject), name_key(fact.object)) for fact in self.facts]
        return FactNetwork.of(self.facts, self.places, ends, related, self._device())

    def data(self, as_of: datetime | None = None) -> HeteroData:
        """Return PyG data with the n entities, the facts' source messages, and the edges that hold at a time.

        See `FactNetwork` for its types and attributes.
        """
        return self.network.at(as_of, self.now)

    def resolve(self, name: str, as_of: datetime | None = None) -> list[Reached]:
        """Return the entities that a name can mean: those with this name, their aliases, and for "Ben's sister" also
        Ben's siblings.

        A thing known only by its bare name ("the car") also matches the owner's thing ("Ben's car"), and vice versa. An
        unknown name matches nothing.
        """
        found = [Reached(self._names[key], facts) for key, facts in self._aliases(name_key(name), as_of)]
        found += [Reached(self._names[key]) for key in self._namesakes.get(name_key(name), ())]
        owned = _POSSESSIVE.fullmatch(" ".join(name.replace("’", "'").split()))
        if owned:
            if name_key(owned["owner"]) in self._asker:
                theirs = (name_key(f"{key}'s {owned['noun']}") for key in self._asker)
                found += [Reached(self._names[key]) for key in theirs if key in self._names]
            for relation in self._nouns.get(singular(owned["noun"].casefold()), ()):
                topic = narrowing(relation, owned["noun"])
                found += self.walk([owned["owner"]], [relation.name], as_of, topic=topic)
            if not found and name_key(owned["noun"]) in self._names:
                found = [Reached(self._names[name_key(owned["noun"])])]
        elif not found:
            ending = f"'s {name_key(name)}"
            owners = [key for key in self._names if key.endswith(ending)]
            found = [Reached(self._names[owners[0]])] if len(owners) == 1 else []
        return list({one.key: one for one in reversed(found)}.values())[::-1]

    def _aliases(self, key: str, as_of: datetime | None) -> list[tuple[str, tuple[Fact, ...]]]:
        """Return an entity and those for which its key is a stated name; for the asker, do so for all of their keys."""
        if key not in self._asker:
            return self._called(key, as_of)
        return list(dict([own for one in (key, *self._asker) for own in self._called(one, as_of)]).items())

    def _called(self, key: str, as_of: datetime | None) -> list[tuple[str, tuple[Fact, ...]]]:
        found: list[tuple[str, tuple[Fact, ...]]] = [(key, ())] if key in self._names else []
        bearers: dict[str, tuple[Fact, ...]] = {}
        for naming in self._naming:
            found += [
                (name_key(edge.target), (self.facts[edge.fact],))
                for edge in self._out.get((key, naming), ())
                if self.holds(self.facts[edge.fact], as_of)
            ]
            bearers |= {
                name_key(self.facts[i].subject): (self.facts[i],)
                for i in self._named.get((naming, key), ())
                if self.holds(self.facts[i], as_of)
            }
        return found + (list(bearers.items()) if len(bearers) == 1 else [])

    def _bearers_of_names(self) -> dict[tuple[str, str], list[int]]:
        """Return the positions of the facts that state a name, by relation and the name's key."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for i, fact in enumerate(self.facts):
            if fact.relation in self._naming:
                found[fact.relation, name_key(fact.object)].append(i)
        return found

    def walk(
        self, starts: Iterable[str], path: Sequence[str], as_of: datetime | None = None, *, topic: str = ""
    ) -> list[Reached]:
        """Follow the relations in `path` from the named entities, over facts that hold; return the entities reached.

        `topic` restricts the last step. Each entity is returned once, with the first path in fact order.
        """
        reached = [one for start in starts for one in self.resolve(start, as_of)]
        for place, relation in enumerate(path):
            about = topic if place == len(path) - 1 else ""
            ahead: dict[str, Reached] = {}
            for one in reached:
                for edge in self.edges_of(one.name, relation, topic=about, as_of=as_of):
                    fact = self.facts[edge.fact]
                    if self.holds(fact, as_of):
                        ahead.setdefault(name_key(edge.target), Reached(edge.target, (*one.facts, fact)))
                for other in self._sharing_home(one.name, relation, as_of):
                    ahead.setdefault(other.key, replace(other, facts=(*one.facts, *other.facts)))
            reached = list(ahead.values())
        return reached

    def _sharing_home(self, name: str, relation: str, as_of: datetime | None) -> list[Reached]:
        """Return the members of an entity's home, if living together implies the relation; skip those related by a
        stated fact.
        """
        through = self.schema[relation].shared_home
        homes = self.walk([name], [through], as_of) if through else []
        known = {name_key(edge.target) for edge in self.edges_of(name, relation, as_of=as_of)}
        known |= {one.key for one in self.resolve(name, as_of)}
        return [
            Reached(other.name, (home.facts[-1], *other.facts))
            for home in homes
            if names_one_home(home.name)
            for other in self.backwards(home.name, through, as_of)
            if other.key not in known
        ]

    def edges_of(self, name: str, relation: str, *, topic: str = "", as_of: datetime | None = None) -> list[_Edge]:
        """Return the edges with a relation from an entity or one of its names, current or not, in fact order."""
        keys = dict.fromkeys([name_key(name), *(key for key, _ in self._aliases(name_key(name), as_of))])
        edges = {edge for key in keys for edge in self._out.get((key, relation), ())}
        return sorted((edge for edge in edges if self._about(edge, topic)), key=lambda edge: edge.fact)

    def verifies(self, relation: Relation, noun: str) -> bool:
        """Return True if a walk along the relation checks this noun against the source messages of its facts."""
        return self._messages is not None and bool(relation.alike(singular(noun.casefold())))

    def _about(self, edge: _Edge, noun: str) -> bool:
        """Return True if an edge leads to the entity named by the noun or topic."""
        fact, relation = self.facts[edge.fact], self.schema[edge.relation]
        alike = relation.alike(singular(noun.casefold()))
        if fact.topic or not alike or self._messages is None:
            return about(fact, noun)
        nouns = [each for group in relation.exclusive_roles for each in group]
        said = (called(edge.target, text, nouns) for text, _ in self._messages(fact))
        known = next(filter(None, said), "")
        return known in alike if known else relation.cardinality == "one"

    def with_day(self, name: str, fact: Fact) -> str:
        """Return a fact's value followed by the date it refers to in its message: "Tuesday [14 July 2026]"."""
        said = next((said for said in self._messages(fact) if name in said[0]), None) if self._messages else None
        return name if said is None else with_day(name, *said)

    def begun(self, fact: Fact) -> tuple[date, date] | None:
        """Return the earliest and latest possible day on which a fact began, as its messages state ("in 2024"); None if
        unknown.
        """
        if fact.valid_from is None:
            return None
        told = self._messages(fact) if self._messages else ()
        dated = [(fact.valid_from.astimezone(said.tzinfo).date(), find_dates(text, said)) for text, said in told]
        for first, mentions in dated:
            for mention in mentions:
                if mention.first_day == first:
                    return first, mention.last_day
        for day, mentions in dated:
            for mention in mentions:
                if mention.first_day < day <= mention.last_day:  # "this year", said otherwise before it began
                    return mention.first_day, mention.last_day
        if any(names_unknown_time(text) for text, _ in told):
            return None
        first = fact.valid_from.date() if not dated else dated[0][0]
        return first, first

    def backwards(self, name: str, relation: str, as_of: datetime | None = None, *, topic: str = "") -> list[Reached]:
        """Return the subjects of a relation's facts if the name means the object."""
        names = [name, *(one.name for one in self.resolve(name, as_of))]
        shape = self.schema.shape(relation)
        found: dict[str, Reached] = {}
        for edge in self._edges:
            fact = self.facts[edge.fact]
            asked = edge.relation == relation and self._about(edge, topic) and self.holds(fact, as_of)
            if asked and any(same(edge.target, each, shape) for each in names):
                found.setdefault(edge.source, Reached(self._names[edge.source], (fact,)))
        for one in self._sharing_home(name, relation, as_of):
            found.setdefault(one.key, one)
        return list(found.values())


def order(fact: Fact) -> tuple[datetime, datetime, int]:
    """Sort key for facts: by start, then by end, then in the order they were stated."""
    return (fact.valid_from or EARLIEST, fact.valid_to or _LAST, fact.sequence)


def corrected(fact: Fact) -> bool:
    """Return True if a fact was never true: retracted, or outweighed by other statements."""
    return fact.confidence == 0


def topic_key(topic: str) -> tuple[str, ...]:
    """Return a topic's key, which ignores number, inflection and British spelling."""
    return tuple(terms(american(topic)))


def about(fact: Fact, topic: str) -> bool:
    """Return True if a fact has this topic; a fact without a topic matches every topic."""
    return not topic or not fact.topic or topic_key(fact.topic) == topic_key(topic)


def same(one: str, other: str, shape: Shape) -> bool:
    """Return True if two names mean the same thing; for a person, place or group one may be a longer form ("Bosch in
    Ulm").
    """
    if name_key(one) == name_key(other):
        return True
    first, second = terms(one), terms(other)
    shorter = min(len(first), len(second)) if shape in _WRITTEN_OUT else max(len(first), len(second))
    return bool(first and second) and first[:shorter] == second[:shorter]
