"""Requests that no client of ours makes, to all that `nscma serve` mounts: bodies, paths, headers, and slow senders."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.protocols import Embedder
from nscma_torch.server.app_context import ServerSettings
from nscma_torch.server.running import Serving, bound
from tests.conftest import LIGHT
from tests.helpers.fake_chat_server import completion, fake_chat_server
from tests.helpers.noting import NotedTasks
from tests.server.conftest import Served, route_groups_of_serve, serving
from tests.server.test_sockets import connected, rest_of

SECRET = "xylophone"
PROBLEM = "application/problem+json"
LIMIT = 50_000
Open = tuple[Served, int]
MCP = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory, light_surprise: Any, embedder: Embedder) -> Iterator[Open]:
    """A server with all its route groups, in the process and on a port; Ben has a memory, Ana asks."""
    folder = tmp_path_factory.mktemp("hostile")
    server = {"rate": 1e6, "burst": 1_000_000, "max_body": LIMIT, "patience": 0.3, "connections": 40}
    config = {**LIGHT, "gate": {"rule": "everything"}, "server": server}
    with ExitStack() as stack:
        upstream = stack.enter_context(fake_chat_server(lambda _: completion("Yes.")))
        parts = {"surprise_model": light_surprise, "embedder": embedder, "tasks": NotedTasks()}
        memory = stack.enter_context(Memory(folder / "store.db", config=config, **parts))
        made = stack.enter_context(serving(memory, folder / "tokens", route_groups=route_groups_of_serve(upstream.url)))
        memory.add(f"The {SECRET} is Ben's.", user_id="ben")
        made.client.headers.update(made.token("ana"))
        own = stack.enter_context(bound(ServerSettings(made.tokens.path, port=0)))
        begun = threading.Event()
        running = Serving(made.app, begun.set)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [own]})
        thread.start()

        def stop() -> None:
            running.should_exit = running.force_exit = True
            thread.join()

        stack.callback(stop)
        assert begun.wait(30)
        yield made, own.getsockname()[1]


def writing(door: Open) -> list[tuple[str, str]]:
    """Method and path of all that takes a body in JSON, and MCP's endpoint."""
    paths = door[0].client.get("/openapi.json").json()["paths"]
    found = [
        (method, path)
        for path, many in paths.items()
        for method, said in many.items()
        if "application/json" in said.get("requestBody", {}).get("content", {})
    ]
    assert len(found) > 15
    return [*found, ("post", "/mcp")]


DEEP = 5_000
BODIES = {
    "arrays": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "open": b'{"query": ' + b"[" * LIMIT,
    "deep value": b'{"messages": '
    + b"[" * DEEP
    + b"]" * DEEP
    + b', "metadata": '
    + b'{"a":' * DEEP
    + b"1"
    + b"}" * DEEP
    + b"}",
    "number": b'{"top_k": ' + b"9" * 5_000 + b', "query": "x"}',
    "not UTF-8": b'{"query": "\xff\xfe"}',
    "surrogate": b'{"query": "\\ud800", "messages": "\\udfff", "question": "\\ud800"}',
    "NUL": b'{"query": "\\u0000", "messages": "a\\u0000b", "question": "\\u0000"}',
    "keys": b"{" + b",".join(b'"k%d": 1' % number for number in range(4_000)) + b"}",
    "twice": b'{"user_id": "ana", "user_id": "ben", "query": "x", "messages": "y", "question": "z"}',
    "text": b"query=x",
    "NaN": b'{"query": "x", "threshold": NaN, "metadata": {"a": Infinity}, "messages": "x"}',
    "nothing": b"",
}


@pytest.mark.parametrize("kind", BODIES)
def test_no_body_breaks_an_operation(door: Open, kind: str) -> None:
    server, _ = door
    body = BODIES[kind] if kind != "open" else BODIES[kind][:LIMIT]
    for method, path in writing(door):
        headers = {"content-type": "application/json", **(MCP if path == "/mcp" else {})}
        got = server.client.request(method, path.replace("{", "").replace("}", ""), content=body, headers=headers)
        assert got.status_code < 500, (method, path, got.text[:300])
        assert SECRET not in got.text
        if got.status_code >= 400 and path not in ("/mcp", "/v1/chat/completions"):
            assert got.headers["content-type"] == PROBLEM and len(got.content) < 20_000, (path, len(got.content))


def test_no_body_is_too_large(door: Open) -> None:
    """With a length that is told, and one that is not; with a length that is a lie, too."""
    server, port = door
    for method, path in writing(door):
        url = path.replace("{", "").replace("}", "")
        for content in (b" " * (LIMIT + 1), (b" " * 1000 for _ in range(LIMIT // 1000 + 1))):
            headers = {"content-type": "application/json", **(MCP if path == "/mcp" else {})}
            got = server.client.request(method, url, content=content, headers=headers)
            assert (got.status_code, got.headers["content-type"]) == (413, PROBLEM), (path, got.text)
    token = server.client.headers["authorization"].encode()
    for length in (b"99999999999999999999", b"-1", b"1e3", b"5, 6", b"0x5"):
        with connected(port) as connection:
            head = b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: " + token
            connection.sendall(head + b"\r\nContent-Length: " + length + b"\r\nConnection: close\r\n\r\n{}")
            assert rest_of(connection).split(b" ")[1] in (b"400", b"413"), length


PATHS = [
    "/view/../../../etc/passwd",
    "/view/..%2f..%2f..%2fetc%2fpasswd",
    "/view/%2e%2e/%2e%2e/pyproject.toml",
    "/view/....//....//etc/passwd",
    "/view//etc/passwd",
    "/view/%00",
    "/view/style.css%00.html",
    "/view/..\\..\\routes.py",
    "/view/../routes.py",
    "/view/__init__.py",
    "/../store.db",
    "/store.db",
    "/%2e%2e/tokens",
    "//tokens",
    "/v1/../tokens",
    "/v1/messages/..%2f..%2fstats",
    "/v1/messages/../../tokens",
    "/.git/config",
    "/docs/../tokens",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("asks", ["nobody", "ana"])
def test_no_path_leads_to_a_file(door: Open, path: str, asks: str) -> None:
    """As it is written, without a client that makes it plain first."""
    server, port = door
    header = f"Authorization: {server.client.headers['authorization']}\r\n" if asks == "ana" else ""
    with connected(port) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}Connection: close\r\n\r\n"
        connection.sendall(request.encode("latin-1"))
        got = rest_of(connection)
    status = int(got.split(b" ")[1])
    assert status in ((401, 404) if asks == "nobody" else (404,)), got[:300]
    for word in (b"root:", b"SQLite format", b"import ", b"sha256", b"[project]", SECRET.encode()):
        assert word not in got


def test_no_target_that_is_no_path_is_served(door: Open) -> None:
    """A proxy's absolute address, a star, two requests in one by two lengths."""
    _, port = door
    for head in (
        b"GET http://evil.example/v1/stats HTTP/1.1\r\nHost: evil.example\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n",
        b"GET /v1/stats HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n",
        b"GET /v1/stats HTTP/1.1\r\n",
        b"GET /v1/stats HTTP/1.1\r\nHost : 127.0.0.1\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    ):
        with connected(port) as connection:
            connection.sendall(head + b"Connection: close\r\n\r\n0\r\n\r\n")
            assert rest_of(connection).split(b" ")[1] in (b"400", b"401", b"403", b"404", b"405"), head


@pytest.mark.parametrize("path", ["/v1/search", "/mcp", "/v1/chat/completions", "/", "/view/style.css"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8765"])
def test_another_host_is_refused_by_every_room(door: Open, path: str, host: str) -> None:
    """DNS rebinding: a page whose name was pointed at this machine."""
    server, _ = door
    method = "GET" if path.startswith("/view") or path == "/" else "POST"
    for origin in ({}, {"origin": f"http://{host}"}):
        got = server.client.request(method, path, json={}, headers={"host": host, **MCP, **origin})
        assert (got.status_code, got.headers["content-type"]) == (403, PROBLEM) and "server.hosts" in got.text


@pytest.mark.parametrize("path", ["/v1/search", "/mcp", "/v1/chat/completions", "/v1/erase", "/memories", "/"])
def test_a_preflight_of_another_page_allows_nothing(door: Open, path: str) -> None:
    server, _ = door
    for method in ("POST", "DELETE", "PUT"):
        asking = {
            "origin": "https://evil.example",
            "access-control-request-method": method,
            "access-control-request-headers": "authorization,content-type",
            "access-control-request-private-network": "true",
        }
        got = server.client.options(path, headers=asking)
        assert got.status_code == 403
        assert not [name for name in got.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"G",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\nContent-Length: 40\r\n\r\n{",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\nContent-Length: 40\r\n\r\n{",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\nContent-Length: 40\r\n\r\n{",
    ],
    ids=["nothing", "a letter", "a head", "a body", "a body of MCP", "a body for the model"],
)
def test_slow_clients_are_left_and_others_served(door: Open, sent: bytes) -> None:
    """Thirty of them, each a byte now and then: all are left within a bound, and the server serves meanwhile."""
    server, port = door
    token = server.client.headers["authorization"].encode()
    first = sent.replace(b"%s", token)
    stop = threading.Event()

    def drip(connection: socket.socket) -> None:
        try:
            while not stop.wait(0.05):
                connection.sendall(b" " if b"{" in first else b"a")
        except OSError:
            return  # it was left

    slow = [connected(port) for _ in range(30)]
    dripping = [threading.Thread(target=drip, args=(one,)) for one in slow]
    try:
        for one in slow:
            one.sendall(first)
        for thread in dripping:
            thread.start()
        got = server.client.post("/v1/search", json={"query": "Porto"})
        assert got.status_code == 200
        for one in slow:
            told = rest_of(one)
            assert not told or b" 408 " in told or b" 400 " in told, told
    finally:
        stop.set()
        for one in slow:
            one.close()
        for thread in dripping:
            thread.join()
    with connected(port) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert b" 200 " in rest_of(connection)


def test_the_neighbour_is_as_he_was(door: Open) -> None:
    server, _ = door
    assert [one.text for one in server.memory.get_all(user_id="ben")] == [f"The {SECRET} is Ben's."]
    assert server.memory.verify() == []
