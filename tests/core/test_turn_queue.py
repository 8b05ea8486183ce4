"""Threads of one process wait for their turn in the order in which they asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.database.sqlite_database import SqliteDatabase
from nscma_torch.core.database.turn_queue import TurnQueue, TurnQueues
from nscma_torch.core.errors import StoreBusyError


def test_first_come_first_served() -> None:
    queue, order = TurnQueue(), []

    def take(number: int) -> None:
        with queue:
            order.append(number)

    queue.acquire()
    threads = []
    for number in range(8):
        threads.append(threading.Thread(target=take, args=(number,)))
        threads[-1].start()
        while len(queue._waiting) <= number:
            time.sleep(0.001)
    queue.release()
    take(8)  # behind those who wait, though it held the turn a moment ago
    for thread in threads:
        thread.join()
    assert order == list(range(9))
    assert queue.acquire(0) and not queue.acquire(0.01)


def test_a_queue_lives_as_long_as_it_is_used() -> None:
    queues = TurnQueues()
    with queues.of("a"):
        assert not queues.of("a").acquire(0) and queues.of("b").acquire(0)
    assert queues.of("a").acquire(0)
    assert not queues._queues


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], SqliteDatabase]:
    return lambda: SqliteDatabase(tmp_path / "store.db", busy_timeout=0.05)


def test_writers_of_one_process_queue_for_longer_than_the_busy_timeout(
    opened: Callable[[], SqliteDatabase],
) -> None:
    one, other, wrote = opened(), opened(), threading.Event()

    def write() -> None:
        with other.write(ALL_USERS):
            wrote.set()

    with one.write(ALL_USERS):
        waiting = threading.Thread(target=write)
        waiting.start()
        assert not wrote.wait(0.3)
        with pytest.raises(StoreBusyError, match="another thread of this process"), other.write(ALL_USERS, wait=0.01):
            pass
    assert wrote.wait(10)
    waiting.join()
