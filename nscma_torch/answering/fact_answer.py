"""Answer questions from the fact graph alone, with the supporting facts.

In a `FactQuery` about handing something over ("who gave T to O", "what did S give to O"), `subject` is the giver,
`object` the receiver, and `topic` the thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from nscma_torch.answering.fact_wording import FactWording, Language
from nscma_torch.core.records import Fact, FactQuery
from nscma_torch.reading.nouns import narrowing, relations_by_noun, singular
from nscma_torch.semantic.graph.fact_graph import EARLIEST, FactGraph, Reached, order, same
from nscma_torch.semantic.graph.location_timeline import LocationTimeline, Stay
from nscma_torch.text.names import name_key


@dataclass(frozen=True, slots=True)
class FactAnswer:
    """An answer from facts. `values` are entity names, empty if there is no current value; `facts` support the answer.

    If `disputed`, the values are the sides of a dispute, and the text asks for clarification. `verdict` is the answer
    to a yes-or-no question.
    """

    text: str
    values: tuple[str, ...]
    facts: tuple[Fact, ...]
    disputed: bool = False
    verdict: Literal["yes", "no", ""] = ""


@dataclass(frozen=True, slots=True)
class _Transfer:
    """A thing passed directly from one holder to the next."""

    thing: str
    giver: str
    receiver: str
    facts: tuple[Fact, Fact]


def answer_query(
    query: FactQuery, graph: FactGraph, *, language: Language = "en", asker: str = "user"
) -> FactAnswer | None:
    """Return the answer to a question, or None if the facts don't answer it.

    Args:
        query: the question; its relations must be in the graph's schema.
        graph: facts with any status, so that past values can be found.
        language: the language of the answer.
        asker: the entity that the answer addresses as "you".
    """
    if not query.path or any(name not in graph.schema for name in query.path):
        return None
    return _Answering(query, graph, FactWording(language, asker)).answer()


class _Answering:
    def __init__(self, query: FactQuery, graph: FactGraph, words: FactWording) -> None:
        self._query = query
        self._graph = graph
        self._words = words
        self._relation = graph.schema[query.path[-1]]
        self._shape = graph.schema.shape(query.path[-1])
        self._as_of = query.as_of
        self._whereabouts = LocationTimeline(graph)

    def answer(self) -> FactAnswer | None:
        query = self._query
        match query.asks:
            case "giver" | "receiver" | "thing":
                return self._handed_over(query.asks)
            case "whether":
                return self._where_whether() if self._is_place() else self._whether()
            case "when":
                return self._when()
            case "subject":
                return self._subjects()
        if query.previous or query.before:
            return self._past_place() if self._is_place() else self._past()
        if query.count and self._relation.name == query.path[0] and query.topic:
            return self._count()
        return self._place() if self._is_place() else self._objects()

    def _is_place(self) -> bool:
        """Return True if the question asks for a location.

        Facts about a thing's holder, or about the whole that contains it, can also answer such a question.
        """
        return len(self._query.path) == 1 and self._relation.locates and self._shape == "place"

    def _listed(self, reached: Sequence[Reached], *, pairs: bool = False) -> FactAnswer:
        """Answer with the values and their facts, or with both sides if they are disputed."""
        facts = _distinct(fact for one in reached for fact in one.facts)
        values = tuple(one.name for one in reached)
        disputed = [one.name for one in reached if one.facts and one.facts[-1].status == "disputed"]
        if pairs and not disputed and len({_source(one) for one in reached}) == 1:
            disputed = [one.name for one in reached]  # one value at a time, yet two: told to different agents
        if len(set(map(name_key, disputed))) > 1:
            return FactAnswer(self._words.disputed(disputed), tuple(disputed), facts, disputed=True)
        if self._query.count:
            return FactAnswer(self._words.count(len(values)), values, facts)
        labelled = [(_source(one), one.name) for one in reached]
        if pairs and len({name_key(source) for source, _ in labelled}) > 1:
            return FactAnswer(self._words.by_subject(labelled), values, facts)
        shown = values
        if self._shape == "date":
            shown = tuple(self._graph.with_day(one.name, one.facts[-1]) if one.facts else one.name for one in reached)
        return FactAnswer(self._words.listed(shown), values, facts)

    def _objects(self) -> FactAnswer | None:
        query, relation = self._query, self._relation
        reached = self._graph.walk([query.subject], query.path, self._as_of, topic=query.topic)
        if not reached and self._shape == "name":
            known = self._graph.resolve(query.subject, self._as_of)
            reached = [one for one in known if one.facts and one.key != name_key(query.subject)]
        if not reached:
            return self._nothing(self._history())
        if query.named:
            reached = [one for one in reached if not self._is_kind(one.name)]
            if not reached:
                return None
        return self._listed(reached, pairs=relation.cardinality == "one")

    def _is_kind(self, value: str) -> bool:
        """Return True if a value is a kind of thing ("grey cat") rather than a name ("Pixel", "Hill School")."""
        return value.split()[-1] in self._relation.nouns

    def _history(self) -> list[Fact]:
        """Return the facts in the walk's last step that were true at or before the time asked about, in order."""
        query = self._query
        at = query.as_of or self._graph.now
        starts = self._graph.walk([query.subject], query.path[:-1], self._as_of)
        edges = [
            edge
            for start in starts
            for edge in self._graph.edges_of(start.name, query.path[-1], topic=query.topic, as_of=self._as_of)
        ]
        facts = (self._graph.facts[edge.fact] for edge in edges)
        return sorted(_distinct(f for f in facts if at is None or (f.valid_from or EARLIEST) <= at), key=order)

    def _nothing(self, ended: Sequence[Fact]) -> FactAnswer | None:
        """Answer that there is no longer any value; return None if no fact has ended, or if a fact was only
        forgotten.
        """
        if any(self._forgotten(fact) for fact in ended):
            return None
        if self._query.count:
            return FactAnswer(self._words.count(0), (), tuple(ended)) if ended else None
        return FactAnswer(self._words.none(self._shape, ended=True), (), tuple(ended)) if ended else None

    def _subjects(self) -> FactAnswer | None:
        query, relation = self._query, self._relation
        if query.previous or query.before or len(query.path) > 1:
            return None
        reached = self._graph.backwards(query.object, relation.name, self._as_of, topic=query.topic)
        if not reached and relation.locates:  # "who has a key?" may be parsed as asking what the key holds
            reached = self._graph.walk([query.object], query.path, self._as_of, topic=query.topic)
        if reached:
            return self._listed(reached)
        if not relation.locates or not self._is_known(query.object):
            return None
        text = (
            self._words.count(0) if query.count else self._words.none(self._graph.schema.kinds[relation.subject].like)
        )
        return FactAnswer(text, (), ())

    def _count(self) -> FactAnswer | None:
        """Answer with a stated number if there is one, else with the number of known values."""
        query = self._query
        said = self._graph.walk([query.subject], query.path, self._as_of, topic=query.topic)
        if said:
            facts = _distinct(fact for one in said for fact in one.facts)
            values = tuple(one.name for one in said)
            if len(said) > 1:
                return FactAnswer(self._words.disputed(values), values, facts, disputed=True)
            return FactAnswer(values[0], values, facts)
        for relation in relations_by_noun(self._graph.schema).get(singular(query.topic.casefold()), ()):
            narrow = narrowing(relation, query.topic)
            borne_out = self._graph.verifies(relation, narrow)
            topic, narrow = (narrow, "") if borne_out else ("", narrow)
            reached = self._graph.walk([query.subject], [relation.name], self._as_of, topic=topic)
            if reached and (not narrow or all(one.facts[-1].topic for one in reached)):
                kept = [one for one in reached if not narrow or singular(one.facts[-1].topic) == narrow]
                facts = _distinct(fact for one in kept for fact in one.facts)
                return FactAnswer(self._words.count(len(kept)), tuple(one.name for one in kept), facts)
        return None

    def _whether(self) -> FactAnswer | None:
        query, relation = self._query, self._relation
        reached = self._graph.walk([query.subject], query.path, self._as_of, topic=query.topic)
        if not query.object:
            noun = "" if self._graph.verifies(relation, query.topic) else narrowing(relation, query.topic)
            fitting = [one for one in reached if not noun or one.facts[-1].topic or same(one.name, noun, self._shape)]
            if reached:
                return self._verdict("yes", fitting, show=True) if fitting else None
            ended = self._history()
            over = bool(ended) and not any(self._forgotten(fact) for fact in ended)
            return FactAnswer(self._words.verdict("no"), (), tuple(ended), verdict="no") if over else None
        matching = [one for one in reached if same(one.name, query.object, self._shape)]
        sides = [one for one in reached if one.facts[-1].status == "disputed"]
        if len(sides) > 1:
            return self._listed(sides)
        if matching:
            return self._verdict("yes", matching)
        if reached and self._lies_in(reached[0].name):
            return self._verdict("yes", reached[:1], show=True)
        if reached and relation.cardinality == "one":
            unsure = self._shape == "place" and self._may_contain()
            return None if unsure else self._verdict("no", reached, show=True)
        if relation.opposite:
            against = self._graph.walk([query.subject], [*query.path[:-1], relation.opposite], self._as_of)
            if denied := [one for one in against if same(one.name, query.object, self._shape)]:
                return self._verdict("no", denied)
        ended = [fact for fact in self._history() if same(fact.object, query.object, self._shape)]
        over = bool(ended) and not any(self._forgotten(fact) for fact in ended)
        return FactAnswer(self._words.verdict("no"), (), tuple(ended), verdict="no") if over else None

    def _forgotten(self, fact: Fact) -> bool:
        """Return True if a fact was archived without a known end, so that it may still hold."""
        at = self._as_of or self._graph.now
        return fact.status == "archived" and (fact.valid_to is None or (at is not None and fact.valid_to > at))

    def _is_known(self, place: str) -> bool:
        """Return True if a location fact names a place; a place that isn't in such a fact may contain anything."""
        keys = {one.key for one in self._graph.resolve(place, self._as_of)}
        facts = (fact for fact in self._graph.facts if self._graph.schema[fact.relation].locates)
        return any({name_key(fact.subject), name_key(fact.object)} & keys for fact in facts)

    def _lies_in(self, place: str) -> bool:
        """Return True if a place lies in the place asked about."""
        links = self._whereabouts.chain(place, self._as_of) if self._shape == "place" else []
        return any(same(link.name, self._query.object, "place") for link in links)

    def _may_contain(self) -> bool:
        """Return True if the place asked about may contain other places: it is a proper name that no fact mentions."""
        return self._query.object not in self._graph and not self._query.object[:1].islower()

    def _verdict(self, verdict: Literal["yes", "no"], reached: Sequence[Reached], *, show: bool = False) -> FactAnswer:
        values = tuple(one.name for one in reached)
        facts = _distinct(fact for one in reached for fact in one.facts)
        return FactAnswer(self._words.verdict(verdict, values if show else ()), values, facts, verdict=verdict)

    def _names(self) -> list[str]:
        return [one.name for one in self._graph.resolve(self._query.subject, self._as_of)]

    def _place(self) -> FactAnswer | None:
        """Return the thing's location: its place, or its holder if the place is unknown."""
        found: list[Reached] = []
        for name in self._names():
            links = self._whereabouts.chain(name, self._as_of)
            if not links:
                continue
            last = next((i for i, link in enumerate(links) if link.role != "holder"), len(links) - 1)
            facts = _distinct(fact for link in links[: last + 1] for fact in link.facts)
            if sides := self._sides(facts):
                return self._listed(sides)
            found.append(Reached(links[last].name, facts))
        return self._listed(found, pairs=True) if found else None

    def _sides(self, facts: Sequence[Fact]) -> list[Reached]:
        """Return all sides in the first dispute among the facts."""
        fact = next((fact for fact in facts if fact.status == "disputed"), None)
        if fact is None:
            return []
        edges = self._graph.edges_of(fact.subject, fact.relation, as_of=self._as_of)
        sides = [self._graph.facts[edge.fact] for edge in edges]
        return [Reached(f.object, (f,)) for f in sides if f.status == "disputed" and self._graph.holds(f, self._as_of)]

    def _where_whether(self) -> FactAnswer | None:
        for name in self._names():
            links = self._whereabouts.chain(name, self._as_of)
            facts = _distinct(fact for link in links for fact in link.facts)
            if sides := self._sides(facts):
                return self._listed(sides)
            if any(same(link.name, self._query.object, "place") for link in links):
                return FactAnswer(self._words.verdict("yes"), (self._query.object,), facts, verdict="yes")
            place = next((link.name for link in links if link.role != "holder"), None)
            if place is not None and not self._may_contain():
                return FactAnswer(self._words.verdict("no", (place,)), (place,), facts, verdict="no")
        return None

    def _past_place(self) -> FactAnswer | None:
        for name in self._names():
            stays = self._whereabouts.stays(name, self._as_of)
            stay: Stay | None = None
            if self._query.before:
                stay = self._whereabouts.before(name, self._query.before, self._as_of)
            elif len(stays) > 1:
                stay = stays[-2]
            if stay is not None:
                return FactAnswer(self._words.listed((stay.place,)), (stay.place,), _distinct(stay.facts))
        return None

    def _past(self) -> FactAnswer | None:
        """Answer with the value before the current one, or with the one before a given value."""
        history = self._history()
        if self._query.before:
            there = [i for i, fact in enumerate(history) if same(fact.object, self._query.before, self._shape)]
            earlier = history[: there[-1]] if there else []
            held = {name_key(history[i].object) for i in there}
        else:
            held = {name_key(fact.object) for fact in history if self._graph.holds(fact, self._as_of)}
            earlier = [fact for fact in history if not self._graph.holds(fact, self._as_of)]
        earlier = [fact for fact in earlier if name_key(fact.object) not in held]
        if not earlier:
            return None
        return FactAnswer(self._words.listed((earlier[-1].object,)), (earlier[-1].object,), (earlier[-1],))

    def _when(self) -> FactAnswer | None:
        """Answer with the day, month or year in which a fact began, as precisely as it was stated."""
        query = self._query
        begun = [f for f in self._history() if not query.object or same(f.object, query.object, self._shape)]
        days = self._graph.begun(begun[-1]) if begun else None
        if days is None:
            return None
        told = self._words.days(*days)
        return FactAnswer(told, (told,), (begun[-1],))

    def _handed_over(self, asks: Literal["giver", "receiver", "thing"]) -> FactAnswer | None:
        """Answer with the giver, receiver or thing in the latest matching transfer."""
        query = self._query
        named = {"giver": query.subject, "receiver": query.object, "thing": query.topic}
        wanted = {
            role: {one.key for one in self._graph.resolve(name, self._as_of)} | {name_key(name)}
            for role, name in named.items()
            if name and role != asks
        }
        fitting = [
            transfer
            for transfer in self._transfers()
            if all(name_key(getattr(transfer, role)) in keys for role, keys in wanted.items())
        ]
        if not fitting:
            return None
        latest = max(fitting, key=lambda transfer: order(transfer.facts[1]))
        value = getattr(latest, asks)
        return FactAnswer(self._words.listed((value,)), (value,), latest.facts)

    def _transfers(self) -> list[_Transfer]:
        """Return all changes of holder in which the new holder's period begins when the old one's ends."""
        at = self._as_of or self._graph.now
        timelines: dict[str, list[Fact]] = {}
        for fact in self._graph.facts:
            if fact.relation == self._relation.name and (at is None or (fact.valid_from or EARLIEST) <= at):
                timelines.setdefault(name_key(fact.subject), []).append(fact)
        return [
            _Transfer(after.subject, before.object, after.object, (before, after))
            for facts in timelines.values()
            for before, after in pairwise(facts)
            if before.valid_to is not None and before.valid_to == after.valid_from
        ]


def _source(reached: Reached) -> str:
    """Return the entity from which the last step of a walk started."""
    last = reached.facts[-1]
    return last.subject if name_key(last.object) == reached.key else last.object


def _distinct(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple({fact.id: fact for fact in facts}.values())
