"""Limit the size and arrival time of request bodies, and each token's concurrent requests and requests per second.

Requests without a token come from this machine and aren't limited.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nscma_torch.core.config import ServerConfig
from nscma_torch.core.errors import AccessError, TokenError
from nscma_torch.server.access import principal_of
from nscma_torch.server.json_bounds import exceeded
from nscma_torch.server.problems import BodyError, TooManyRequestsError, problem
from nscma_torch.server.work import LOCAL, REQUEST_INFO, RequestInfo

_MOST_BUCKETS = 10_000
_SHORT_BODY = 1 << 16  # bytes that are counted on the event loop


class RateLimiter:
    """Token buckets that allow each key `rate` requests per second on average and `burst` requests at once.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what was left, and when

    def wait(self, key: str) -> float:
        """Take one request from the bucket and return 0, or return the seconds until one is available."""
        now = self._clock()
        left, at = self._buckets.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._rate)
        if left < 1:
            return (1 - left) / self._rate
        if len(self._buckets) >= _MOST_BUCKETS:  # those that are full again say nothing
            full = self._burst / self._rate
            self._buckets = {name: one for name, one in self._buckets.items() if now - one[1] < full}
        self._buckets[key] = (left - 1, now)
        return 0.0


class LimitsMiddleware:
    """ASGI middleware that enforces the limits, behind `AuthMiddleware`.

    Args:
        streams: paths with request bodies of any size.
        unread: paths with request bodies that are passed on unparsed.
    """

    def __init__(
        self, app: ASGIApp, *, limits: ServerConfig, streams: Collection[str], unread: Collection[str] = ()
    ) -> None:
        self._app = app
        self._limits = limits
        self._streams = frozenset(streams)
        self._unread = frozenset(unread)
        self._rates = RateLimiter(limits.rate, limits.burst)
        self._running: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        key = self._key(scope)
        error = self._fault(scope, key)
        if error is not None:
            await problem(error)(scope, receive, send)
            return
        self._running[key] += 1
        asked = RequestInfo(key)
        REQUEST_INFO.set(asked)
        try:
            path = scope["path"]
            parsed = path not in self._streams and path not in self._unread
            body = _Body(self._limits, scope, receive, send, asked, any_size=path in self._streams, parsed=parsed)
            await self._app(scope, body.receive, body.send)
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]

    def _key(self, scope: Scope) -> str:
        try:
            return principal_of(scope).key
        except TokenError:  # a public path
            return f"from {scope['client'][0] if scope.get('client') else ''}"

    def _fault(self, scope: Scope, key: str) -> AccessError | None:
        length = Headers(scope=scope).get("content-length", "")
        if length.isdigit() and int(length) > self._limits.max_body and scope["path"] not in self._streams:
            return _too_large(self._limits)
        if key == LOCAL:
            return None
        if self._running[key] >= self._limits.per_token:
            return TooManyRequestsError(f"the token has {self._limits.per_token} requests running; wait for one to end")
        seconds = self._rates.wait(key)
        if seconds:
            return TooManyRequestsError(
                f"more than server.rate = {self._limits.rate:g} requests per second from one token; try again later",
                retry_after=math.ceil(seconds),
            )
        return None


class _Body:
    """A request body, read as it arrives. If it exceeds a limit, an error response replaces the application's
    response.
    """

    def __init__(
        self,
        limits: ServerConfig,
        scope: Scope,
        receive: Receive,
        send: Send,
        asked: RequestInfo,
        *,
        any_size: bool,
        parsed: bool,
    ) -> None:
        self._limits = limits
        self._scope = scope
        self._receive = receive
        self._send = send
        self._asked = asked
        self._any_size = any_size
        self._pieces: list[bytes] | None = [] if parsed else None
        self._size = 0
        self._due: float | None = None  # the time until which a body must be there, once it is read
        headers = Headers(scope=scope)
        self._whole = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        self._begun = False
        self._error: AccessError | None = None

    async def receive(self) -> Message:
        """Return the next part of the body. Raises `BodyError` if the body is too large or arrives too slowly."""
        if self._error is not None:
            raise self._error
        if self._whole:  # what comes now is that the client leaves
            return await self._receive()
        now = time.monotonic()
        if self._due is None or self._any_size:  # a stream may go on for as long as it moves
            self._due = now + self._limits.patience
        try:
            message = await asyncio.wait_for(self._receive(), self._due - now)
        except TimeoutError:
            self._error = BodyError(
                f"the body did not arrive within server.patience = {self._limits.patience:g} seconds", 408
            )
            raise self._error from None
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if not self._any_size:  # a stream is stored in short batches
                self._asked.size = self._size
            if self._size > self._limits.max_body and not self._any_size:
                self._error = _too_large(self._limits)
                raise self._error
            await self._check_values(message.get("body", b""))
        return message

    async def _check_values(self, piece: bytes) -> None:
        """Raise `BodyError`, before the body is parsed, if it contains too many values."""
        if self._pieces is None:
            return
        self._pieces.append(piece)
        if self._whole:
            body, self._pieces = b"".join(self._pieces), None
            bound = exceeded(body) if len(body) <= _SHORT_BODY else await asyncio.to_thread(exceeded, body)
            if bound is not None:
                self._error = BodyError(f"the body was rejected: {bound}; send less at once", 413)
                raise self._error

    async def send(self, message: Message) -> None:
        """Send the application's response, or the body's error instead."""
        if self._error is None or self._begun:
            self._begun = True
            await self._send(message)
        elif message["type"] == "http.response.start":
            await problem(self._error)(self._scope, self._receive, self._answer)

    async def _answer(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        await self._send(message)


def _too_large(limits: ServerConfig) -> BodyError:
    return BodyError(
        f"the body is larger than server.max_body = {limits.max_body:,} bytes; send less at once, messages as a stream "
        "to /v1/messages/stream",
        413,
    )
