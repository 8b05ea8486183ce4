"""An engine around another one: it hands on whatever a subclass does not change."""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.errors import EngineError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, Turn


class WrappedEngine:
    """`LanguageEngine` over `engine`; None where a subclass finds it later (`_inner`)."""

    def __init__(self, engine: LanguageEngine | None) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        """Engine and model."""
        return self._inner().name

    @property
    def context(self) -> int:
        """Most tokens of prompt and reply together."""
        return self._inner().context

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Tokens of each prompt."""
        return self._inner().count_tokens(prompts)

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """One result for each request, in order."""
        return self._inner().generate(requests)

    def close(self) -> None:
        """Close the other engine."""
        self._inner().close()

    def _inner(self) -> LanguageEngine:
        """The other engine."""
        assert self._engine is not None, "a subclass that begins without an engine says where it comes from"
        return self._engine
