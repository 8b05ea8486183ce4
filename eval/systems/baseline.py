"""What all baselines have in common: they keep the passages that the product would, find some, and hand them to the
reader that all share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from eval.harness.contract import Cost, Keep, Passage, Reply, Session, Shared
from eval.harness.metered_engine import MeteredEngine
from eval.systems.costs import Meter, together
from eval.systems.documents import RANKED, default_chunker, passages_of, places_of
from nscma_torch.core.config import Section
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import LanguageEngine


@dataclass(frozen=True)
class Found:
    """What a question is answered from.

    Attributes:
        passages: those that are searched for best first, others in the order they were said.
        ranking: the best `RANKED`, of which `passages` are the first; None where nothing is ranked.
    """

    passages: Sequence[Passage]
    ranking: Sequence[Passage] | None = None


def best(ranking: Sequence[Passage], top_k: int) -> Found:
    """The first of a ranking are read."""
    return Found(ranking[:top_k], ranking[: max(RANKED, top_k)])


class Finder(Protocol):
    """What tells one baseline from another."""

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take in all passages, in order. Called once."""

    def find(self, question: str, now: datetime) -> Found:
        """The passages to answer from."""

    def store_bytes(self) -> int:
        """Of what is kept."""


MakeFinder = Callable[[Path, LanguageEngine | None], AbstractContextManager[Finder]]


class BaselineSession:
    """A finder at work on one sample. Asking leaves no trace: finders only read."""

    def __init__(self, finder: Finder, shared: Shared, engine: MeteredEngine | None) -> None:
        self._finder = finder
        self._shared = shared
        self._engine = engine

    def read(self, messages: Sequence[Message]) -> Cost:
        """Chunk the messages and keep them."""
        meter = Meter(self._engine)
        with meter.stage("ingest"):
            self._finder.keep(passages_of(messages, default_chunker(self._shared.embedder)))
        return meter.cost()

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        """Find passages and have them read; evidence is the ranking of their places, where there is one."""
        meter = Meter(self._engine)
        with meter.stage("retrieve"):
            found = self._finder.find(question, now)
        keep: Keep = "latest" if found.ranking is None else "first"
        reply = self._shared.reader.answer(question, found.passages, options=options, now=now, keep=keep)
        evidence = None if found.ranking is None else places_of(found.ranking)
        return replace(reply, evidence=evidence, cost=together(meter.cost(), reply.cost))

    def store_bytes(self) -> int:
        """Of what the finder keeps."""
        return self._finder.store_bytes()


class Baseline:
    """A system made of a finder.

    Args:
        make: the finder for an empty folder, with the engine that it may ask.
    """

    def __init__(self, name: str, options: Section, shared: Shared, make: MakeFinder) -> None:
        self.name = name
        self.options = options
        self._shared = shared
        self._make = make

    @contextmanager
    def open(self, folder: Path) -> Iterator[Session]:
        """A session that has read nothing."""
        engine = None if self._shared.engine is None else MeteredEngine(self._shared.engine)
        with self._make(folder, engine) as finder:
            yield BaselineSession(finder, self._shared, engine)


def text_bytes(passages: Sequence[Passage]) -> int:
    """UTF-8 bytes of the texts."""
    return sum(len(passage.text.encode()) for passage in passages)
