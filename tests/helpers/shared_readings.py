"""What the trained networks read in a stretch of text or in a question, shared by the stores of one process.

A `FactReader` reads each stretch alone, so that what it states depends on nothing but the stretch, its context and the
days on which they were said. Tests tell many stores the same sentences and ask them the same questions, and the
networks take up to half the time of a `flush()`: each is read once.
The library shares nothing: programs seldom read a text twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, wraps

from nscma_torch.reading.fact_reader import FactReader, MessageFacts
from nscma_torch.reading.question_network import AskedRelation, QuestionNetwork
from nscma_torch.reading.reader_input import InputPassage

_KEPT = 20_000  # readings; all tests of one process have fewer


def share() -> None:
    """Have each reader that reads one stretch or question from now on use what it has read before."""
    read, read_question = FactReader.read, QuestionNetwork.read

    @lru_cache(maxsize=_KEPT)
    def of_stretch(reader: FactReader, stretch: tuple[InputPassage, ...]) -> MessageFacts:
        return read(reader, [stretch])[0]

    @wraps(read)
    def shared(reader: FactReader, messages: Sequence[Sequence[InputPassage]]) -> list[MessageFacts]:
        if len(messages) != 1:
            return read(reader, messages)
        return [of_stretch(reader, tuple(_of_its_day(passage) for passage in messages[0]))]

    @lru_cache(maxsize=_KEPT)
    def of_question(network: QuestionNetwork, question: str) -> AskedRelation:
        return read_question(network, question)

    @wraps(read_question)
    def shared_question(network: QuestionNetwork, question: str) -> AskedRelation:
        return of_question(network, question)

    FactReader.read = shared  # type: ignore[method-assign]
    QuestionNetwork.read = shared_question  # type: ignore[method-assign]


def _of_its_day(passage: InputPassage) -> InputPassage:
    """The passage as the networks read it: the hour of a message is not in their input."""
    if passage.said_at is None:
        return passage
    return replace(passage, said_at=passage.said_at.replace(hour=0, minute=0, second=0, microsecond=0, fold=0))
