"""What the trained networks read in a stretch of text, shared by the stores of one process.

A `FactReader` reads each stretch alone, so that what it states depends on nothing but the stretch and its context.
Tests tell many stores the same sentences, and the networks take up to half the time of a `flush()`: each is read once.
The library shares nothing: programs seldom read a text twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, wraps

from nscma_torch.reading.fact_reader import FactReader, MessageFacts
from nscma_torch.reading.reader_input import InputPassage

_KEPT = 20_000  # readings; all tests of one process have fewer


def share() -> None:
    """Have each reader that reads one stretch from now on use what it has read before."""
    read = FactReader.read

    @lru_cache(maxsize=_KEPT)
    def of_stretch(reader: FactReader, stretch: tuple[InputPassage, ...]) -> MessageFacts:
        return read(reader, [stretch])[0]

    @wraps(read)
    def shared(reader: FactReader, messages: Sequence[Sequence[InputPassage]]) -> list[MessageFacts]:
        return [of_stretch(reader, tuple(messages[0]))] if len(messages) == 1 else read(reader, messages)

    FactReader.read = shared  # type: ignore[method-assign]
