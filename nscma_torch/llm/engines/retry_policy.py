"""Timeouts, attempts and waiting times for requests to a server."""

from __future__ import annotations

import random
from dataclasses import dataclass

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError

ROUNDS = 3  # silences of full length that all attempts together may take


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

    def wait_after(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt, counted from 1: exponential backoff with full jitter.

        Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
        """
        return random.uniform(0.0, min(self.longest_wait, self.backoff * 2.0 ** (attempt - 1)))
