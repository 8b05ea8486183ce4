"""An engine that wraps another one and forwards every call that a subclass doesn't override."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.errors import EngineError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, Turn


class WrappedEngine:
    """`LanguageEngine` that wraps `engine`, which is None if a subclass provides it later (`_inner`)."""

    def __init__(self, engine: LanguageEngine | None) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        """Return the names of the engine and the model."""
        return self._inner().name

    @property
    def context(self) -> int:
        """Return the maximum number of tokens in prompt and reply together."""
        return self._inner().context

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Count the tokens of each prompt."""
        return self._inner().count_tokens(prompts)

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order."""
        return self._inner().generate(requests)

    def close(self) -> None:
        """Close the wrapped engine."""
        self._inner().close()

    def _inner(self) -> LanguageEngine:
        """Return the wrapped engine."""
        assert self._engine is not None, "a subclass that begins without an engine says where it comes from"
        return self._engine
