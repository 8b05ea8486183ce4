"""Concurrent HTTP requests from any thread, with bounded concurrency, timeouts, retries and immediate cancellation."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import wait as wait_for
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from queue import SimpleQueue
from typing import Any, NoReturn

import httpx2

from nscma_torch.core.errors import ConfigError, EngineError, EngineRefusedError, EngineUnavailableError, ReplyError
from nscma_torch.llm.engines.protocol_schemas import shown
from nscma_torch.llm.engines.retry_policy import TOO_SLOW, PassingError, RetryPolicy

Body = Mapping[str, Any] | None
_MOST_BYTES = 64 * 2**20  # of one response, however it arrives
_MOST_OF_ERROR = 64 * 2**10  # bytes that are read of a response without success
_AWAY = "start the server, or set llm.base_url to where it listens"
_OVERLOADED = "lower llm.concurrency, or wait until the server at llm.base_url has less to do"
_ITS_LOG = "the log of the server at llm.base_url says why"
_WANTS_KEY = "the server at llm.base_url takes no such key: name the variable that holds it in llm.api_key_env"
_OTHER_PLACE = (
    "set llm.base_url to an OpenAI-compatible server, llm.server to its kind and llm.model to one that it serves"
)
_REASONS: Mapping[type[Exception], str] = {
    httpx2.ConnectError: "no connection",
    httpx2.ConnectTimeout: "no connection in time",
    httpx2.ReadTimeout: "no byte came in time",
    httpx2.WriteTimeout: "the request was not taken in time",
}
_REFUSED = {401: _WANTS_KEY, 403: _WANTS_KEY, 404: _OTHER_PLACE, 405: _OTHER_PLACE}


class HttpClient:
    """Sends requests on behalf of any thread. They run on an event loop in the client's own thread.

    Args:
        url: base URL, http or https. Proxies set in the environment are used, except for this machine's own addresses.
        concurrency: maximum requests in flight from all threads together.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], concurrency: int, retry_policy: RetryPolicy) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency must be at least 1, not {concurrency}")
        try:
            parsed = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise ConfigError(
                f"{url!r} is not a URL: {error}; set llm.base_url, for example http://127.0.0.1:8000"
            ) from error
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            raise ConfigError(f"{url!r} is not a server URL; set llm.base_url, for example http://127.0.0.1:8000")
        self._url = url
        self._retry_policy = retry_policy
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity", **headers},
            timeout=httpx2.Timeout(retry_policy.read, connect=retry_policy.connect, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=concurrency),
            trust_env=not _is_this_machine(parsed.host),
        )
        self._slots = asyncio.Semaphore(concurrency)
        self._submitting = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"nscma http {parsed.host}", daemon=True)
        self._thread.start()

    def send(self, path: str, bodies: Sequence[Body]) -> list[bytes | EngineError]:
        """Post each body as JSON, or send a GET request if it is None. Return each response's body or error, in order.

        If one request has finally failed before any was answered, the server is considered down, and requests that are
        waiting for a free slot fail with it. An interruption (Ctrl-C) cancels requests in flight. After `close`, the
        result of a request without a response is an `EngineUnavailableError`.
        """
        closed = EngineUnavailableError(f"the connection to {self._url} was closed")
        results: list[bytes | EngineError] = [closed] * len(bodies)
        with self._submitting:
            if self._closed:
                return results
            batch = asyncio.run_coroutine_threadsafe(self._send(path, bodies, results), self._loop)
        try:
            wait_for([batch])
            if not batch.cancelled():
                batch.result()
        finally:
            batch.cancel()
        return list(results)

    def lines(self, path: str, body: Body) -> Iterator[str]:
        """Post a body and yield the response's non-blank lines as they arrive. It is retried only before the first
        line.

        Raises `EngineError` on failure. If the caller stops reading, the request is cancelled.
        """
        pieces: SimpleQueue[str | EngineError | None] = SimpleQueue()
        with self._submitting:
            if self._closed:
                raise EngineUnavailableError(f"the connection to {self._url} was closed")
            reading = asyncio.run_coroutine_threadsafe(self._read_lines(path, body, pieces), self._loop)
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, EngineError):
                    raise piece
                yield piece
        finally:
            reading.cancel()

    def close(self) -> None:
        """Cancel requests in flight and end the thread. Idempotent."""
        with self._submitting:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        """Cancel all requests, wait until each has released its connection, and close the remaining connections."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()

    async def _send(self, path: str, bodies: Sequence[Body], results: list[bytes | EngineError]) -> None:
        answered = False
        away: EngineUnavailableError | None = None

        async def one(index: int, body: Body) -> None:
            nonlocal answered, away
            async with self._slots:
                if away is not None and not answered:
                    results[index] = away
                    return
                try:
                    results[index] = await self._retry_policy.run(f"{self._url}{path}", partial(self._once, path, body))
                    answered = True
                except EngineUnavailableError as error:
                    results[index] = away = error
                except EngineError as error:
                    results[index], answered = error, True

        async with asyncio.TaskGroup() as group:
            for index, body in enumerate(bodies):
                group.create_task(one(index, body))

    async def _read_lines(self, path: str, body: Body, pieces: SimpleQueue[str | EngineError | None]) -> None:
        """Put each line into the queue, followed by None or by the error that ended the response."""
        end: EngineError | None = EngineUnavailableError(f"the connection to {self._url} was closed")
        try:
            async with self._slots:
                await self._retry_policy.run(f"{self._url}{path}", lambda: self._put_lines(path, body, pieces))
            end = None
        except EngineError as error:
            end = error
        finally:
            pieces.put(end)

    async def _put_lines(self, path: str, body: Body, pieces: SimpleQueue[str | EngineError | None]) -> None:
        begun = False
        try:
            async with self._client.stream("POST", path, content=json.dumps(body).encode()) as response:
                if not response.is_success:
                    self._refuse(path, response, await _start_of(response))
                waiting: list[bytes] = []  # a line that has not ended yet
                async for piece in self._bounded(path, response):
                    begun = True
                    *ended, rest = piece.split(b"\n")
                    for end in ended:
                        line = b"".join((*waiting, end)).removesuffix(b"\r")
                        waiting.clear()
                        if line:
                            pieces.put(line.decode(errors="replace"))
                    waiting.append(rest)
                if any(waiting):
                    pieces.put(b"".join(waiting).decode(errors="replace"))
        except httpx2.RequestError as error:
            passing = _broken(error)
            if begun:
                what = f"{self._url}{path} ended in the middle: {passing}; {passing.advice}"
                raise EngineUnavailableError(what) from error
            raise passing from error

    async def _once(self, path: str, body: Body) -> bytes:
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        try:
            async with self._client.stream(method, path, content=content) as response:
                if not response.is_success:
                    self._refuse(path, response, await _start_of(response))
                return b"".join([piece async for piece in self._bounded(path, response)])
        except httpx2.RequestError as error:
            raise _broken(error) from error

    async def _bounded(self, path: str, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises `ReplyError` if it exceeds the size limit."""
        if "," in response.headers.get("Content-Encoding", ""):
            raise ReplyError(f"{self._url}{path}: the response is compressed more than once")
        size = 0
        async for piece in response.aiter_bytes():
            size += len(piece)
            if size > _MOST_BYTES:
                raise ReplyError(f"{self._url}{path}: the response is larger than {_MOST_BYTES >> 20} MiB")
            yield piece

    def _refuse(self, path: str, response: httpx2.Response, got: bytes | bytearray) -> NoReturn:
        """Raise the error for an unsuccessful response."""
        said = f"{response.status_code} {response.reason_phrase} {shown(got)}"
        if response.status_code == 429 or response.status_code >= 500:
            advice = _OVERLOADED if response.status_code in (429, 503) else _ITS_LOG
            raise PassingError(said, advice, least=_retry_after(response.headers.get("Retry-After")))
        raise EngineRefusedError(f"{self._url}{path}: {said}; {_REFUSED.get(response.status_code, _ITS_LOG)}")


async def _start_of(response: httpx2.Response) -> bytes:
    """Read the beginning of a body for an error message."""
    got = bytearray()
    async for piece in response.aiter_raw():
        got += piece
        if len(got) >= _MOST_OF_ERROR:
            break
    return bytes(got)


def _broken(error: httpx2.RequestError) -> PassingError:
    """Build the error for a failed or broken connection."""
    advice = _ITS_LOG
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        advice = _AWAY
    elif isinstance(error, httpx2.TimeoutException):
        advice = TOO_SLOW
    return PassingError(_REASONS.get(type(error), str(error) or "the connection broke"), advice)


def _retry_after(value: str | None) -> float:
    """Parse a Retry-After header, in either of its two forms, and return seconds; 0 if it is unreadable."""
    if value is None:
        return 0.0
    if value.strip().isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
