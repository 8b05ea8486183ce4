"""Search a chat for its questions, so that the reader learns from the passages that it is given in use."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from nscma_torch import Memory, Scope
from nscma_torch.answering.reader_qa import in_order
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Message
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.search.search_bounds import Bounds
from train.reader.dialogue_text import Dialogue

PASSAGES = 16  # more than are read in use, because `chat_examples` drops some
_MOMENT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Searched:
    """The passages for one question, in the order they were said.

    Attributes:
        passages: the hits, and as context the turns before them.
        numbers: the number of each passage's message, from 1.
    """

    passages: tuple[InputPassage, ...]
    numbers: tuple[int, ...]


def searched_passages(dialogue: Dialogue) -> Iterator[Searched]:
    """Store a dialogue with the default configuration, and take `PASSAGES` hits for each of its questions."""
    owner = dialogue.messages[0].speaker
    now = dialogue.messages[-1].said_at + _MOMENT
    messages = [Message(said.role, said.text, said.said_at, name=said.speaker) for said in dialogue.messages]
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "chat.db") as memory:
        added = memory.add_many(messages, user_id=owner, now=now)
        numbers = {item.id: number for number, item in enumerate(added, start=1)}
        parts = memory.components
        for question in dialogue.questions:
            found = parts.retriever.retrieve(question.text, Bounds(Scope(owner), now), top_k=PASSAGES)
            with parts.database.read(owner) as connection:
                hits, passages = in_order(connection, owner, found.hits, to_micros(now), owner)
            yield Searched(tuple(passages), tuple(numbers[hit.unit.episode_ids[0]] for hit in hits))
