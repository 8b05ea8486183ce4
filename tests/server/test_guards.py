"""Pages of other sites: the Host header, the Origin header, CORS; limits of bodies, rates and calls at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from nscma_torch.server.limits import RateLimiter
from tests.server.conftest import Served


def test_a_name_that_was_pointed_at_this_machine_is_refused(served: Callable[..., Served]) -> None:
    """And its own names are served."""
    server = served()
    for host in ("localhost:8765", "127.0.0.1", "[::1]:8765", "LOCALHOST"):
        assert server.client.get("/health/live", headers={"Host": host}).status_code == 200, host
    for headers in ({}, server.token("ana")):
        for host in ("evil.example", "127.0.0.1.evil.example:8765", "localhost.evil.example", "", "[::2]"):
            for path in ("/v1/stats", "/health/live", "/docs", "/nothing"):
                got = server.client.get(path, headers={"Host": host, **headers})
                assert got.status_code == 403 and "server.hosts" in got.json()["detail"], (host, path)


def test_a_page_of_another_site_learns_nothing_by_requests_without_an_origin(served: Callable[..., Served]) -> None:
    """An image, a frame or a script of another page is fetched by GET, and its success can be told."""
    server = served()
    server.memory.add("I live in Porto.", user_id="ana")
    paths = ("/v1/export?user_id=ana", "/v1/export?user_id=nobody", "/v1/store/verify", "/memories?user_id=ana")
    for site in ("cross-site", "same-site"):
        for kind in ("object", "image", "iframe", "script", "document", "empty"):
            mode = "navigate" if kind in ("iframe", "document") else "no-cors"
            told = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": kind}
            assert {server.client.get(path, headers=told).status_code for path in paths} == {403}, (site, kind)
            assert server.client.get("/docs", headers=told).is_success == (kind == "document"), (site, kind)
    for site in ("none", "same-origin"):
        assert server.client.get(paths[0], headers={"Sec-Fetch-Site": site}).is_success


def test_names_of_a_server_for_other_machines(served: Callable[..., Served]) -> None:
    server = served(host="0.0.0.0")
    assert server.client.get("/health/live", headers={"Host": "nas.local"}).status_code == 200


def test_names_behind_a_proxy(served: Callable[..., Served]) -> None:
    server = served({"hosts": ["memory.example.org"]}, host="0.0.0.0")
    for host, status in (("Memory.example.org", 200), ("localhost:1", 200), ("nas.local", 403)):
        assert server.client.get("/health/live", headers={"Host": host}).status_code == status


def test_a_page_of_another_site_does_nothing(served: Callable[..., Served]) -> None:
    """A browser sends a POST of plain text, or a form, to any address, without asking first."""
    server = served()
    body = '{"messages": "I was forged."}'
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999", "file://"):
        for kind in ("text/plain", "application/json", "application/x-www-form-urlencoded"):
            got = server.client.post("/v1/messages", content=body, headers={"Origin": origin, "Content-Type": kind})
            assert got.status_code == 403 and "access-control-allow-origin" not in got.headers, (origin, kind)
        assert server.client.post("/v1/store/reset", headers={"Origin": origin}).status_code == 403, origin
        asking = {"Origin": origin, "Access-Control-Request-Method": "DELETE"}
        assert server.client.options("/v1/messages", headers=asking).status_code == 403, origin
    assert server.memory.stats().messages == 0


def test_the_servers_own_page_is_served(served: Callable[..., Served]) -> None:
    got = served().client.get("/v1/stats", headers={"Origin": "http://127.0.0.1:8765"})
    assert got.status_code == 200 and "access-control-allow-origin" not in got.headers


def test_pages_that_are_named_may_use_it(served: Callable[..., Served]) -> None:
    server = served({"origins": ["https://app.example"]})
    server.token("ana")
    asking = {"Origin": "https://app.example", "Access-Control-Request-Method": "PATCH"}
    got = server.client.options("/v1/messages/x", headers={**asking, "Access-Control-Request-Headers": "authorization"})
    assert got.status_code == 200 and got.headers["access-control-allow-origin"] == "https://app.example"
    got = server.client.get("/v1/stats", headers={"Origin": "https://app.example"})
    assert got.status_code == 401 and got.headers["access-control-allow-origin"] == "https://app.example"
    assert server.client.get("/v1/stats", headers={"Origin": "https://evil.example"}).status_code == 403


def test_a_body_has_a_limit(served: Callable[..., Served]) -> None:
    server = served({"max_body": 2000})
    for content in (b"x" * 2001, (b"x" * 100 for _ in range(30))):  # with a length, and in pieces without one
        got = server.client.post("/v1/messages", content=content, headers={"Content-Type": "application/json"})
        assert got.status_code == 413 and "server.max_body = 2,000" in got.json()["detail"], got.text
    lines = b'{"role": "user", "content": "A line of a long stream."}\n' * 100
    assert server.client.post("/v1/messages/stream", content=lines).text.endswith('"done":true}\n')
    assert server.memory.stats().messages == 100
    assert server.client.post("/v1/messages", json={"messages": "Short."}).status_code == 200


def test_a_token_has_a_rate(served: Callable[..., Served]) -> None:
    server = served({"rate": 0.001, "burst": 2})
    ana, ben = server.token("ana"), server.token("ben")
    statuses = [server.client.get("/v1/stats", headers=ana).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    got = server.client.get("/v1/stats", headers=ana)
    assert 0 < int(got.headers["retry-after"]) <= 1000 and "server.rate" in got.json()["detail"]
    assert server.client.get("/v1/stats", headers=ben).status_code == 200
    assert server.client.get("/v1/stats").status_code == 401  # who has no token empties nobody's


def test_a_rate_is_what_it_says() -> None:
    now = [0.0]
    rates = RateLimiter(2.0, 3, lambda: now[0])
    assert [rates.wait("a") for _ in range(3)] == [0, 0, 0]
    assert rates.wait("a") == 0.5 and rates.wait("b") == 0
    now[0] = 0.5
    assert rates.wait("a") == 0 and rates.wait("a") == 0.5
    now[0] = 100.0
    assert [rates.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


class Held:
    """Stands in for a call of the memory that takes long."""

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()

    def __call__(self, *_: object, **__: object) -> list[object]:
        self.begun.set()
        assert self.end.wait(30)
        return []


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    one = Held()
    monkeypatch.setattr("nscma_torch.api.memory.Memory.search", one)
    return one


@pytest.mark.parametrize(
    ("limits", "status", "same"),
    [({"threads": 1, "waiting": 0}, 503, False), ({"threads": 4, "per_token": 1}, 429, True)],
)
def test_calls_at_once_have_a_limit(
    served: Callable[..., Served], held: Held, limits: dict[str, int], status: int, same: bool
) -> None:
    """While one call is at work the loop is free: others are answered, or refused at once."""
    server = served(limits)
    ana, ben = server.token("ana"), server.token("ben")

    def search(headers: dict[str, str]) -> int:
        return server.client.post("/v1/search", json={"query": "Porto"}, headers=headers).status_code

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(search, ana)
        try:
            assert held.begun.wait(30)
            assert server.client.get("/health/live").status_code == 200
            got = server.client.get("/v1/stats", headers=ana if same else ben)
            assert got.status_code == status and int(got.headers["retry-after"]) >= 1
            assert got.headers["content-type"] == "application/problem+json"
        finally:
            held.end.set()
        assert first.result() == 200
    assert server.client.get("/v1/stats", headers=ana).status_code == 200
