"""Build structured records for English messages with trained classifiers instead of a language model.

The type is the class that `MemoryTypes` assigns to the most salient informative sentence, or "question" if that
sentence ends in a question mark. Entities are the people, places and things in the message's statements, followed by
capitalised names. Another speaker's earlier question is settled if the trained reader finds its answer in the message.
The speaker's own earlier problem is settled if the message states that a problem is solved. Completion of plans isn't
detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from torch import Tensor

from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import ROLES, Description, Extraction, Unit
from nscma_torch.reading.cues import salience
from nscma_torch.reading.memory_types import CLASSES, SOLVED, MemoryTypes
from nscma_torch.reading.question_pairs import ANSWERED
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage, asked_by
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.sentiment import sentiment
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.capitalised import WEIGHED
from nscma_torch.text.names import name_key
from nscma_torch.text.pronouns import FIRST_PERSON, SECOND_PERSON
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences

_MARKS = ("?", "？")
# What has a resolution is none on a mere suspicion: least probability of a class.
_SURE: Mapping[str, float] = MappingProxyType(dict.fromkeys(("question", "problem", SOLVED), 0.5))
_OTHERS = frozenset({"number", "date", "deed", "trait"})  # shapes of objects that are no entities
_MOST_WORDS = 4  # of an entity: a longer object is a clause
_SURELY_SHORT = 200  # characters: no more tokens than these, with the special ones, fit any embedder


class _Sentence(NamedTuple):
    text: str
    kind: str  # of `CLASSES`


class Descriptions:
    """Describes messages.

    Args:
        types: classifies sentences.
        embedder: the embedder whose vectors `types` was trained on.
        reader: decides whether questions are answered; if None, all stay open.
        schema: defines the relations used by the statements.
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
        """Describe each unit; the result is None for a text without words or in a script other than Latin."""
        return [
            self._described(*one) if script(one[0].text) == "latin" else None
            for one in zip(units, extractions, listeners, before, strict=True)
        ]

    def _described(self, unit: Unit, extraction: Extraction, listener: str, before: Sequence[Unit]) -> Description:
        main = self._main(unit.text)
        return Description(
            "problem" if main.kind == SOLVED else main.kind,  # type: ignore[arg-type]
            tuple(self._entities(unit, extraction, listener)),
            sentiment(unit.text),
            settled=main.kind == SOLVED,
            settles=tuple(
                place for place in range(len(before)) if self._settles(unit, before[place:], solved=main.kind == SOLVED)
            ),
        )

    def _main(self, text: str) -> _Sentence:
        """Return the sentence that determines the message's type."""
        texts = [text[span.start : span.end] for span in split_sentences(text)]
        told = [one for one in texts if not one.endswith(_MARKS)]
        kinds = iter(self._kinds(told))
        sentences = [_Sentence(one, "question" if one.endswith(_MARKS) else next(kinds)) for one in texts]
        telling = [one for one in sentences if one.kind != "remark"] or sentences
        return max(telling, key=lambda one: salience(one.text))

    def _kinds(self, texts: Sequence[str]) -> list[str]:
        """Return the most likely class of each sentence without a question mark.

        Classes in `_SURE` need a minimum probability.

        Each message's sentences are embedded on their own, so the result doesn't depend on other messages.
        """
        if not texts:
            return []
        found = self._types.probabilities(texts, self._vectors(texts))
        for name, least in _SURE.items():
            own = found[:, CLASSES.index(name)]
            own[own < least] = 0
        return [CLASSES[number] for number in found.argmax(1).tolist()]

    def _vectors(self, texts: Sequence[str]) -> Tensor:
        return self._embedder.embed([_fitting(text, self._embedder) for text in texts])

    def _settles(self, unit: Unit, turns: Sequence[Unit], *, solved: bool) -> bool:
        """Return True if a message settles the first of these turns; the other turns lie in between.

        `solved`: the message states that a problem is solved.
        """
        turn = turns[0]
        own = _speaker(turn) == _speaker(unit)
        if script(turn.text) != "latin" or (own and not solved) or (not own and self._reader is None):
            return False
        main = self._main(turn.text)
        return main.kind == "problem" if own else main.kind == "question" and self._answers(unit, main.text, turn)

    def _answers(self, unit: Unit, question: str, turn: Unit) -> bool:
        assert self._reader is not None
        passage = InputPassage(unit.text, _speaker(unit), unit.occurred_at)
        (read,) = self._reader().read([asked_by(_speaker(turn), f"{_speaker(unit)}, {question}")], [[passage]])
        return read.evidence[0] >= ANSWERED

    def _entities(self, unit: Unit, extraction: Extraction, listener: str) -> Iterator[str]:
        """Yield names in text order: first the names in statements, then all others."""
        known = {name_key(unit.name or ""), name_key(listener), *ROLES, *FIRST_PERSON, *SECOND_PERSON, ""}
        for statement in sorted(extraction.statements, key=lambda one: (one.start, -one.confidence)):
            shape = self._schema.shape(statement.relation)
            for name in (statement.subject, *(() if shape in _OTHERS else (statement.object,))):
                if name_key(name) not in known and len(name.split()) <= _MOST_WORDS:
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
    """Return the text, or only its beginning if it is too long for the embedder."""
    while len(text) > _SURELY_SHORT and embedder.count_tokens([text])[0] > embedder.max_tokens:
        text = text[: max(_SURELY_SHORT, len(text) // 2)]
    return text
