"""Read statements with the trained reader: facts with resolved names, negation and times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch

from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.records import Statement, Unit
from nscma_torch.reading.asserted_statements import ReadMessage, told_in_turn
from nscma_torch.reading.corrections import corrects, retracts
from nscma_torch.reading.fact_proposer import WEIGHTS, FactProposer
from nscma_torch.reading.fact_reader import FactReader, ReadFact
from nscma_torch.reading.first_person import first_person
from nscma_torch.reading.non_events import not_so
from nscma_torch.reading.noun_phrases import PERSON_NOUN, bare
from nscma_torch.reading.phrase_names import name_of
from nscma_torch.reading.reader import Reader, ReadSpan, shared_reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.statement_times import times_of
from nscma_torch.text.embedders.embedder import precision
from nscma_torch.text.names import name_key
from nscma_torch.text.pronouns import FIRST_PERSON
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import Span, split_sentences
from nscma_torch.text.spelling_variants import american

FACTS = "facts.safetensors"  # weights of the reader that was trained on facts
WINDOW = 600  # characters of a message that are read at once
_VERBATIM = ("date", "deed", "number")  # shapes of objects that keep their words
_UNNAMED = re.compile(rf"(?:.*'s )?(?:[\w-]+ )?{PERSON_NOUN.pattern}s?", re.I)
_OWNER = re.compile(r"(?:\b(?:my|our)\s)?\b[\w-]+['’]s\s$", re.I)  # "my sister's" before "husband"
_REACH = 60  # characters before a noun in which its owner is looked for
_DEFINITE = re.compile(r"\b(?:the|this|that)\s$", re.I)
_CLAUSE_END = re.compile(r"[,;:.!?]\s")
_FIRST = re.compile(r"\b(?:I\b|i(?=[ '’])|[Ww]e\b|[Mm]y\b|[Oo]ur\b)")  # the speaker as subject or owner
_UNKNOWN = re.compile(r"(?:he|she|they|it|this|that|these|those|him|her|them|who|everyone|someone|nobody)\b", re.I)


class StatementsOfReader:
    """Reads statements from messages with a `FactReader`, which only knows English."""

    def __init__(self, reader: FactReader, schema: Schema) -> None:
        self._reader = reader
        self._schema = schema

    def read(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]]
    ) -> list[ReadMessage]:
        """Read the statements in each unit, in any stance.

        Sentences are read one by one in documents, and in messages that report successive locations of a thing. Their
        order is then kept, and no statement is crowded out.
        """
        found = []
        for unit, listener, turns in zip(units, listeners, before or [()] * len(units), strict=True):
            sentences = [] if script(unit.text) == "cjk" else split_sentences(unit.text)
            own = ReadMessage([], {})
            for window in sentences if unit.role == "document" else _windows(sentences):
                read = self._of_stretch(unit, listener, turns, window, sentences)
                if told_in_turn(read.statements, self._schema):
                    inside = [one for one in sentences if window.start <= one.start < window.end]
                    each = [self._of_stretch(unit, listener, turns, one, sentences) for one in inside]
                    own.statements.extend(pair for one in each for pair in one.statements)
                else:
                    own.statements.extend(read.statements)
                own.picks.update({name: max(p, own.picks.get(name, 0.0)) for name, p in read.picks.items()})
            found.append(own)
        return found

    def _of_stretch(
        self, unit: Unit, listener: str, before: Sequence[Unit], stretch: Span, sentences: Sequence[Span]
    ) -> ReadMessage:
        """Read the statements in a part of a unit, using the text before it as context."""
        passages = _passages(unit, before, stretch)
        # alone, since in bfloat16 what is read beside a message may move its probabilities, and with them a digest
        (told,) = self._reader.read([passages])
        in_order = sorted(told.facts, key=lambda fact: fact.object.start)
        made = [
            (_statement(fact, passages, unit, stretch, sentences, listener, self._schema), fact) for fact in in_order
        ]
        return ReadMessage([(one, fact) for one, fact in made if one is not None], dict(told.picks))


def configured_facts(
    section: ReadingConfig, schema: Schema, device: torch.device
) -> Callable[[], StatementsOfReader] | None:
    """Return a factory for the statement reader configured as `reading.facts`, or None if none is configured.

    The factory raises `ModelNotFoundError` or `ModelError` if the folder lacks valid files from `train/reader`.
    """
    folder = _folder(section)
    return None if folder is None else lambda: _loaded(folder, schema, device, _precision(section, device))


def configured_reader(section: ReadingConfig, device: torch.device) -> Reader | None:
    """Return the reader that judges facts, configured as `reading.facts`, or None if none is configured."""
    folder = _folder(section)
    return None if folder is None else shared_reader(folder / FACTS, device, _precision(section, device))


def _precision(section: ReadingConfig, device: torch.device) -> torch.dtype:
    """Return the dtype for facts: never int8, so that CPUs with and without fast int8 read the same facts."""
    return precision("float32" if section.dtype == "int8" else section.dtype, device)


def _folder(section: ReadingConfig) -> Path | None:
    if section.facts == "none":
        return None
    return WEIGHTS.parent if section.facts == "bundled" else Path(section.facts)


@lru_cache(maxsize=4)
def _loaded(folder: Path, schema: Schema, device: torch.device, dtype: torch.dtype) -> StatementsOfReader:
    """Load the statement reader, once per process because it is immutable."""
    proposer = FactProposer.from_pretrained(schema, folder / WEIGHTS.name, device=device, dtype=dtype)
    return StatementsOfReader(FactReader(proposer, shared_reader(folder / FACTS, device, dtype), schema), schema)


def _windows(sentences: Sequence[Span]) -> Iterator[Span]:
    """Yield spans of whole sentences, each with at most `WINDOW` characters or a single longer sentence."""
    start = end = None
    for span in sentences:
        if start is not None and end is not None and span.end - start > WINDOW:
            yield Span(start, end)
            start = None
        start = span.start if start is None else start
        end = span.end
    if start is not None and end is not None:
        yield Span(start, end)


def _passages(unit: Unit, before: Sequence[Unit], window: Span) -> list[InputPassage]:
    """Return a span of a message, preceded by its context: the text before it, or the turns before the message.

    A sentence in a document gets no context, because the preceding text distracts more than it explains.
    """
    own = InputPassage(unit.text[window.start : window.end], unit.name or unit.role, unit.occurred_at)
    if unit.role == "document":
        return [own]
    if window.start:
        begin = max(0, window.start - WINDOW // 2)
        earlier = unit.text[begin : window.start]
        earlier = earlier.partition(" ")[2] if begin else earlier
        return [replace(own, text=earlier.strip(), context=True), own]
    turns = [InputPassage(turn.text, turn.name or turn.role, turn.occurred_at, context=True) for turn in before]
    return [*turns, own]


def _statement(
    fact: ReadFact,
    passages: Sequence[InputPassage],
    unit: Unit,
    window: Span,
    sentences: Sequence[Span],
    listener: str,
    schema: Schema,
) -> Statement | None:
    """Convert a fact to a statement, or return None if its subject or object can't be named."""
    relation = schema[fact.relation]
    if relation.open and _CLAUSE_END.search(f"{fact.topic} {fact.object.text}"):
        return None  # "passed the test, and he's off dairy": no predicate runs over the end of a clause
    if not _on_topic(fact.topic, passages):
        return None
    shape = schema.shape(relation.name)
    writer = None if unit.role != "document" else first_person(unit) if _FIRST.search(passages[-1].text) else ""
    subject = _named(fact.subject, passages, listener, writer)
    if shape in _VERBATIM:
        value = bare(fact.object.text, keep=("a", "new", "around", "about"))
    else:
        value = _named(fact.object, passages, listener, writer)
    if not subject or not value or name_key(subject) == name_key(value):
        return None
    if shape == "person" and _UNNAMED.fullmatch(value):
        return None  # "my sister" alone says nothing
    nameless = "'s " not in subject and subject == subject.lower() != passages[-1].speaker
    if shape == "name" and nameless and not _definite(fact.subject, passages):
        return None  # "a dog called Rex": of which dog it is the name is told by whose it is
    at = window.start + fact.object.start  # an object stands in the message itself
    span = next(own for own in sentences if own.start <= at < own.end)
    sentence = unit.text[span.start : span.end]
    against = not_so(sentence, at - span.start, at - span.start + len(fact.object.text))
    if (against == "undone" and fact.stance != "denied") or (against == "not taken" and fact.stance == "holds"):
        return None
    over = fact.stance == "ended" or retracts(sentence)
    times = times_of(sentence, [fact.object.text] if shape == "date" else [], unit.occurred_at, past=over)
    return Statement(
        subject=subject,
        relation=fact.relation,
        object=value.removeprefix(f"{subject}'s "),
        topic=american(fact.topic.lower()),
        negated=over or fact.stance == "denied" or against == "denied",
        correction=corrects(sentence),
        valid_from=None if over else times.begins,
        valid_to=None if over else times.ends,
        begun_by=None if over else times.begun_by,
        confidence=fact.confidence,
        start=span.start,
        end=span.end,
    )


def _on_topic(topic: str, passages: Sequence[InputPassage]) -> bool:
    """Return True if a topic is in the message itself, or in another speaker's turn that the message answers."""
    *before, own = passages
    said = (own.text, *(turn.text for turn in before if turn.speaker != own.speaker))
    return any(topic.casefold() in text.casefold() for text in said)


def _definite(span: ReadSpan, passages: Sequence[InputPassage]) -> bool:
    """Return True if a noun phrase refers to something known in the conversation, such as "the tavern"."""
    before = passages[span.passage].text[: span.start] if span.of_text else ""
    return bool(_DEFINITE.search(before) or _DEFINITE.match(f"{span.text.partition(' ')[0]} "))


def _named(span: ReadSpan, passages: Sequence[InputPassage], listener: str, writer: str | None) -> str:
    """Return the name that a span refers to, or "" if unclear.

    In a document, "I", "my" and an omitted subject refer to `writer`, its author ("" if unknown). In messages, `writer`
    is None and they refer to the passage's speaker.
    """
    passage = passages[span.passage]
    speaker = passage.speaker if writer is None else writer
    if not span.of_text or span.text.lower() in FIRST_PERSON:
        return speaker
    if _UNKNOWN.fullmatch(span.text):
        return ""
    own = span.passage == len(passages) - 1
    owner = _OWNER.search(passage.text[max(0, span.start - _REACH) : span.start])
    phrase = f"{owner[0]}{span.text}" if owner and PERSON_NOUN.fullmatch(span.text) else span.text
    return name_of(phrase, speaker, listener if own else passages[-1].speaker)
