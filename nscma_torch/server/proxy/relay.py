"""Forward an answer from the model's server as it arrives. Its end is sent once the exchange is stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

import httpx2
from fastapi import Response
from starlette.types import Message, Receive, Scope, Send

from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.server.problems import problem
from nscma_torch.server.proxy.answer_end import EventsEnd, WholeEnd
from nscma_torch.server.proxy.dialects import CHAT_COMPLETIONS, Dialect
from nscma_torch.server.proxy.reply import ReplyAssembler, is_stream
from nscma_torch.server.proxy.upstream_server import headers_back

log = logging.getLogger("nscma.server.proxy")
STORES = "x-nscma-stores"
_YES, _NO = "yes", "no"
_TOO_LARGE, _UNREADABLE = "failed; TextTooLargeError", "failed; MalformedInputError"
Ended = Callable[[str], Awaitable[str]]


class Relay(Response):
    """Forwards a request to the model's server and the answer to the client.

    Args:
        headers: headers to add to the answer.
        dialect: of the answer.
        ended: called with the reply's text once the answer has ended, even if it ended early because the client or the
            model's server disconnected. It isn't called after an error or if there is no answer. Its result, "yes" if
            the exchange is on disk, is sent to the client before the end of the answer.
        most: maximum bytes of an answer that are parsed for the text.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        request: httpx2.Request,
        headers: Mapping[str, str],
        *,
        dialect: Dialect = CHAT_COMPLETIONS,
        ended: Ended | None = None,
        most: int = 0,
    ) -> None:
        super().__init__()
        self._client = client
        self._request = request
        self._added = dict(headers)
        self._ended = ended
        self._most = most
        self._dialect = dialect
        self._reply = ReplyAssembler(dialect, "", most)
        self._end: EventsEnd | WholeEnd | None = None
        self._head: Message | None = None  # of the answer, until it is sent
        self._refused = False
        self._whole = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        passing = asyncio.create_task(self._pass_on(scope, receive, send))
        leaving = asyncio.create_task(_left(receive))
        both = (passing, leaving)
        stored = _YES
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.wait(both)
            if self._ended is not None and not self._refused:
                stored = await self._ended(self._reply.text)
                if self._reply.too_large:
                    log.warning("a reply was not stored: its answer has more than %d bytes", self._most)
                    stored = _TOO_LARGE
                elif stored == _YES and self._reply.unreadable:
                    log.warning("a reply was not stored: it is no reply to a chat, or its content is no text")
                    stored = _UNREADABLE
        if not passing.cancelled():
            passing.result()
            await self._finish(stored, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._client.send(self._request, stream=True)
        except httpx2.RequestError as error:
            self._refuse()
            log.warning("the upstream gave no answer: %s %s", type(error).__name__, error)
            refusal = problem(_away(error))
            refusal.headers.update(self._added)
            await refusal(scope, receive, send)
            return
        try:
            if not answer.is_success:
                self._refuse()
            kind = answer.headers.get("content-type", "")
            self._reply = ReplyAssembler(self._dialect, kind, self._most)
            self._head = self._head_of(answer, kind)
            if self._ended is not None and not self._refused:
                self._end = EventsEnd(self._dialect.ends) if is_stream(kind) else WholeEnd(self._most)
            if not isinstance(self._end, WholeEnd):
                await self._send(b"", send)
            async for piece in answer.aiter_bytes():
                self._reply.feed(piece)
                if self._reply.too_large and self._ended is not None:
                    self._added[STORES] = _TOO_LARGE
                passed = piece if self._end is None else self._end.feed(piece)
                if passed:
                    await self._send(passed, send)
            self._whole = True
        except httpx2.RequestError as error:
            log.warning("the upstream broke off: %s %s", type(error).__name__, error)
        finally:
            await answer.aclose()

    def _refuse(self) -> None:
        """Handle an error or a missing answer, after which nothing is stored."""
        self._refused = True
        if self._ended is not None:
            self._added[STORES] = _NO

    async def _finish(self, stored: str, send: Send) -> None:
        """Send the end of the answer, unless the answer was cut off."""
        held = b"" if self._end is None else self._end.held
        if stored != _YES:
            self._added[STORES] = stored
            if isinstance(self._end, EventsEnd) and self._whole and self._end.between_lines:
                held = f": {STORES}: {stored}\n\n".encode() + held
        await self._send(held, send)
        if self._whole:
            await send({"type": "http.response.body", "body": b""})

    async def _send(self, body: bytes, send: Send) -> None:
        """Send bytes of the answer, preceded by the head on the first call."""
        if self._head is not None:
            head, self._head = self._head, None
            encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._added.items()]
            await send({**head, "headers": [*head["headers"], *encoded]})
        if body:
            await send({"type": "http.response.body", "body": body, "more_body": True})

    def _head_of(self, answer: httpx2.Response, kind: str) -> Message:
        """Return the status and headers. A stream's Content-Length is dropped, because its end is sent separately."""
        headers = [pair for pair in headers_back(answer) if pair[0] != "content-length" or not is_stream(kind)]
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return {"type": "http.response.start", "status": answer.status_code, "headers": encoded}


def _away(error: httpx2.RequestError) -> EngineUnavailableError:
    """Build the error sent to the client if the model server is unreachable, without the server's address."""
    if isinstance(error, httpx2.ReadTimeout):
        return EngineUnavailableError("the model's server sent no data for upstream.silence seconds; try again later")
    return EngineUnavailableError("cannot reach the model's server; start it, or name another with --upstream")


async def _left(receive: Receive) -> None:
    """Wait until the client disconnects. The request body must have been read already."""
    while (await receive())["type"] != "http.disconnect":
        continue
