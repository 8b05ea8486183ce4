"""Run calls to the memory in separate threads, never on the event loop. Threads are shared fairly among tokens and
users.

Waiting calls start in the order of start-time fair queueing (Goyal et al. 1996): the token, then the user, that has
used the least time goes first. A user may start another call only while more threads are free than the user occupies
(dynamic thresholds, Choudhury and Hahne 1998), so a single user never has more than half of them; the queue is shared
by the same rule. Long calls together have at most half of the threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar

from fastapi import Response
from pydantic import TypeAdapter

from nscma_torch.core.errors import OverloadedError

P = ParamSpec("P")
T = TypeVar("T")
LOCAL = "local"  # the token of requests without one, which are all from this machine
_LONG = 1 << 14  # bytes of a request, from which on its calls count as long


@dataclass(slots=True)
class RequestInfo:
    """The request behind a call: its token, its user, and its size in bytes."""

    token: str = LOCAL
    user: str = ""
    size: int = 0


REQUEST_INFO: ContextVar[RequestInfo | None] = ContextVar("asked", default=None)


@dataclass(eq=False, slots=True)
class _Call:
    run: Callable[[], Any]
    token: str
    user: tuple[str, str]
    long: bool
    future: Future[Any] = field(default_factory=Future)


class CallPool:
    """A pool of threads with a bounded, fair queue.

    Args:
        threads: maximum concurrent calls.
        waiting: maximum waiting calls; any further call raises `OverloadedError`.
        in_order: run the calls of one user one at a time, in order of arrival.
    """

    def __init__(self, threads: int, waiting: int, *, in_order: bool = False) -> None:
        self._threads = threads
        self._most_waiting = waiting
        self._in_order = in_order
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="nscma call")
        self._changed = threading.Condition()
        self._waiting: list[_Call] = []
        self._running: list[_Call] = []
        self._used = _Used()

    @property
    def pending(self) -> int:
        """Count the calls running or waiting."""
        return len(self._running) + len(self._waiting)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call and return its result. The call completes even if nobody is waiting for it anymore.

        Raises `OverloadedError` if too many calls are already waiting.
        """
        context = contextvars.copy_context()
        future = self._submit(partial(context.run, partial(call, *args, **kwargs)))
        return await asyncio.shield(asyncio.wrap_future(future))

    def begin(self, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run a call in the background, without waiting for its outcome."""
        self._submit(partial(call, *args, **kwargs))

    async def json(self, kind: Any, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Response:
        """Run a call and return its result as a JSON response. It is serialised in the same thread, since lists can be
        long.

        `kind` is the type used for serialisation, and the `response_model` of the endpoint. If it is a model, its
        fields are read from the result's attributes.
        """

        def written() -> bytes:
            adapter = _adapter(kind)
            return adapter.dump_json(adapter.validate_python(call(*args, **kwargs), from_attributes=True))

        return Response(await self.run(written), media_type="application/json")

    def close(self) -> None:
        """Wait for running and queued calls."""
        with self._changed:
            self._changed.wait_for(lambda: not self.pending)
        self._pool.shutdown(wait=True)

    def _submit(self, run: Callable[[], T]) -> Future[T]:
        asked = REQUEST_INFO.get() or RequestInfo()
        call = _Call(run, asked.token, (asked.token, asked.user), asked.size >= _LONG)
        with self._changed:
            self._waiting.append(call)
            self._begin_next()
            if call in self._waiting and not self._may_wait(call):
                self._waiting.remove(call)
                raise OverloadedError("the server is overloaded; try again in a moment")
        return call.future

    def _may_wait(self, call: _Call) -> bool:
        others = [one for one in self._waiting if one is not call]
        left = self._most_waiting - len(others)
        if call.token != LOCAL and sum(one.token == call.token for one in others) >= _most(self._most_waiting):
            return False
        return sum(one.user == call.user for one in others) < left

    def _begin_next(self) -> None:
        """Start waiting calls in fair order, as long as any may start."""
        while ready := self._ready():
            call = min(ready, key=self._used.begin)  # of equal ones the first that came
            self._waiting.remove(call)
            self._running.append(call)
            self._used.begun(call)
            self._pool.submit(self._run, call)

    def _ready(self) -> list[_Call]:
        """Return the waiting calls that may start."""
        free = self._threads - len(self._running)
        if not (free and self._waiting):
            return []
        users, tokens = Counter(one.user for one in self._running), Counter(one.token for one in self._running)
        most_own, most_of_token = 1 if self._in_order else free, _most(self._threads)
        long = sum(one.long for one in self._running) < max(self._threads // 2, 1)
        waiting: Iterable[_Call] = self._waiting
        if self._in_order:
            waiting = {one.user: one for one in reversed(self._waiting)}.values()  # the first of each user
        return [
            one
            for one in waiting
            if users[one.user] < most_own
            and (one.token == LOCAL or tokens[one.token] < most_of_token)
            and (long or not one.long)
        ]

    def _run(self, call: _Call) -> None:
        began = time.monotonic()
        try:
            call.future.set_result(call.run())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the call gets it
            call.future.set_exception(error)
        finally:
            with self._changed:
                self._running.remove(call)
                self._used.ended(call, time.monotonic() - began)
                self._begin_next()
                if not self._waiting:
                    self._used = _Used()
                self._changed.notify_all()


class _Used:
    """Virtual times for tokens and users: when the next call of each is due, in seconds of work."""

    def __init__(self) -> None:
        self._now = (0.0, 0.0)
        self._tokens: dict[Any, float] = {}
        self._users: dict[Any, float] = {}

    def begin(self, call: _Call) -> tuple[float, float]:
        """Return when a call is due. For a user without recent calls, it is due at once."""
        token, user = self._now
        return max(token, self._tokens.get(call.token, 0.0)), max(user, self._users.get(call.user, 0.0))

    def begun(self, call: _Call) -> None:
        """Advance the virtual time to that of the starting call."""
        self._now = self.begin(call)

    def ended(self, call: _Call, seconds: float) -> None:
        """Charge a call's time to its token and user."""
        token, user = self.begin(call)
        self._tokens[call.token], self._users[call.user] = token + seconds, user + seconds
        for used, now in ((self._tokens, self._now[0]), (self._users, self._now[1])):
            for name in [name for name, at in used.items() if at <= now]:
                del used[name]


def _most(threads: int) -> int:
    """Return the maximum number of threads for one token. A quarter of the threads, and at least one, is left to
    others.
    """
    return max(threads - max(threads // 4, 1), 1)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
