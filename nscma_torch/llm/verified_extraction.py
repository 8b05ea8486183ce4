"""Verify a model's reading of one message, keeping only the statements and notes that its text supports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from nscma_torch.core.records import Extraction, Statement, Unit
from nscma_torch.llm.grounding import holds, resolves, stands_for
from nscma_torch.llm.prompts import tasks as prompts
from nscma_torch.llm.prompts.tasks import ExtractionForm, NoteForm, StatementForm
from nscma_torch.reading.corrections import retracts
from nscma_torch.reading.first_person import author, first_person
from nscma_torch.reading.phrase_names import name_of
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.reading.statement_times import times_of
from nscma_torch.text.capitalised import NAME
from nscma_torch.text.names import name_key
from nscma_torch.text.pronouns import refers_back
from nscma_torch.text.sentences import Span, split_sentences
from nscma_torch.text.spelling_variants import american

_CONFIDENCE = 0.9  # that of the embedded reader, so that neither outweighs the other in one store
_STATES: Mapping[str, Mapping[str, bool]] = {
    "holds": {},
    "not": {"negated": True},
    "past": {"past": True},
    "never": {"negated": True, "correction": True},
    "corrected": {"correction": True},
}


@dataclass
class UnitReading:
    """A unit as read by a model, sentence by sentence.

    `context` contains the other messages that the model saw; names in it may resolve the unit's pronouns. `dropped`
    counts output that the text doesn't support: statements, replaced objects, and notes, which are replaced by the
    sentence itself.
    """

    unit: Unit
    listener: str
    context: tuple[Unit, ...] = ()
    dropped: int = 0
    _spans: list[Span] = field(init=False)

    def __post_init__(self) -> None:
        self._spans = split_sentences(self.unit.text) or [Span(0, len(self.unit.text))]

    @property
    def sentences(self) -> list[str]:
        """Return the unit's text as sentences."""
        return [self.unit.text[span.start : span.end] for span in self._spans]

    def extraction(self, form: ExtractionForm, schema: Schema) -> Extraction:
        """Return the supported statements and notes in the order of the form, without duplicates."""
        statements: dict[Any, Statement] = {}
        for read in form.statements:
            for one in self._statements(read, schema):
                key = (name_key(one.subject), one.relation, one.topic, name_key(one.object), one.negated)
                statements.setdefault(key, one)
        notes: dict[str, Span] = {}
        for note in form.notes:
            for text in self._note(note):
                notes.setdefault(text, self._spans[note.sentence - 1])
        return Extraction(
            tuple(notes), tuple(statements.values()), tuple((span.start, span.end) for span in notes.values())
        )

    def _statements(self, read: StatementForm, schema: Schema) -> list[Statement]:
        relation = schema[read.relation]
        kind = schema.shape(relation.name)
        topical = prompts.takes_topic(schema, read.relation)
        negated = read.state in ("not", "never")
        subject = self._meant(read.subject)
        object_ = self._meant(read.object) if kind == "person" else read.object
        number = self._place(read.sentence - 1, object_, person=kind == "person")
        if (
            number is None
            or not (object_ or (negated and not read.object))
            or not resolves(subject, self.unit.text, self._named, self.listener)
            or name_key(subject) == name_key(object_)
            or (topical and not holds(read.topic, self.unit.text))
        ):
            self.dropped += 1
            return []
        replaces = read.replaces if read.replaces and holds(read.replaces, self.unit.text) else ""
        self.dropped += bool(read.replaces) and not replaces
        dates = [object_] if kind == "date" else []
        times = times_of(self.sentences[number], dates, self.unit.occurred_at, past=read.state == "past")
        made = Statement(
            subject=subject,
            relation=relation.name,
            object=object_,
            topic=american(read.topic) if topical else "",
            replaces=replaces,
            valid_from=times.begins,
            valid_to=times.ends,
            begun_by=times.begun_by,
            confidence=_CONFIDENCE,
            start=self._spans[number].start,
            end=self._spans[number].end,
            **({"negated": True} if retracts(self.sentences[number]) else _STATES[read.state]),
        )
        if replaces and relation.cardinality == "many":
            return [made, replace(made, object=replaces, replaces="", negated=True, past=False)]
        return [made]

    def _place(self, named: int, object_: str, *, person: bool) -> int | None:
        """Return the number of the sentence that states it: the sentence it names, or else the first that contains the
        object.
        """
        sentences = self.sentences
        if named >= len(sentences):
            return None
        if not object_:
            return named
        order: list[int] = [named, *range(len(sentences))]
        return next((i for i in order if self._names(object_, sentences[i], person=person)), None)

    def _names(self, object_: str, sentence: str, *, person: bool) -> bool:
        """Return True if a sentence names an object. A person may be named as "me" or "you"."""
        return holds(object_, sentence) or (person and resolves(object_, sentence, self._named, self.listener))

    def _meant(self, phrase: str) -> str:
        """Return the name that a phrase refers to, or "" for a pronoun that only the context explains."""
        return name_of(phrase, first_person(self.unit), self.listener)

    @property
    def _speaker(self) -> str:
        return author(self.unit)

    @cached_property
    def _named(self) -> str:
        """Return the speaker and, if the unit contains a pronoun, the names and speakers in its context."""
        if not refers_back(self.unit.text):
            return self._speaker
        names = [found[0] for one in self.context for found in re.finditer(rf"\b{NAME}", one.text)]
        return " ".join([self._speaker, *names, *(one.name for one in self.context if one.name)])

    def _note(self, read: NoteForm) -> list[str]:
        """Return the note with its speaker and dates, or the sentence itself if the note goes beyond the text."""
        sentences = self.sentences
        if read.sentence > len(sentences):
            self.dropped += 1
            return []
        sentence = sentences[read.sentence - 1]
        text = read.text
        if not stands_for(text, sentence, self.unit.text, self._named, self.listener):
            self.dropped += 1
            text = sentence
        return [f"{self._speaker}: {resolved(text, self.unit.occurred_at)}"]
