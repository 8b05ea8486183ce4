"""Zep's steps without an engine: what the trained reader states, names that are one by `name_key`, and its change head.

A fact holds from the time that the statement names, or from when it was said; of what was so once and is no more the
end is known, and the beginning only where it is named. The change head finds what a fact repeats, and what it replaces,
corrects, ends or cancels, among facts of one subject; a statement that denies something ends the facts that say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eval.harness.contract import Passage
from eval.systems.language import Language, Triple
from eval.systems.memory_collection import unit_and_before
from eval.systems.temporal_graph import Entity
from eval.systems.zep_tasks import Candidates, Judged, Named, Resolved, Stated
from nscma_torch.core.records import Statement, ToldFact, Unit
from nscma_torch.extraction.open_triples import opened
from nscma_torch.text.names import name_key
from nscma_torch.text.sentences import Span, split_sentences


class EmbeddedZep:
    """`ZepTasks` by the trained reader."""

    def __init__(self, language: Language, passages: Sequence[Passage]) -> None:
        self._language = language
        self._passages = passages
        self._quotes: dict[tuple[int, str], Unit] = {}  # the sentence that states a fact, by episode and text
        self._stated: dict[int, tuple[Unit, list[Statement]]] = {}  # of the episode at hand

    def _statements(self, row: int) -> tuple[Unit, list[Statement]]:
        """The episode, and what it states in open triples; what names no second entity is left out."""
        if row not in self._stated:
            unit, turns = unit_and_before(self._passages, row)
            (told,) = self._language.tasks.extract([unit], listeners=[""], before=[turns])
            found = [opened(one, self._language.relations) for one in told.statements if one.object]
            self._stated = {row: (unit, [one for one in found if name_key(one.subject) and name_key(one.object)])}
        return self._stated[row]

    def entities(self, row: int) -> list[Named]:
        """The speaker, and subjects and objects."""
        unit, statements = self._statements(row)
        speaker = [unit.name] if unit.name and unit.role != "document" else []
        found: dict[str, Named] = {}
        for name in (*speaker, *(name for one in statements for name in (one.subject, one.object))):
            found.setdefault(name_key(name), Named(name))
        return list(found.values())

    def resolve(self, row: int, named: Sequence[tuple[Named, Sequence[Entity]]]) -> list[Resolved]:  # noqa: ARG002
        """The candidate with the same key."""
        found = []
        for one, candidates in named:
            same = (place for place, own in enumerate(candidates) if name_key(own.name) == name_key(one.name))
            place = next(same, None)
            own = one if place is None else candidates[place]
            found.append(Resolved(place, own.name, own.summary))
        return found

    def facts(self, row: int, entities: Sequence[str]) -> list[Stated]:
        """The statements."""
        unit, statements = self._statements(row)
        place = {name_key(name): place for place, name in enumerate(entities)}
        said = self._passages[row].message.timestamp
        found = []
        for one in statements:
            ends = place[name_key(one.subject)], place[name_key(one.object)]
            valid = one.valid_from if one.past else one.valid_from or said
            invalid = one.valid_to or said if one.past else one.valid_to
            text = Triple(one.subject, one.topic, one.object).text
            self._quotes[row, text] = _sentence(unit, one.start)
            if ends[0] != ends[1]:
                found.append(Stated(*ends, one.topic, text, valid, invalid, denied=one.negated))
        return found

    def judge(self, row: int, stated: Sequence[tuple[Stated, Candidates]]) -> list[Judged]:
        """By the change head; what is denied ends what says it."""
        return [self._denied(one, known) if one.denied else self._operated(row, one, known) for one, known in stated]

    def _denied(self, stated: Stated, known: Candidates) -> Judged:
        said = [place for place, fact in enumerate(known.own) if name_key(fact.predicate) == name_key(stated.predicate)]
        return Judged(contradicted=tuple(said))

    def _operated(self, row: int, stated: Stated, known: Candidates) -> Judged:
        facts = [*known.own, *known.others]
        alike = [place for place, fact in enumerate(facts) if fact.ends[0] == known.subject]
        told = [ToldFact(str(n), facts[n].text, self._quotes[facts[n].rows[0], facts[n].text]) for n in alike]
        new = ToldFact("", stated.text, self._quotes[row, stated.text])
        (operation,) = self._language.tasks.operate([(new, told)])
        places = tuple(int(id) for id in operation.fact_ids)
        if operation.action == "NOOP":
            return Judged(same=tuple(place for place in places if place < len(known.own)))
        return Judged(contradicted=places if operation.action in ("UPDATE", "DELETE") else ())


def _sentence(unit: Unit, start: int) -> Unit:
    """The sentence of a message in which a statement begins."""
    around = (span for span in split_sentences(unit.text) if span.start <= start < span.end)
    span = next(around, Span(0, len(unit.text)))
    return replace(unit, text=unit.text[span.start : span.end], start=span.start, end=span.end)
