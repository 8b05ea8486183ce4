"""What all baselines have in common: they keep the passages that the product would, find some, and hand them to the
reader that all share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from eval.contract import Cost, Passage, Reply, Session, Shared
from eval.metered_engine import MeteredEngine
from eval.systems.costs import Meter, together
from eval.systems.documents import default_chunker, passages_of, places_of
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.records import Message


class Finder(Protocol):
    """What tells one baseline from another."""

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take in all passages, in order. Called once."""

    def find(self, question: str, now: datetime) -> Sequence[Passage]:
        """The passages to answer from; those that are searched for best first, others in the order they were said."""

    def store_bytes(self) -> int:
        """Of what is kept."""


@dataclass(frozen=True)
class Made:
    """A finder, and what is evidence: its ranking, what the reader rests on, or nothing, where nothing has a place."""

    finder: Finder
    evidence: Literal["ranking", "reader", "none"]


MakeFinder = Callable[[Path, LanguageEngine | None], AbstractContextManager[Made]]


class BaselineSession:
    """A finder at work on one sample. Asking leaves no trace: finders only read."""

    def __init__(self, made: Made, shared: Shared, engine: MeteredEngine | None) -> None:
        self._finder = made.finder
        self._evidence = made.evidence
        self._shared = shared
        self._engine = engine

    def read(self, messages: Sequence[Message]) -> Cost:
        """Chunk the messages and keep them."""
        meter = Meter(self._engine)
        with meter.stage("ingest"):
            self._finder.keep(passages_of(messages, default_chunker(self._shared.embedder)))
        return meter.cost()

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        """Find passages and have them read."""
        meter = Meter(self._engine)
        with meter.stage("retrieve"):
            passages = self._finder.find(question, now)
        reply = self._shared.reader.answer(question, passages, options=options, now=now)
        evidence = {"ranking": places_of(passages), "reader": reply.evidence, "none": ()}[self._evidence]
        return replace(reply, evidence=evidence, cost=together(meter.cost(), reply.cost))

    def store_bytes(self) -> int:
        """Of what the finder keeps."""
        return self._finder.store_bytes()


class Baseline:
    """A system made of a finder.

    Args:
        make: the finder for an empty folder, with the engine that it may ask.
    """

    def __init__(self, name: str, shared: Shared, make: MakeFinder) -> None:
        self.name = name
        self._shared = shared
        self._make = make

    @contextmanager
    def open(self, folder: Path) -> Iterator[Session]:
        """A session that has read nothing."""
        engine = None if self._shared.engine is None else MeteredEngine(self._shared.engine)
        with self._make(folder, engine) as made:
            yield BaselineSession(made, self._shared, engine)


def text_bytes(passages: Sequence[Passage]) -> int:
    """UTF-8 bytes of the texts."""
    return sum(len(passage.text.encode()) for passage in passages)
