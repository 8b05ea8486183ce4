"""An answer of the model's server, passed on piece by piece as it comes; what it said is handed over when it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

import httpx2
from fastapi import Response
from starlette.types import Message, Receive, Scope, Send

from nscma_torch.errors import EngineUnavailableError
from nscma_torch.server.problems import problem
from nscma_torch.server.proxy.reply import Reply
from nscma_torch.server.proxy.upstream_server import headers_back

log = logging.getLogger("nscma.server.proxy")
Ended = Callable[[str], Awaitable[None]]


class Relay(Response):
    """Sends a request on, and its answer back.

    Args:
        headers: added to the answer's.
        ended: called with the text of the reply once the answer has ended, in the middle too: where the client leaves,
            or the model's server breaks off. Not after an answer that is an error, or none.
        most: bytes of an answer that are read for the text.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        request: httpx2.Request,
        headers: Mapping[str, str],
        *,
        ended: Ended | None = None,
        most: int = 0,
    ) -> None:
        super().__init__()
        self._client = client
        self._request = request
        self._added = headers
        self._ended = ended
        self._most = most
        self._reply = Reply("", most)
        self._refused = False
        self._whole = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        passing = asyncio.create_task(self._pass_on(scope, receive, send))
        leaving = asyncio.create_task(_left(receive))
        both = (passing, leaving)
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.wait(both)
            if self._ended is not None and not self._refused:
                if self._reply.too_large:
                    log.warning("a reply was not stored: its answer has more than %d bytes", self._most)
                await self._ended(self._reply.text)
        if not passing.cancelled():
            passing.result()
        if self._whole:  # the answer ends once it is stored; one that was broken off is left without an end
            await send({"type": "http.response.body", "body": b""})

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._client.send(self._request, stream=True)
        except httpx2.RequestError as error:
            self._refused = True
            log.warning("the upstream gave no answer: %s %s", type(error).__name__, error)
            refusal = problem(_away(error))
            refusal.headers.update(self._added)
            await refusal(scope, receive, send)
            return
        try:
            self._refused = not answer.is_success
            self._reply = Reply(answer.headers.get("content-type", ""), self._most)
            await send(self._head(answer))
            async for piece in answer.aiter_bytes():
                self._reply.feed(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            self._whole = True
        except httpx2.RequestError as error:
            log.warning("the upstream broke off: %s %s", type(error).__name__, error)
        finally:
            await answer.aclose()

    def _head(self, answer: httpx2.Response) -> Message:
        headers = [*headers_back(answer), *self._added.items()]
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return {"type": "http.response.start", "status": answer.status_code, "headers": encoded}


def _away(error: httpx2.RequestError) -> EngineUnavailableError:
    """What a client is told of a model's server without an answer; not its address."""
    if isinstance(error, httpx2.ReadTimeout):
        return EngineUnavailableError("the model's server sent nothing for upstream.silence seconds; try again later")
    return EngineUnavailableError("the model's server is not reached; start it, or name another one with --upstream")


async def _left(receive: Receive) -> None:
    """Wait until the client is gone. Its body was read before."""
    while (await receive())["type"] != "http.disconnect":
        continue
