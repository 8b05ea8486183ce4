"""What a socket decides: slow clients, streams that break in the middle, one connection too many."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from starlette.background import BackgroundTask

from nscma_torch.server.access import Reader
from nscma_torch.server.app_context import AppContext, RouteGroup
from tests.server.conftest import Served

Listening = Callable[..., tuple[Served, int]]
HOST = b"Host: 127.0.0.1\r\n"


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def rest_of(connection: socket.socket) -> bytes:
    """All that still comes, until the server closes; a reset is an end, too."""
    got = b""
    try:
        while part := connection.recv(65_536):
            got += part
    except ConnectionResetError:
        pass
    return got


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def line(number: int) -> bytes:
    return json.dumps({"role": "user", "content": f"Line {number}."}).encode() + b"\n"


STREAM = (
    b"POST /v1/messages/stream?ids=true&idempotency_key=k HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
)


def until(connection: socket.socket, end: bytes) -> bytes:
    got = b""
    while end not in got:
        part = connection.recv(65_536)
        assert part, got
        got += part
    return got


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", b""),
        (b"POST /v1/messages HTTP/1.1\r\nHost: 127", b""),
        (b"GET /health/live HTTP/1.1\r\n" + HOST + b"\r\nGET /he", b'{"status":"ok"}'),
        (b"POST /v1/messages HTTP/1.1\r\n" + HOST + b"Content-Length: 50\r\n\r\n{", b" 408 "),
        (STREAM + chunk(line(1)), b" 408 "),
    ],
)
def test_a_client_that_sends_no_more_is_left(listening: Listening, sent: bytes, answered: bytes) -> None:
    server, port = listening({"patience": 0.2})
    with connected(port) as connection:
        connection.sendall(sent)
        got = rest_of(connection)  # it ends, as the server closes
    assert answered in got if answered else not got, got
    assert server.memory.stats().messages == 0


def test_a_client_that_reads_nothing_is_left(listening: Listening) -> None:
    ended = threading.Event()

    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 65_536

    def route_group(_: AppContext) -> RouteGroup:
        router = APIRouter()

        @router.get("/endless")
        async def answer(asker: Reader) -> StreamingResponse:
            return StreamingResponse(endless(), background=BackgroundTask(ended.set))

        return RouteGroup((router,))

    _, port = listening({"patience": 0.2}, route_groups=[route_group])
    with connected(port) as connection:
        connection.sendall(b"GET /endless HTTP/1.1\r\n" + HOST + b"\r\n")
        assert ended.wait(30)
    with connected(port) as connection:  # others are served
        connection.sendall(b"GET /health/live HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        assert b" 200 " in rest_of(connection)


def test_one_connection_too_many(listening: Listening) -> None:
    _, port = listening({"connections": 1})
    with connected(port) as first:
        first.sendall(b"GET /health/live HTTP/1.1\r\n" + HOST + b"\r\n")
        until(first, b'{"status":"ok"}')
        with connected(port) as second:
            got = rest_of(second)
        assert got.startswith(b"HTTP/1.1 503") and b"retry-after: " in got and b"urn:nscma:OverloadedError" in got


def test_a_stream_that_breaks_keeps_what_was_acknowledged(listening: Listening) -> None:
    """Batches of 64: the first is acknowledged while the client still sends; then the client is gone."""
    server, port = listening()
    with connected(port) as connection:
        connection.sendall(STREAM + b"".join(chunk(line(number)) for number in range(70)))
        told = until(connection, b"}\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
    (acknowledged,) = (json.loads(part) for part in told.splitlines() if part.startswith(b"{"))
    assert (acknowledged["lines"], acknowledged["added"]) == (64, 64)
    stored = [one.id for one in server.memory.get_all(user_id="default", limit=None)]
    assert acknowledged["ids"] == stored[:64]
    again = server.client.post(
        "/v1/messages/stream", params={"idempotency_key": "k"}, content=b"".join(line(number) for number in range(80))
    )
    last = json.loads(again.text.splitlines()[-1])
    assert last == {"lines": 80, "added": 80 - len(stored), "known": len(stored), "done": True}
    assert server.memory.verify() == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"role": "user"}', 'no "content"'),
        (b"{", "not JSON"),
        (b"\xff", "UTF-8"),
        (b'{"role": "user", "content": "' + b"x" * 1_048_577 + b'"}', "limits.max_message_bytes"),
        (b"x" * 6_500_000, "write one message per line"),
    ],
)
def test_a_bad_line_is_named(served: Callable[..., Served], bad: bytes, said: str) -> None:
    """Batches before it are stored, and the answer says which; where there are none it is refused as a whole."""
    server = served()
    good = b"".join(line(number) for number in range(66))
    got = server.client.post("/v1/messages/stream", content=good + bad)
    *_, told, failed = map(json.loads, got.text.splitlines())
    assert got.status_code == 200 and told["lines"] == failed["lines"] == server.memory.stats().messages == 64
    assert said in failed["error"]["detail"] and "line 67" in failed["error"]["detail"] and not failed["done"]
    got = server.client.post("/v1/messages/stream", content=line(1) + bad)
    assert got.status_code in (413, 422) and said in got.json()["detail"] and "line 2" in got.json()["detail"]
    assert server.memory.stats().messages == 64


def test_lines_in_pieces(served: Callable[..., Served]) -> None:
    """However the network cuts them, lines are the same; blank ones are none."""
    server = served()
    body = "\n".join(['{"role": "user", "content": "Ein Gruß."}', "", '{"role": "user", "content": "好的。"}'])
    pieces: Any = (bytes([byte]) for byte in body.encode())
    told = server.client.post("/v1/messages/stream", content=pieces).text.splitlines()
    assert json.loads(told[-1]) == {"lines": 3, "added": 2, "known": 0, "done": True}
    assert [one.text for one in server.memory.get_all(user_id="default")] == ["Ein Gruß.", "好的。"]
    assert server.client.post("/v1/messages/stream", content=b"").status_code == 422
