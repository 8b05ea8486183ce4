"""A provider of the open agent-memory-benchmark (vectorize-io/agent-memory-benchmark, `MemoryProvider`) as a system.

A provider stores documents and finds some again; it need know nothing of this harness:

    class Mine:
        def ingest(self, documents): ...                                  # each has id, content, user_id, timestamp
        def retrieve(self, query, k=10, user_id=None, query_timestamp=None):
            return documents, None                                        # best first; the second is not looked at

Each message is a document, with its speaker before its text, and its place as id. `initialize()`, `cleanup()` and
`prepare(store_dir, unit_ids, reset)` are called where there are. What it finds goes to the run's reader; a document
whose id was not ingested is read as it is, and stands for no place.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from eval.harness.contract import Cost, Passage, Reply, Session, Shared
from eval.systems.costs import Meter, together
from eval.systems.documents import RANKED, UNDATED, said
from eval.systems.files import folder_bytes
from eval.systems.options import options_of
from nscma_torch.core.config import Section
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

_USER = "reader"


@dataclass
class Document:
    """A document as the benchmark has it: what providers read of it, under the same names."""

    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, Any]] | None = None
    timestamp: str | None = None
    context: str | None = None


@runtime_checkable
class MemoryProvider(Protocol):
    """What a provider must have."""

    def ingest(self, documents: list[Any]) -> None:
        """Store documents."""

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Any], Any]:
        """The documents that fit a query best, best first, and the raw response."""


class ProviderOptions(Section):
    """Options of a provider."""

    top_k: int = Field(10, gt=0, description="Documents that are read.")
    arguments: dict[str, Any] = Field({}, description="Of the class.")


class ProviderSession:
    """A provider at work on one sample."""

    def __init__(self, provider: MemoryProvider, options: ProviderOptions, shared: Shared, folder: Path) -> None:
        self._provider = provider
        self._options = options
        self._shared = shared
        self._folder = folder
        self._passages: dict[str, Passage] = {}

    def read(self, messages: Sequence[Message]) -> Cost:
        """Hand all messages over as documents."""
        passages = [
            Passage(place, message, message.content)
            for place, message in enumerate(messages)
            if message.content.strip()
        ]
        self._passages = {str(passage.place): passage for passage in passages}
        meter = Meter()
        with meter.stage("ingest"):
            self._provider.ingest([_document(passage) for passage in passages])
        return meter.cost()

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        """Retrieve and have it read; evidence are the places of all that it found."""
        meter, most = Meter(), max(RANKED, self._options.top_k)
        with meter.stage("retrieve"):
            found, _ = self._provider.retrieve(question, most, _USER, now.astimezone(UTC).isoformat())
        passages = [self._passage(document) for document in found[: self._options.top_k]]
        reply = self._shared.reader.answer(question, passages, options=options, now=now)
        places = [self._passages[document.id].place for document in found if document.id in self._passages]
        return replace(reply, evidence=tuple(dict.fromkeys(places)), cost=together(meter.cost(), reply.cost))

    def _passage(self, document: Any) -> Passage:
        known = self._passages.get(document.id)
        if known is not None:
            return known
        at = UNDATED if document.timestamp is None else datetime.fromisoformat(document.timestamp)
        return Passage(-1, Message("document", document.content, at), document.content)

    def store_bytes(self) -> int:
        """Of the files in its folder."""
        return folder_bytes(self._folder)


def _document(passage: Passage) -> Document:
    at = passage.message.timestamp
    stamp = None if at is None else at.astimezone(UTC).isoformat()
    turn = {"role": passage.message.role, "content": passage.text, "name": passage.message.name}
    return Document(str(passage.place), said(passage), _USER, [turn], stamp)


class ProviderSystem:
    """A class of providers; each sample has one of its own."""

    def __init__(self, name: str, made: Any, options: ProviderOptions, shared: Shared) -> None:
        self.name = name
        self.options = options
        self._made = made
        self._shared = shared

    @contextmanager
    def open(self, folder: Path) -> Iterator[Session]:
        """A session with an empty provider, which is cleaned up at the end."""
        provider = self._made(**self.options.arguments)
        if not isinstance(provider, MemoryProvider):
            raise ConfigError(f"system {self.name!r}: {type(provider).__name__} has no ingest and retrieve")
        _call(provider, "initialize")
        try:
            _call(provider, "prepare", folder, {_USER}, True)
            yield ProviderSession(provider, self.options, self._shared, folder)
        finally:
            _call(provider, "cleanup")


def _call(provider: object, name: str, *arguments: object) -> None:
    """Call one of its hooks, where it has it, with as many of the arguments as it takes."""
    hook = getattr(provider, name, None)
    if hook is not None:
        taken = len(inspect.signature(hook).parameters)
        hook(*arguments[:taken])


def is_provider(made: object) -> bool:
    """Whether a class is one of providers."""
    return hasattr(made, "ingest") and hasattr(made, "retrieve")


def make_provider(made: Any, section: Mapping[str, Any], shared: Shared) -> ProviderSystem:
    """A system of a class of providers."""
    return ProviderSystem(section["name"], made, options_of(ProviderOptions(), section), shared)
