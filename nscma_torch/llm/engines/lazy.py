"""An engine that starts on first use, so a memory that only searches needs no server and loads no model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.llm.engines.contract import LanguageEngine, Request, StreamingEngine, Token
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine


class LazyEngine(WrappedEngine):
    """A `LanguageEngine` that creates another one on first use.

    Args:
        name: the engine and, if known before it starts, the model.
        make: starts the engine. Errors are raised by the call that needed the engine, and the next call tries again.
    """

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
        engine = self.started()
        assert isinstance(engine, StreamingEngine), f"{engine.name} was chosen as one that streams"
        return engine.stream(request)
