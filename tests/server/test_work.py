"""Calls of many users share the server's threads fairly."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

import pytest

pytest.importorskip("fastapi")

from nscma_torch.core.errors import OverloadedError
from nscma_torch.server.work import LOCAL, REQUEST_INFO, CallPool, RequestInfo


class Calls:
    """Calls that run until they are let go; `begun` lists them in the order in which they began."""

    def __init__(self, work: CallPool) -> None:
        self.work = work
        self.begun: list[str] = []
        self._gates: dict[str, threading.Event] = {}
        self._ended: dict[str, Future[None]] = {}

    def submit(self, *names: str, token: str = LOCAL, size: int = 0) -> None:
        """Hand in calls, each of the user that is named before the dot."""
        for name in names:
            self._gates[name] = threading.Event()
            REQUEST_INFO.set(RequestInfo(token, name.partition(".")[0], size))
            self._ended[name] = self.work._submit(self._call(name))

    def end(self, *names: str) -> None:
        """Let calls go, and wait until they and what follows them have moved on."""
        for name in names:
            self._gates[name].set()
            self._ended[name].result(10)
            with self.work._changed:
                self.work._changed.wait_for(lambda: all(not one.future.done() for one in self.work._running), 10)

    def close(self) -> None:
        """Let every call go."""
        for gate in self._gates.values():
            gate.set()
        self.work.close()

    def _call(self, name: str) -> Callable[[], None]:
        def call() -> None:
            self._gates[name].wait(10)

        return call

    @property
    def running(self) -> set[str]:
        """Users at work."""
        return {user for one in self.work._running for user in [one.user[1]]}


def test_one_user_never_has_all_threads_and_another_begins_at_once() -> None:
    calls = Calls(CallPool(8, 128))
    calls.submit(*(f"mallory.{i}" for i in range(60)))
    assert len(calls.work._running) == 4
    calls.submit("ana.0", "bo.0")
    assert calls.running == {"mallory", "ana", "bo"}
    calls.close()


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 12])
def test_one_token_leaves_threads_to_others_whatever_users_it_names(threads: int) -> None:
    calls = Calls(CallPool(threads, 128))
    calls.submit(*(f"user{i}.0" for i in range(40)), token="app")
    used = len(calls.work._running)
    assert used == max(threads - max(threads // 4, 1), 1)
    calls.submit("ana.0", token="ana")
    assert ("ana" in calls.running) == (threads > 1)
    calls.close()


def test_the_user_who_used_least_goes_first() -> None:
    calls = Calls(CallPool(1, 128))
    calls.submit("mallory.0", "mallory.1", "mallory.2", "ana.0")
    calls.end("mallory.0")
    assert calls.running == {"ana"}, "who has used nothing goes before who has"
    calls.submit("bo.0")
    calls.end("ana.0")
    assert calls.running == {"bo"}
    calls.close()


def test_long_calls_leave_half_of_the_threads_to_short_ones() -> None:
    calls = Calls(CallPool(4, 128))
    calls.submit(*(f"user{i}.0" for i in range(10)), size=100_000)
    assert len(calls.work._running) == 2
    calls.submit("ana.0", "bo.0", size=100)
    assert {"ana", "bo"} <= calls.running
    calls.close()


def test_calls_of_one_user_keep_their_order_while_others_go_on() -> None:
    calls = Calls(CallPool(4, 128, in_order=True))
    calls.submit("ana.0", size=100_000)
    calls.submit("ana.1", "bo.0", "bo.1")
    assert calls.running == {"ana", "bo"} and len(calls.work._running) == 2
    calls.end("ana.0")
    assert calls.running == {"ana", "bo"} and calls.work.pending == 3
    calls.close()


def test_the_queue_is_shared_too() -> None:
    calls = Calls(CallPool(2, 8))
    with pytest.raises(OverloadedError):
        calls.submit(*(f"mallory.{i}" for i in range(20)))
    calls.submit("ana.0", "bo.0", "eve.0")
    calls.close()


def test_errors_reach_whoever_waits_and_the_thread_is_free_again() -> None:
    work = CallPool(1, 4)

    async def run() -> int:
        with pytest.raises(ZeroDivisionError):
            await work.run(lambda: 1 // 0)
        return await work.run(lambda: 2)

    assert asyncio.run(run()) == 2 and work.pending == 0
    work.close()
