"""Structured records without a language model: of English messages what trained parts tell of them.

The type is that of the most salient sentence that tells anything (`MemoryTypes`), a question where that one ends in its
mark. Entities are the people, places and things of the message's statements, then names by their capital letter. A
question of somebody else in the turns before is settled where the trained reader finds its answer in the message; a
problem, where the message says that one is solved. Whether a plan was carried out it cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from nscma_torch.protocols import Embedder
from nscma_torch.reading.capitalised import WEIGHED
from nscma_torch.reading.cues import salience
from nscma_torch.reading.memory_types import CLASSES, SOLVED, MemoryTypes
from nscma_torch.reading.pronouns import FIRST_PERSON, SECOND_PERSON
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import Passage
from nscma_torch.reading.sentiment import sentiment
from nscma_torch.records import ROLES, Description, Extraction, Unit
from nscma_torch.relations import Schema
from nscma_torch.text.dates import find_dates
from nscma_torch.text.names import name_key
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences

ANSWERED = 0.6  # least probability, by the reader, that a message answers a question before it; chosen on dev chats
_MARKS = ("?", "？")
_OTHERS = frozenset({"number", "date", "deed", "trait"})  # shapes of objects that are no entities
_SURELY_SHORT = 200  # characters: no more tokens than these, with the special ones, fit any embedder


class _Sentence(NamedTuple):
    text: str
    kind: str  # of `CLASSES`


class Descriptions:
    """Describes messages.

    Args:
        types: the kinds of sentences.
        embedder: the one whose vectors `types` reads.
        reader: tells whether questions are answered; None for none, and all stay open.
        schema: the relations of the statements.
    """

    def __init__(
        self,
        types: MemoryTypes,
        embedder: Embedder,
        reader: Callable[[], Reader] | None,
        schema: Schema,
    ) -> None:
        self._types = types
        self._embedder = embedder
        self._reader = reader
        self._schema = schema

    def describe(
        self,
        units: Sequence[Unit],
        *,
        extractions: Sequence[Extraction],
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]],
    ) -> list[Description | None]:
        """What each unit is; None for a text in no Latin script, or without words."""
        return [
            self._described(*one) if script(one[0].text) == "latin" else None
            for one in zip(units, extractions, listeners, before, strict=True)
        ]

    def _described(self, unit: Unit, extraction: Extraction, listener: str, before: Sequence[Unit]) -> Description:
        sentences = self._sentences(unit.text)
        telling = [one for one in sentences if one.kind != "remark"] or sentences
        main = max(telling, key=lambda one: salience(one.text))
        solved = any(one.kind == SOLVED for one in sentences)
        return Description(
            "problem" if main.kind == SOLVED else main.kind,  # type: ignore[arg-type]
            tuple(self._entities(unit, extraction, listener)),
            sentiment(unit.text),
            settled=main.kind == SOLVED,
            settles=tuple(
                place
                for place, turn in enumerate(before)
                if (solved and self._is_problem_of(turn, unit)) or self._answers(unit, before[place:])
            ),
        )

    def _sentences(self, text: str) -> list[_Sentence]:
        texts = [text[span.start : span.end] for span in split_sentences(text)]
        asks = [one.endswith(_MARKS) for one in texts]
        told = [one for one, asked in zip(texts, asks, strict=True) if not asked]
        kinds = iter(self._kinds(told))
        return [_Sentence(one, "question" if asked else next(kinds)) for one, asked in zip(texts, asks, strict=True)]

    def _kinds(self, texts: Sequence[str]) -> list[str]:
        """The class of each sentence. Those of a message alone are embedded together: it then does not depend on
        what else is read at the time.
        """
        if not texts:
            return []
        found = self._types.probabilities(texts, self._vectors(texts)).argmax(1).tolist()
        return [CLASSES[number] for number in found]

    def _vectors(self, texts: Sequence[str]) -> Tensor:
        return self._embedder.embed([_fitting(text, self._embedder) for text in texts])

    def _is_problem_of(self, turn: Unit, unit: Unit) -> bool:
        """Whether the speaker of a message told of a problem in an earlier turn."""
        return _speaker(turn) == _speaker(unit) and any(one.kind == "problem" for one in self._sentences(turn.text))

    def _answers(self, unit: Unit, turns: Sequence[Unit]) -> bool:
        """Whether a message answers the last question of the first of these turns, the others lying between."""
        asking = turns[0]
        if self._reader is None or _speaker(asking) == _speaker(unit) or script(asking.text) != "latin":
            return False
        questions = [asking.text[span.start : span.end] for span in split_sentences(asking.text)]
        questions = [one for one in questions if one.endswith(_MARKS)]
        if not questions:
            return False
        context = [Passage(turn.text, _speaker(turn), turn.occurred_at, context=True) for turn in turns]
        passages = [*context, Passage(unit.text, _speaker(unit), unit.occurred_at)]
        (read,) = self._reader().read([questions[-1]], [passages])
        return min(read.answerable, read.evidence[-1]) >= ANSWERED

    def _entities(self, unit: Unit, extraction: Extraction, listener: str) -> Iterator[str]:
        """Names in the order of the text, those of statements first."""
        known = {name_key(unit.name or ""), name_key(listener), *ROLES, *FIRST_PERSON, *SECOND_PERSON, ""}
        for statement in sorted(extraction.statements, key=lambda one: (one.start, -one.confidence)):
            shape = self._schema.kinds[self._schema[statement.relation].object].like
            for name in (statement.subject, *(() if shape in _OTHERS else (statement.object,))):
                if name_key(name) not in known:
                    known.add(name_key(name))
                    yield name
        days = [(day.start, day.end) for day in find_dates(unit.text, unit.occurred_at)]
        for found in WEIGHED.finditer(unit.text):
            inside = any(start < found.end() and found.start() < end for start, end in days)
            if not inside and name_key(found[0]) not in known:
                known.add(name_key(found[0]))
                yield found[0]


def _speaker(unit: Unit) -> str:
    return unit.name or unit.role


def _fitting(text: str, embedder: Embedder) -> str:
    """The text, or as much of its beginning as the embedder reads."""
    while len(text) > _SURELY_SHORT and embedder.count_tokens([text])[0] > embedder.max_tokens:
        text = text[: max(_SURELY_SHORT, len(text) // 2)]
    return text
