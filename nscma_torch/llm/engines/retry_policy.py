"""Retry requests to a server: timeouts, attempts, and the waits between them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError, EngineUnavailableError

T = TypeVar("T")
ROUNDS = 3  # silences of full length that all attempts together may take
TOO_SLOW = "raise llm.timeout, or see whether the server at llm.base_url has too much to do"


class PassingError(Exception):
    """A failure that may be temporary.

    Attributes:
        advice: instruction for the user, shown if the retries fail.
        least: seconds that the server asks to wait.
    """

    def __init__(self, reason: str, advice: str, least: float = 0.0) -> None:
        super().__init__(reason)
        self.advice = advice
        self.least = least


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts and retries for one request.

    Attributes:
        connect: seconds to establish a connection.
        read: maximum seconds without receiving a byte. A server that doesn't stream sends nothing until the whole reply
            is written.
        total: maximum seconds for all attempts and the waits between them, excluding time spent queueing for a free
            slot.
        attempts: maximum number of attempts.
        backoff: maximum seconds of the first wait; doubled for each further wait.
        longest_wait: maximum seconds of any wait, unless the server asks for more.
    """

    connect: float = 5.0
    read: float = LlmConfig().timeout
    total: float = ROUNDS * LlmConfig().timeout
    attempts: int = LlmConfig().attempts
    backoff: float = 0.5
    longest_wait: float = 30.0

    def __post_init__(self) -> None:
        if min(self.connect, self.read, self.total) <= 0 or min(self.backoff, self.longest_wait) < 0:
            raise ConfigError(f"timeouts must be above 0 s, and waits at least 0 s: {self}")
        if self.attempts < 1:
            raise ConfigError(f"attempts must be at least 1, not {self.attempts}")

    async def run(self, url: str, once: Callable[[], Awaitable[T]]) -> T:
        """Send a request until it succeeds, fails with another error than `PassingError`, or the policy ends."""
        clock = asyncio.get_running_loop().time
        give_up = clock() + self.total
        for attempt in range(1, self.attempts + 1):
            try:
                async with asyncio.timeout_at(give_up):
                    return await once()
            except PassingError as error:
                reason, advice, least = str(error), error.advice, error.least
            except TimeoutError:
                reason, advice, least = f"no whole response within {self.total:g} s", TOO_SLOW, 0.0
            wait = max(self.wait_after(attempt), least)
            if attempt == self.attempts or clock() + wait >= give_up:
                break
            await asyncio.sleep(wait)
        asked = f"; it asks to wait {least:.0f} s" if least else ""
        raise EngineUnavailableError(f"{url} failed (attempts: {attempt}): {reason}{asked}; {advice}")

    def wait_after(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt, counted from 1: exponential backoff with full jitter.

        Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
        """
        return random.uniform(0.0, min(self.longest_wait, self.backoff * 2.0 ** (attempt - 1)))
