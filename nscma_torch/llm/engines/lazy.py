"""An engine that starts when it is first asked: a memory that only searches needs no server and loads no model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from nscma_torch.errors import EngineError, EngineUnavailableError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, StreamingEngine, Token, Turn


class LazyEngine:
    """`LanguageEngine` that another one is made for.

    Args:
        name: engine and model, as far as they are known before it starts.
        make: starts it; what it raises is raised by whatever needed it, and the next call tries again.
    """

    def __init__(self, name: str, make: Callable[[], LanguageEngine]) -> None:
        self._name = name
        self._make = make
        self._engine: LanguageEngine | None = None
        self._closed = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Engine and model."""
        return self._engine.name if self._engine is not None else self._name

    @property
    def context(self) -> int:
        """Most tokens of prompt and reply together."""
        return self.started().context

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Tokens of each prompt."""
        return self.started().count_tokens(prompts)

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """One result for each request, in order."""
        return self.started().generate(requests)

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


class LazyStreamingEngine(LazyEngine):
    """`StreamingEngine` that another one is made for."""

    def stream(self, request: Request) -> Iterator[Token]:
        """Tokens of a reply, in order."""
        engine = self.started()
        assert isinstance(engine, StreamingEngine), f"{engine.name} was chosen as one that streams"
        return engine.stream(request)
