"""Calls of the memory in threads of their own, never on the event loop; so many at once, and so many that wait."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar

from fastapi import Response
from pydantic import TypeAdapter

from nscma_torch.errors import OverloadedError

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """A pool of threads with a bounded queue.

    Args:
        threads: calls that run at once.
        waiting: calls that may wait; one more raises `OverloadedError`.

    Attributes:
        pending: calls that run or wait.
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self._most = threads + waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="nscma call")
        self.pending = 0

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the call returns. It is run to its end even where nobody waits for it any more.

        Raises `OverloadedError` where too many wait already.
        """
        if self.pending >= self._most:
            raise OverloadedError("the server is at the limit of its work; try again in a moment")
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._pool, partial(context.run, partial(call, *args, **kwargs)))
        self.pending += 1
        future.add_done_callback(self._done)
        return await asyncio.shield(future)

    def begin(self, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run a call whose outcome nobody waits for."""
        self._pool.submit(call, *args, **kwargs)

    async def json(self, kind: Any, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Response:
        """What the call returns as an answer in JSON, written in the same thread: lists can be long.

        `kind` is the type that it is written by, and the `response_model` of the endpoint.
        """

        def written() -> bytes:
            return _adapter(kind).dump_json(call(*args, **kwargs))

        return Response(await self.run(written), media_type="application/json")

    def _done(self, future: asyncio.Future[T]) -> None:
        self.pending -= 1
        if not future.cancelled():
            future.exception()  # nobody may be there to hear it

    def close(self) -> None:
        """Wait for what runs and what waits."""
        self._pool.shutdown(wait=True)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
