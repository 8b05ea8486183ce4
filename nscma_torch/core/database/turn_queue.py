"""A first-come-first-served lock for the threads in this process."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakSet, WeakValueDictionary

from nscma_torch.core.errors import StoreBusyError


class _Waiter(NamedTuple):
    thread: int
    turn: threading.Event


class TurnQueue:
    """A lock that serves waiting threads in order of arrival, which `threading.Lock` doesn't guarantee."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()
        self._holder: int | None = None  # a thread

    def acquire(self, seconds: float | None = None) -> bool:
        """Wait up to `seconds` for this thread's turn; return False on timeout."""
        own = _Waiter(threading.get_ident(), threading.Event())
        with self._lock:
            if self._holder is None:
                self._holder = own.thread
                return True
            assert seconds is not None or self._holder != own.thread, "a thread would wait for itself"
            self._waiting.append(own)
        if own.turn.wait(seconds):
            return True
        with self._lock:
            if own.turn.is_set():
                return True
            self._waiting.remove(own)
        return False

    def release(self) -> None:
        """Pass the turn to the longest-waiting thread."""
        with self._lock:
            self._holder = None
            if self._waiting:
                first = self._waiting.popleft()
                self._holder = first.thread
                first.turn.set()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class TurnQueues:
    """A `TurnQueue` for each key, kept while in use. A forked child starts without any."""

    def __init__(self) -> None:
        self.forget()
        _every.add(self)

    def of(self, key: Hashable) -> TurnQueue:
        """Return the queue for a key; the caller must keep a reference until it releases its turn."""
        with self._lock:
            return self._queues.setdefault(key, TurnQueue())

    def forget(self) -> None:
        """Drop all queues."""
        self._lock = threading.Lock()
        self._queues: WeakValueDictionary[Hashable, TurnQueue] = WeakValueDictionary()


@contextmanager
def turn_of(queue: TurnQueue, name: str, wait: float | None = None) -> Iterator[float | None]:
    """Keep other threads in this process from writing to the store `name`; yield the seconds left to wait.

    Raises `StoreBusyError` if the turn doesn't come within `wait` seconds.
    """
    began = time.monotonic()
    if not queue.acquire(wait):
        raise StoreBusyError(f"another thread of this process is still writing to {name}; try again")
    try:
        yield None if wait is None else max(wait - (time.monotonic() - began), 0.0)
    finally:
        queue.release()


_every: WeakSet[TurnQueues] = WeakSet()
WRITERS = TurnQueues()  # by store: the threads of this process that write to it


def _after_fork_in_child() -> None:
    for queues in list(_every):
        queues.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
