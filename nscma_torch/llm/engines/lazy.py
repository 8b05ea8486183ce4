"""An engine that starts on first use, so a memory that only searches needs no server and loads no model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from nscma_torch.core.errors import EngineError, EngineUnavailableError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, StreamingEngine, Token
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine


class CallObserver(Protocol):
    """Makes an engine's calls, and observes them. `name` returns the engine's name."""

    def generate(
        self, name: Callable[[], str], requests: Sequence[Request], call: Callable[[], list[Reply | EngineError]]
    ) -> list[Reply | EngineError]:
        """Return what `call` returns for these requests."""

    def stream(self, name: Callable[[], str], request: Request, call: Callable[[], Iterator[Token]]) -> Iterator[Token]:
        """Yield what `call` yields for this request."""


class LazyEngine(WrappedEngine):
    """A `LanguageEngine` that creates another one on first use.

    Args:
        name: the engine and, if known before it starts, the model.
        make: starts the engine. Errors are raised by the call that needed the engine, and the next call tries again.

    Attributes:
        observer: makes the calls if it is set.
    """

    observer: CallObserver | None = None

    def __init__(self, name: str, make: Callable[[], LanguageEngine]) -> None:
        super().__init__(None)
        self._name = name
        self._make = make
        self._closed = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Return the names of the engine and the model."""
        return self._engine.name if self._engine is not None else self._name

    @property
    def configured(self) -> str:
        """Return the configured engine and model, which are the same before and after the start."""
        return self._name

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order."""
        if self.observer is None:
            return super().generate(requests)
        return self.observer.generate(lambda: self.name, requests, lambda: self.started().generate(requests))

    def close(self) -> None:
        """Close the engine if it has started, and prevent a later start."""
        with self._lock:
            self._closed = True
            if self._engine is not None:
                self._engine.close()

    def started(self) -> LanguageEngine:
        """Return the actual engine, starting it if needed. It is closed by `close`."""
        with self._lock:
            if self._closed:
                raise EngineUnavailableError(f"the engine {self._name} was closed")
            if self._engine is None:
                self._engine = self._make()
            return self._engine

    def _inner(self) -> LanguageEngine:
        return self.started()


class LazyStreamingEngine(LazyEngine):
    """A `StreamingEngine` that creates another one on first use."""

    def stream(self, request: Request) -> Iterator[Token]:
        """Yield tokens of a reply, in order."""
        if self.observer is None:
            return self._stream(request)
        return self.observer.stream(lambda: self.name, request, lambda: self._stream(request))

    def _stream(self, request: Request) -> Iterator[Token]:
        engine = self.started()
        assert isinstance(engine, StreamingEngine), f"{engine.name} was chosen as one that streams"
        return engine.stream(request)
