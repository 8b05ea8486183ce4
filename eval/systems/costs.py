"""What a system spends: seconds by stage, and the calls and tokens of the shared language engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from eval.caches.cached_time import KeptTime
from eval.harness.contract import Cost
from eval.harness.metered_engine import MeteredEngine, Spent


class Meter:
    """Adds up what happens from now on: seconds inside `stage`, and everything that the engine is asked."""

    def __init__(self, engine: MeteredEngine | None = None) -> None:
        self._engine = engine
        self._before = self._spent()
        self._seconds: dict[str, float] = {}

    def _spent(self) -> Spent:
        return Spent() if self._engine is None else self._engine.spent

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
        spent = self._spent().since(self._before)
        return Cost(spent.llm_calls, spent.tokens_in, spent.tokens_out, dict(self._seconds))


@contextmanager
def uncounted(time: KeptTime) -> Iterator[None]:
    """A block for measures alone, in no stage: what caches spare in it is not counted either."""
    before = time.spared
    try:
        yield
    finally:
        time.spare(before - time.spared)


def together(one: Cost, other: Cost) -> Cost:
    """Both costs, stages of one name added."""
    stages = dict.fromkeys((*one.seconds, *other.seconds))
    return Cost(
        one.llm_calls + other.llm_calls,
        one.tokens_in + other.tokens_in,
        one.tokens_out + other.tokens_out,
        {stage: one.seconds.get(stage, 0.0) + other.seconds.get(stage, 0.0) for stage in stages},
    )
