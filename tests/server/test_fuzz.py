"""Malformed requests: values that fit no schema, bytes that are no JSON. Each is answered by a problem."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nscma_torch.api.memory import Memory
from nscma_torch.core.protocols import Embedder
from tests.conftest import LIGHT
from tests.helpers.noting import NotedTasks
from tests.server.conftest import Served, serving
from tests.server.operations import Operation, operations, resolved

STRANGE = ["", " ", "\0", "\ud800", "ﷺ" * 300, "1e999", "-0", "../../etc/passwd", "'; DROP TABLE users; --", "🜚", "NaN"]
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(STRANGE) | st.text(max_size=40)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(STRANGE) | st.text(max_size=8), inner),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def fuzzed(
    tmp_path_factory: pytest.TempPathFactory, light_surprise: Any, embedder: Embedder
) -> Iterator[tuple[Served, list[Operation], dict[str, Any]]]:
    """A server with a memory of Ben's and a token of Ana's, its operations and its document."""
    folder = tmp_path_factory.mktemp("fuzz")
    config = {**LIGHT, "server": {"rate": 1e6, "burst": 1_000_000, "max_body": 100_000}}
    with (
        Memory(
            folder / "store.db", config=config, surprise_model=light_surprise, embedder=embedder, tasks=NotedTasks()
        ) as memory,
        serving(memory, folder / "tokens") as server,
    ):
        memory.add("The xylophone is Ben's.", user_id="ben")
        server.client.headers.update(server.token("ana"))
        document = server.client.get("/openapi.json").json()
        yield server, list(operations(document)), document


def fields(one: Operation, document: dict[str, Any]) -> list[str]:
    """Names of all that the body of an operation may hold."""
    said = document["paths"][one.path][one.method.lower()]
    content = said.get("requestBody", {}).get("content", {}).get("application/json")
    return list(resolved(content["schema"], document)["properties"]) if content else []


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_value_breaks_an_operation(fuzzed: Any, data: st.DataObject) -> None:
    server, all_, document = fuzzed
    one = data.draw(st.sampled_from(all_))
    ids = {name: data.draw(st.sampled_from(["x", "é", "%00", "..", "a" * 300])) for name in ("memory_id", "skill_id")}
    request = one.request({**ids, "decision_id": "x", "proposal_id": "x", "kind": "insight"})
    if one.body is not None:
        names = st.sampled_from([*fields(one, document), "unknown", "\ud800"])
        body = {**request["json"], **data.draw(st.dictionaries(names, values, max_size=4))}
        request = {key: value for key, value in request.items() if key != "json"}
        request |= {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}
    else:
        names = st.sampled_from(["limit", "user_id", "agent_id", "now", "as_of", "importance", "type", "x"])
        request["params"] = {**request["params"], **data.draw(st.dictionaries(names, texts, max_size=3))}
    check(server, request)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["-1", "0", "1e99", "9" * 40])


@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_bytes_break_an_operation(fuzzed: Any, data: st.DataObject) -> None:
    server, all_, _ = fuzzed
    one = data.draw(st.sampled_from([one for one in all_ if one.body is not None or one.lines]))
    content = data.draw(
        st.binary(max_size=60)
        | st.sampled_from([b"[" * 50_000, b'{"a":' * 20_000, b"1" * 50_000, b"\xef\xbb\xbf{}", b'"\\ud800"', b"nul"])
        | st.builds(lambda value: json.dumps(value).encode(), values)
    )
    kinds = [
        "application/json",
        "application/json; charset=utf-16",
        "text/plain",
        "application/x-ndjson",
        "",
        "x/y+json",
    ]
    headers = {"Content-Type": data.draw(st.sampled_from(kinds))}
    ids = dict.fromkeys(("memory_id", "skill_id", "decision_id", "proposal_id"), "x")
    check(server, {**one.request(ids), "json": None, "content": content, "headers": headers})


def check(server: Served, request: dict[str, Any]) -> None:
    got = server.client.request(**request)
    assert got.status_code < 500, (request, got.text)
    if got.status_code >= 400:
        assert got.headers["content-type"] == "application/problem+json", request
        told = got.json()
        assert told["status"] == got.status_code and told["type"] and told["title"]
    assert "xylophone" not in got.text


def test_the_neighbour_is_as_he_was(fuzzed: Any) -> None:
    """After all of these: what is Ben's is there, and every index equals its rows."""
    server, _, _ = fuzzed
    assert [one.text for one in server.memory.get_all(user_id="ben")] == ["The xylophone is Ben's."]
    assert server.memory.verify() == []
