"""What tests of systems share: a run without weights, a reader that shows what it was handed, and a conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from eval.harness.contract import Cost, Keep, Passage, Reply, Session, Shared
from eval.harness.fakes import IndifferentSurpriseModel
from eval.systems.catalogue import make_system
from nscma_torch.core.errors import EngineError
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import LanguageEngine, Request, Token, Turn
from nscma_torch.llm.engines.contract import Reply as EngineReply
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

BEGUN = datetime(2024, 3, 1, 9, tzinfo=UTC)
ASKED = BEGUN + timedelta(days=60)
SAID = (
    "I live in Lisbon with my sister Ana.",
    "My dog is called Biscuit.",
    "The kiln is set to 900 degrees.",
    "I have never fired porcelain before.",
    "I moved to Porto last week.",
    "The kiln is now set to 1100 degrees.",
)


def conversation(said: Sequence[str] = SAID) -> list[Message]:
    """One user says these things, a day apart."""
    return [Message("user", text, BEGUN + timedelta(days=day), name="Rita") for day, text in enumerate(said)]


@dataclass
class ShowingReader:
    """Answers with the texts it was handed, and rests on all of their places.

    Attributes:
        handed: passages of each question so far.
        kept: which of them each question wants where not all fit.
    """

    handed: list[list[Passage]] = field(default_factory=list)
    kept: list[Keep] = field(default_factory=list)

    def begin(self, summary_words: int) -> None:
        """A text is shown whole, whatever is asked for."""

    def answer(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        options: Sequence[str],
        now: datetime,
        keep: Keep = "first",
    ) -> Reply:
        """All texts, or the last of the options that one of them holds."""
        assert question and now.tzinfo is not None
        self.handed.append(list(passages))
        self.kept.append(keep)
        places = tuple(dict.fromkeys(passage.place for passage in passages))
        chosen = [option for option in options if any(option in passage.text for passage in passages)]
        text = chosen[-1] if chosen else " | ".join(passage.text for passage in passages)
        return Reply(text, not passages, places, cost=Cost(1, 2, 3, {"read": 0.5}))

    def forget(self) -> None:
        """Nothing is kept from one question to the next."""


def shared(config: Mapping[str, Any] | None = None, engine: LanguageEngine | None = None) -> Shared:
    """What a run shares."""
    everything = {"gate": {"rule": "everything"}, "embedder": {"model": "hash"}}
    return Shared(
        {**everything, **(config or {})}, HashEmbedder(), IndifferentSurpriseModel(), engine, ShowingReader(), 1
    )


def places(reply: Reply) -> tuple[int, ...]:
    """Of its evidence, of which there is a ranking."""
    assert reply.evidence is not None
    return reply.evidence


@contextmanager
def reading(section: Mapping[str, Any], run: Shared, folder: Path, messages: Sequence[Message]) -> Iterator[Session]:
    """A session of a system that has read the messages."""
    folder.mkdir(parents=True, exist_ok=True)
    with make_system(section, run).open(folder) as session:
        session.read(messages)
        yield session


class Scripted:
    """A language engine that writes what a function makes of each request.

    Attributes:
        asked: requests so far, in order.
    """

    name = "scripted"
    context = 8192

    def __init__(self, write: Callable[[Request], str]) -> None:
        self._write = write
        self.asked: list[Request] = []

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """One for four characters."""
        return [sum(len(turn.content) for turn in turns) // 4 for turns in prompts]

    def generate(self, requests: Sequence[Request]) -> list[EngineReply | EngineError]:
        """A reply for each, of 10 and 2 tokens."""
        self.asked += requests
        return [EngineReply(self._write(request), 10, 2, True) for request in requests]

    def close(self) -> None:
        """The run's engine is the run's to close."""
        raise AssertionError("a system closed the engine of the run")


class Clerk:
    """A language engine that fills every form with little: it reads no facts, and answers after one search.

    Attributes:
        asked: requests so far, by the name of their form, "" for free text.
        limits: most tokens of each reply, and its temperature.
    """

    name = "clerk"
    context = 8192

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.limits: list[tuple[int, float]] = []

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """One for four characters."""
        return [sum(len(turn.content) for turn in turns) // 4 for turns in prompts]

    def generate(self, requests: Sequence[Request]) -> list[EngineReply | EngineError]:
        """The same for each form; a summary in free text is the last line that it is shown."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> EngineReply:
        form = "" if request.schema is None else str(request.schema["title"])
        self.asked.append(form)
        self.limits.append((request.max_tokens, request.temperature))
        searched = '"done"' in request.turns[-1].content
        replies: dict[str, Any] = {
            "DraftForm": {"known": False, "text": "?"},
            "Act": {"act": {"action": "answer", "text": "Biscuit", "evidence": [1]}}
            if searched
            else {"act": {"action": "retrieve_episodic", "query": "dog called"}},
            "ExtractionOfSchema": {"statements": [], "notes": []},
            "BoundedSummary": {"summary": "A life."},
            "ContainedForm": {"contain_answer": True},
            "ShortAnswerForm": {"short_answer": "Biscuit"},
            "TextForm": {"text": "Biscuit"},
        }
        text = json.dumps(replies[form]) if form else request.turns[-1].content.split("\n")[-3]
        tokens = tuple(Token(piece, -0.1) for piece in text) if request.logprobs else ()
        return EngineReply(text, 10, 2, True, tokens)

    def close(self) -> None:
        """The run's engine is the run's to close."""
        raise AssertionError("a system closed the engine of the run")
