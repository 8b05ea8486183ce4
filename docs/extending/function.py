# nscma_torch/llm/engines/function.py
"""A language engine that is a function from turns and a JSON schema to a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nscma_torch.core.errors import EngineError, EngineUnavailableError
from nscma_torch.llm.engines.contract import Reply, Request, Turn, most_tokens


class FunctionEngine:
    """Call `function(turns, schema)` for each request; its OSError means that the model is unreachable."""

    def __init__(
        self, function: Callable[[Sequence[Turn], Mapping[str, Any] | None], str], *, context: int = 8192
    ) -> None:
        self._function = function
        self._context = context

    @property
    def name(self) -> str:
        return f"function/{self._function.__name__}"

    @property
    def context(self) -> int:
        return self._context

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        return [most_tokens(turns) for turns in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply | EngineError:
        try:
            text = self._function(request.turns, request.schema)
        except OSError as error:
            return EngineUnavailableError(f"{self.name}: {error}")
        return Reply(text, most_tokens(request.turns), len(text.encode()), finished=True)

    def close(self) -> None:
        """Nothing to release."""
