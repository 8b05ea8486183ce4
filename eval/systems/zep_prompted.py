"""Zep's steps by a language model, in prompts of ours (Rasmussen et al. 2025, sections 2.2.1 to 2.2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model

from eval.harness.contract import Passage
from eval.systems.documents import said
from eval.systems.language import Language, numbered
from eval.systems.temporal_graph import Entity, Fact
from eval.systems.zep_tasks import Candidates, Judged, Named, Resolved, Stated
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.text.names import name_key

_ENTITIES = (
    "You read a conversation, or a text, for the graph of what it says. entities: whom and what the newest message "
    "names or speaks of (people, places, organisations, things, works, events, ideas), each with its full name as the "
    "messages have it, and summary: a sentence on what the newest message tells of it. Say whom a pronoun means, and "
    "do not list the pronoun; no dates, and no actions or relations. The messages before are there to understand the "
    "newest one alone."
)
_MISSED = (
    f"{_ENTITIES} Under `found` are the names that were found already. entities: only those that are still missing; [] "
    "where none is."
)
_RESOLVE = (
    "An entity was found in the newest message; candidates are entities that are known already. duplicate: the number "
    "of the candidate that is the very same person, place or thing, 0 if none is; one that is alike or has to do with "
    "it is not the same. name: its fullest name. summary: what is known of it now, in at most {words} words: what the "
    "candidate's summary says and what the newest message adds; if none is the same, what the newest message tells."
)
_FACTS = (
    "facts: what the newest message states of the numbered entities: how two of them have to do with each other, or "
    "had. Each has the numbers of two different entities, subject and object, a short predicate, and fact: a sentence "
    "that is understood alone, with names, and with the particulars that the message gives. valid and invalid: the "
    "days from which and up to which it holds, YYYY-MM-DD. `time` is when the message was written: count words such as "
    'yesterday from it, and take its day as valid for what holds when it is written, or begins; "" where nobody can '
    "tell, or where it has not ended. The messages before are there to understand the newest one alone."
)
_JUDGE = (
    "A new fact is held against known ones, which stand under numbers with the time that they hold. same: the numbers "
    "of those under `own` that say the same as it. contradicted: the numbers of those under `own` or `others` that "
    "cannot hold any longer, or never did, if the new one is true. Facts that differ in a particular, or can both be "
    "true, contradict nothing."
)
_Name = Annotated[str, Field(min_length=1, max_length=120)]


def _day(text: str) -> str:
    if text:
        date.fromisoformat(text)
    return text


_Day = Annotated[str, Field(max_length=10), AfterValidator(_day)]


class EntityForm(ReplyForm):
    """An entity as a model writes it."""

    name: _Name
    summary: Annotated[str, Field(max_length=200)]


class EntitiesForm(ReplyForm):
    """Whom and what a message names."""

    entities: Annotated[list[EntityForm], Field(max_length=12)]


class ResolutionForm(ReplyForm):
    """Which of its candidates an entity is."""

    duplicate: int
    name: _Name
    summary: Annotated[str, Field(max_length=800)]


class FactForm(ReplyForm):
    """A fact as a model writes it."""

    subject: int
    object: int
    predicate: _Name
    fact: Annotated[str, Field(min_length=1, max_length=300)]
    valid: _Day
    invalid: _Day


class FactsForm(ReplyForm):
    """What a message states."""

    facts: Sequence[FactForm]


class ContradictionForm(ReplyForm):
    """Which known facts a new one contradicts."""

    contradicted: Sequence[int]


class JudgementForm(ContradictionForm):
    """What a fact has to do with known ones, some of which are of the same two entities."""

    same: Sequence[int]


def _number(first: int, last: int) -> Any:
    return Annotated[int, Field(ge=first, le=last)]


@cache
def resolution_form(candidates: int) -> type[ResolutionForm]:
    """The form over so many candidates."""
    return create_model("ResolutionOf", __base__=ResolutionForm, duplicate=(_number(0, candidates), ...))


@cache
def facts_form(entities: int) -> type[FactsForm]:
    """The form over so many entities."""
    number = (_number(1, entities), ...)
    fact: Any = create_model("FactAmong", __base__=FactForm, subject=number, object=number)
    return create_model("FactsAmong", __base__=FactsForm, facts=(list[fact], Field(max_length=10)))


@cache
def judgement_form(own: int, others: int) -> type[ContradictionForm]:
    """The form over so many facts of the same two entities, and so many others."""
    own_number = Annotated[int, Field(ge=1, le=max(1, own))]
    number = Annotated[int, Field(ge=1, le=own + others)]
    same: Any = (list[own_number], Field(max_length=max(1, own)))
    contradicted: Any = (list[number], Field(max_length=own + others))
    fields = {"same": same, "contradicted": contradicted} if own else {"contradicted": contradicted}
    return create_model("Judgement", __base__=JudgementForm if own else ContradictionForm, **fields)


class PromptedZep:
    """`ZepTasks` by the run's engine.

    Args:
        before: messages before an episode that a prompt shows (the paper's n), as many of them as fit.
        reflections: times that the model is asked what it missed in an episode.
        words: longest summary of an entity.
    """

    def __init__(
        self, language: Language, passages: Sequence[Passage], *, before: int, reflections: int, words: int
    ) -> None:
        self._language = language
        self._passages = passages
        self._texts = [said(passage) for passage in passages]
        self._before = before
        self._reflections = reflections
        self._resolve = _RESOLVE.format(words=words)

    def _shown(self, row: int, instructions: str, **beside: Any) -> dict[str, Any]:
        """An episode with as many messages before it as fit."""

        def data(before: Sequence[str]) -> dict[str, Any]:
            return {"before": list(before), "message": self._texts[row], **beside}

        recent = self._texts[max(0, row - self._before) : row]
        return data(self._language.latest(instructions, recent, data))

    def entities(self, row: int) -> list[Named]:
        """The speaker, and what the model finds."""
        message = self._passages[row].message
        speaker = message.name if message.role != "document" else None
        found = {name_key(speaker): Named(speaker)} if speaker else {}
        for attempt in range(1 + self._reflections):
            beside = {"found": [one.name for one in found.values()]} if attempt else {}
            instructions = _MISSED if attempt else _ENTITIES
            (form,) = self._language.fill(EntitiesForm, instructions, [self._shown(row, instructions, **beside)])
            before = len(found)
            for one in form.entities:
                own = found.get(name_key(one.name), Named(one.name))
                if name_key(one.name) and not own.summary:
                    found[name_key(one.name)] = Named(own.name, one.summary)
            if len(found) == before:
                break
        return list(found.values())

    def resolve(self, row: int, named: Sequence[tuple[Named, Sequence[Entity]]]) -> list[Resolved]:
        """The model decides on each that has candidates; of these as many are shown as fit."""
        found = []
        for one, candidates in named:
            entity = {"name": one.name, "summary": one.summary}

            def data(some: Sequence[Entity], own: dict[str, str] = entity) -> dict[str, Any]:
                shown = {str(number): {"name": it.name, "summary": it.summary} for number, it in enumerate(some, 1)}
                return {"message": self._texts[row], "entity": own, "candidates": shown}

            fitting = self._language.fitting(self._resolve, candidates, data)
            if not fitting:
                found.append(Resolved(None, one.name, one.summary))
                continue
            (form,) = self._language.fill(resolution_form(len(fitting)), self._resolve, [data(fitting)])
            found.append(Resolved(form.duplicate - 1 if form.duplicate else None, form.name, form.summary))
        return found

    def facts(self, row: int, entities: Sequence[str]) -> list[Stated]:
        """What the model finds; nothing is a fact of one entity alone."""
        if len(entities) < 2:
            return []
        time = self._passages[row].message.timestamp
        beside = {"time": "" if time is None else f"{time:%Y-%m-%d %H:%M, %A}", "entities": numbered(entities)}
        (form,) = self._language.fill(facts_form(len(entities)), _FACTS, [self._shown(row, _FACTS, **beside)])
        return [
            Stated(
                one.subject - 1, one.object - 1, one.predicate, one.fact, _at(one.valid, time), _at(one.invalid, time)
            )
            for one in form.facts
            if one.subject != one.object
        ]

    def judge(self, row: int, stated: Sequence[tuple[Stated, Candidates]]) -> list[Judged]:  # noqa: ARG002
        """The model judges each that has candidates; of these as many are shown as fit, those of its entities first."""
        found = []
        for one, known in stated:
            new = Fact((one.subject, one.object), one.predicate, one.text, one.valid, one.invalid, None, [])
            own = len(known.own)

            def data(some: Sequence[Fact], new: Fact = new, own: int = own) -> dict[str, Any]:
                shown = {str(number): fact.shown() for number, fact in enumerate(some, 1)}
                split = dict(list(shown.items())[:own]), dict(list(shown.items())[own:])
                return {"fact": new.shown(), "own": split[0], "others": split[1]}

            fitting = self._language.fitting(_JUDGE, [*known.own, *known.others], data)
            if not fitting:
                found.append(Judged())
                continue
            form_of = judgement_form(min(own, len(fitting)), max(0, len(fitting) - own))
            (form,) = self._language.fill(form_of, _JUDGE, [data(fitting)])
            same = tuple(number - 1 for number in form.same) if isinstance(form, JudgementForm) else ()
            found.append(Judged(same, tuple(number - 1 for number in form.contradicted if number - 1 not in same)))
        return found


def _at(day: str, said: datetime | None) -> datetime | None:
    """The beginning of a day, or the time of the message if it is that day's."""
    if not day:
        return None
    if said is not None and said.date().isoformat() == day:
        return said
    return datetime.combine(date.fromisoformat(day), datetime.min.time(), tzinfo=UTC)
