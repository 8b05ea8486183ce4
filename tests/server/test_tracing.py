"""Requests are spans by route template; they continue the trace of the caller, and the memory's work is below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from opentelemetry.trace import SpanKind, StatusCode

from nscma_torch.api.memory import Memory
from tests.server.conftest import Served, serving
from tests.telemetry.conftest import observed as observed
from tests.telemetry.conftest import open_observed as open_observed
from tests.telemetry.conftest import recorded as recorded

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PLANTED = "zanzibar"


@pytest.fixture
def traced(observed: Memory, tmp_path: Path) -> Iterator[Served]:
    with serving(observed, tmp_path / "tokens") as served:
        yield served


def test_a_request_continues_the_trace_of_its_caller(traced: Served, recorded: Any) -> None:
    headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
    assert traced.client.post("/v1/search", json={"query": PLANTED}, headers=headers).status_code == 200
    (request,), (search,) = recorded.spans("POST /v1/search"), recorded.spans("search_memory")
    assert (f"{request.context.trace_id:032x}", f"{request.parent.span_id:016x}") == (TRACE, CALLER)
    assert search.parent.span_id == request.context.span_id, "the call ran in another thread"
    assert request.kind is SpanKind.SERVER and request.status.status_code is StatusCode.UNSET
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/search",
        "http.response.status_code": 200,
        "url.scheme": "http",
    }
    (point,) = recorded.points("http.server.request.duration")
    assert point.count == 1 and dict(point.attributes) == dict(request.attributes)


@pytest.mark.parametrize("value", ["", "nonsense", f"00-{'0' * 32}-{CALLER}-01"])
def test_a_request_without_a_trace_begins_one(value: str, traced: Served, recorded: Any) -> None:
    traced.client.get("/v1/stats", headers={"traceparent": value} if value else {})
    (request,) = recorded.spans("GET /v1/stats")
    assert request.parent is None


def test_only_templates_of_paths_are_recorded(traced: Served, recorded: Any) -> None:
    traced.client.get(f"/v1/messages/{PLANTED}", params={"user_id": PLANTED})
    traced.client.get(f"/{PLANTED}")
    traced.client.request(PLANTED.upper(), f"/v1/messages/{PLANTED}")
    names = [span.name for span in recorded.spans() if span.kind is SpanKind.SERVER]
    assert names[0] == "GET /v1/messages/{memory_id}" and len(names) == 3
    assert PLANTED not in recorded.everything().lower()


def test_a_fault_of_the_server_marks_its_span(traced: Served, recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"broken by {PLANTED}")

    monkeypatch.setattr(type(traced.memory.components), "searcher", property(fail))
    monkeypatch.setattr(type(traced.memory.components), "retriever", property(fail))
    assert traced.client.post("/v1/search", json={"query": PLANTED}).status_code == 500
    (request,), (search,) = recorded.spans("POST /v1/search"), recorded.spans("search_memory")
    for span, kind in ((request, {"500", "RuntimeError"}), (search, {"RuntimeError"})):
        assert span.status.status_code is StatusCode.ERROR and span.attributes["error.type"] in kind
    assert PLANTED not in recorded.everything()


def test_a_bad_request_is_no_fault_of_the_server(traced: Served, recorded: Any) -> None:
    assert traced.client.post("/v1/search", json={}).status_code == 422
    (request,) = recorded.spans("POST /v1/search")
    assert request.status.status_code is StatusCode.UNSET and request.attributes["http.response.status_code"] == 422


def test_nothing_is_added_to_a_server_that_records_nothing(served: Callable[..., Served]) -> None:
    assert "TracingMiddleware" not in {getattr(one.cls, "__name__", "") for one in served().app.user_middleware}
