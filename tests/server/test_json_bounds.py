"""A body of too many values is refused by its bytes, in time and memory that follow its length."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from nscma_torch.server.json_bounds import exceeded
from tests.server.conftest import Served

MANY = 1_000_000
BODIES = {
    "numbers": b'{"messages":[' + b",".join([b"1"] * MANY) + b"]}",
    "texts": b'{"messages":[' + b",".join([b'""'] * MANY) + b"]}",
    "objects": b'{"messages":[' + b",".join([b"{}"] * MANY) + b"]}",
    "members": b"{" + b",".join(b'"k%d":1' % number for number in range(100_000)) + b"}",
    "arrays inside each other": b"[" * MANY,
    "open text after escapes": b'{"a":[' + b"[" * 300 + b'"' + b'\\"' * MANY,
}


@pytest.mark.parametrize("kind", [kind for kind in BODIES if "open" not in kind])
def test_too_many_values(kind: str) -> None:
    began = time.process_time()
    assert exceeded(BODIES[kind])
    assert time.process_time() - began < 1


def test_the_count_is_linear_in_escapes_without_an_end() -> None:
    began = time.process_time()
    exceeded(BODIES["open text after escapes"])
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "value",
    [
        {"messages": "1, 2, [3], {4} " * 100_000},
        {"messages": ['said "x", [y]\\'] * 4_000},
        {"messages": [{"role": "user", "content": "I moved.", "metadata": {"a": 1}}] * 4_000},
        [[[[1, 2], {}]]],
    ],
)
def test_what_a_text_holds_does_not_count(value: object) -> None:
    assert exceeded(json.dumps(value).encode()) is None


def test_bounds_are_exact() -> None:
    assert exceeded(b"[1,1,1]", most=3) is None and exceeded(b"[1,1,1,1]", most=3)
    assert exceeded(b'[",",[]]', most=3, deepest=2) is None and exceeded(b"[[[]]]", deepest=2)


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/search", "/v1/skills", "/memories", "/v1/feedback/none"])
def test_the_server_reads_no_body_of_too_many_values(served: Callable[..., Served], path: str) -> None:
    got = served().client.post(path, content=BODIES["numbers"], headers={"content-type": "application/json"})
    assert got.status_code in (404, 413)
    if got.status_code == 413:
        assert "50,000 values" in got.json()["detail"]


def test_errors_of_a_list_stop_at_the_first(served: Callable[..., Served]) -> None:
    client = served().client
    for path, body in (
        ("/v1/messages", {"messages": [1] * 4_000}),
        ("/v1/skills", {"name": "a", "trigger": "b", "steps": [1] * 40_000}),
        ("/v1/search", {"query": "a", "kinds": [1] * 40_000}),
        ("/memories", {"messages": [1] * 4_000}),
    ):
        got = client.post(path, json=body)
        assert got.status_code == 422 and len(got.json()["errors"]) < 8
    got = client.post("/v1/messages", json={"messages": ["I moved."] * 5_000})
    assert got.status_code == 422 and "4096" in got.text
