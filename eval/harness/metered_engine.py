"""A language engine that counts what it is asked and what it writes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from nscma_torch.core.errors import EngineError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine


@dataclass(frozen=True)
class Spent:
    """Requests and tokens so far; the difference of two is what lay between them."""

    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def since(self, before: Spent) -> Spent:
        """What was spent after another reading."""
        return Spent(
            self.llm_calls - before.llm_calls,
            self.tokens_in - before.tokens_in,
            self.tokens_out - before.tokens_out,
        )


class MeteredEngine(WrappedEngine):
    """`LanguageEngine` over another one; it does not stream.

    Attributes:
        spent: by everybody who has this engine. A request without a reply counts as a call without tokens; tokens that
            are counted are no call.
    """

    def __init__(self, engine: LanguageEngine) -> None:
        super().__init__(engine)
        self._lock = threading.Lock()
        self.spent = Spent()

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """One result for each request, in order."""
        results = super().generate(requests)
        replies = [result for result in results if isinstance(result, Reply)]
        with self._lock:
            self.spent = Spent(
                self.spent.llm_calls + len(requests),
                self.spent.tokens_in + sum(reply.prompt_tokens for reply in replies),
                self.spent.tokens_out + sum(reply.completion_tokens for reply in replies),
            )
        return results
