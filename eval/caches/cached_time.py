"""Seconds that kept work took when it was done, so that a run on a warm cache reports what a cold one takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class KeptTime:
    """Adds up what caches spared.

    Whoever times something adds the change of `spared` to the wall-clock seconds. The caches of a run work one after
    the other (`timed`), so that what each took is its own: embedder and surprise model side by side would slow each
    other.

    Args:
        clock: gives the seconds.

    Attributes:
        spared: seconds that kept work took when it was done, less those it took to find it.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.spared = 0.0
        self._lock = threading.RLock()

    @contextmanager
    def timed(self) -> Iterator[Timed]:
        """A block in which one cache answers; it says what its answer took cold."""
        with self._lock:
            timed = Timed(self.clock())
            yield timed
            self.spared += timed.cold - (self.clock() - timed.began)

    def spare(self, seconds: float) -> None:
        """Count work that was not done again."""
        with self._lock:
            self.spared += seconds


class Timed:
    """One answer of a cache.

    Attributes:
        began: on the clock.
        cold: seconds that all parts of the answer took when they were made.
    """

    def __init__(self, began: float) -> None:
        self.began = began
        self.cold = 0.0
