"""An engine that starts when it is first asked: a memory that only searches needs no server and loads no model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.llm.engines.contract import LanguageEngine, Request, StreamingEngine, Token
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine


class LazyEngine(WrappedEngine):
    """`LanguageEngine` that another one is made for.

    Args:
        name: engine and model, as far as they are known before it starts.
        make: starts it; what it raises is raised by whatever needed it, and the next call tries again.
    """

    def __init__(self, name: str, make: Callable[[], LanguageEngine]) -> None:
        super().__init__(None)
        self._name = name
        self._make = make
        self._closed = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Engine and model."""
        return self._engine.name if self._engine is not None else self._name

    @property
    def configured(self) -> str:
        """Engine and model as far as the configuration names them: the same before it started and after."""
        return self._name

    def close(self) -> None:
        """Close it where it has started; it starts no more."""
        with self._lock:
            self._closed = True
            if self._engine is not None:
                self._engine.close()

    def started(self) -> LanguageEngine:
        """The engine that was made; it is this one's to close."""
        with self._lock:
            if self._closed:
                raise EngineUnavailableError(f"the engine {self._name} was closed")
            if self._engine is None:
                self._engine = self._make()
            return self._engine

    def _inner(self) -> LanguageEngine:
        return self.started()


class LazyStreamingEngine(LazyEngine):
    """`StreamingEngine` that another one is made for."""

    def stream(self, request: Request) -> Iterator[Token]:
        """Tokens of a reply, in order."""
        engine = self.started()
        assert isinstance(engine, StreamingEngine), f"{engine.name} was chosen as one that streams"
        return engine.stream(request)
