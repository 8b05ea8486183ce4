"""What a system spends: seconds by stage, and the calls and tokens of the shared language engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from eval.contract import Cost
from nscma_torch.errors import EngineError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, Turn


class MeteredEngine:
    """A `LanguageEngine` that counts what is asked of another one, which stays open when this one is closed.

    Attributes:
        calls, tokens_in, tokens_out: so far; what failed counts as a call.
    """

    def __init__(self, engine: LanguageEngine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self.calls = self.tokens_in = self.tokens_out = 0

    @property
    def name(self) -> str:
        """Engine and model."""
        return self._engine.name

    @property
    def context(self) -> int:
        """Most tokens of prompt and reply together."""
        return self._engine.context

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Tokens of each prompt."""
        return self._engine.count_tokens(prompts)

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """As the engine, counted."""
        results = self._engine.generate(requests)
        replies = [result for result in results if isinstance(result, Reply)]
        with self._lock:
            self.calls += len(results)
            self.tokens_in += sum(reply.prompt_tokens for reply in replies)
            self.tokens_out += sum(reply.completion_tokens for reply in replies)
        return results

    def close(self) -> None:
        """Nothing: others use the engine."""


class Meter:
    """Adds up what happens from now on: seconds inside `stage`, and everything that the engine is asked."""

    def __init__(self, engine: MeteredEngine | None = None) -> None:
        self._engine = engine
        self._before = self._counts()
        self._seconds: dict[str, float] = {}

    def _counts(self) -> tuple[int, int, int]:
        engine = self._engine
        return (0, 0, 0) if engine is None else (engine.calls, engine.tokens_in, engine.tokens_out)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the seconds inside the block to `name`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - began

    def cost(self) -> Cost:
        """What it came to by now."""
        calls, tokens_in, tokens_out = (now - then for now, then in zip(self._counts(), self._before, strict=True))
        return Cost(calls, tokens_in, tokens_out, dict(self._seconds))


def together(one: Cost, other: Cost) -> Cost:
    """Both costs, stages of one name added."""
    stages = dict.fromkeys((*one.seconds, *other.seconds))
    return Cost(
        one.llm_calls + other.llm_calls,
        one.tokens_in + other.tokens_in,
        one.tokens_out + other.tokens_out,
        {stage: one.seconds.get(stage, 0.0) + other.seconds.get(stage, 0.0) for stage in stages},
    )
