"""The OpenAPI document against the server: requests that fit its schemas break nothing, answers are as it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nscma_torch.api.memory import Memory
from nscma_torch.core.protocols import Embedder
from tests.conftest import LIGHT
from tests.helpers.fake_chat_server import completion, fake_chat_server
from tests.helpers.noting import NotedTasks
from tests.server.conftest import Served, route_groups_of_serve, serving
from tests.server.fitting import fitting
from tests.server.operations import LINES

SECRET = "xylophone"
PROBLEM = "application/problem+json"
QUIET = settings(
    max_examples=3, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
MORE = settings(QUIET, max_examples=60)
Described = tuple[Served, dict[str, Any], dict[str, str]]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, light_surprise: Any, embedder: Embedder) -> Iterator[Described]:
    """A server with all its route groups, its document, and ids of what is Ana's, who asks; Ben has a memory, too."""
    folder = tmp_path_factory.mktemp("document")
    config = {**LIGHT, "gate": {"rule": "everything"}, "server": {"rate": 1e6, "burst": 1_000_000}}
    with (
        fake_chat_server(lambda _: completion("Yes.")) as upstream,
        Memory(
            folder / "store.db", config=config, surprise_model=light_surprise, embedder=embedder, tasks=NotedTasks()
        ) as memory,
        serving(memory, folder / "tokens", route_groups=route_groups_of_serve(upstream.url)) as server,
    ):
        memory.add(f"The {SECRET} is Ben's.", user_id="ben")
        said = memory.add("I live in Porto {Ana|lives_in|Porto}.", user_id="ana")[0]
        memory.flush()
        skill = memory.add_skill("swim", trigger="a lake", steps=["go in"], user_id="ana")
        decision = memory.decisions(user_id="ana")[0].id
        ids = {"memory_id": said.id, "skill_id": skill.id, "decision_id": decision, "proposal_id": decision}
        server.client.headers.update(server.token("ana"))
        yield server, server.client.get("/openapi.json").json(), {**ids, "kind": "insight"}


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each."""
    return [(method, path, one) for path, many in document["paths"].items() for method, one in many.items()]


def whole(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """A schema with what its references name."""
    return {**schema, "components": document["components"]}


def requests(
    method: str, path: str, said: dict[str, Any], document: dict[str, Any], ids: dict[str, str]
) -> st.SearchStrategy[dict[str, Any]]:
    """Requests that fit the document; the ids are real ones, or any."""
    places: dict[str, st.SearchStrategy[Any]] = {}
    queries: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for one in said.get("parameters", []):
        name, values = one["name"], fitting(one["schema"], document)
        if one["in"] == "path":
            places[name] = st.sampled_from([ids.get(name, "x")] * 3 + ["x", "é", "%2e%2e%2f", "a" * 300])
        elif one["in"] == "query":
            (queries if one["required"] else optional)[name] = values.map(shown)
    content = said.get("requestBody", {}).get("content", {})
    body: st.SearchStrategy[Any] = st.none()
    if "application/json" in content:
        body = fitting(content["application/json"]["schema"], document).map(json.dumps)
    elif LINES in content:
        line = st.builds(lambda text: json.dumps({"role": "user", "content": text}), st.text(min_size=1))
        body = st.lists(line, max_size=3).map("\n".join)
    kind = LINES if LINES in content else "application/json"
    return st.builds(
        lambda path_values, params, text: {
            "method": method.upper(),
            "url": path.format(**path_values),
            "params": {key: value for key, value in params.items() if value is not None},
            **({} if text is None else {"content": text, "headers": {"content-type": kind}}),
        },
        st.fixed_dictionaries(places),
        st.fixed_dictionaries(queries, optional=optional),
        body,
    )


def shown(value: Any) -> str | None:
    """A value in a query."""
    if value is None or isinstance(value, str):
        return None if value is None or any("\ud800" <= char <= "\udfff" for char in value) else value
    return json.dumps(value)


def check(described: Described, method: str, path: str, said: dict[str, Any], request: dict[str, Any]) -> int:
    server, document, _ = described
    got = server.client.request(**request)
    assert got.status_code < 500, (request, got.text)
    assert SECRET not in got.text, request
    told = said["responses"].get(str(got.status_code)) or said["responses"].get(f"{got.status_code // 100}XX")
    assert told is not None, (request, got.status_code, "is not in the document")
    kind = got.headers.get("content-type", "").partition(";")[0]
    if got.status_code >= 400:
        assert kind == PROBLEM, (request, got.text)
    elif kind == "application/json" and "schema" in told.get("content", {}).get(kind, {}):
        jsonschema.validate(got.json(), whole(told["content"][kind]["schema"], document))
    return int(got.status_code)


def statuses(described: Described, method: str, path: str, said: dict[str, Any], how_many: settings) -> set[int]:
    """Of so many requests that fit an operation."""
    found: set[int] = set()

    @how_many
    @given(request=requests(method, path, said, described[1], described[2]))
    def ask(request: dict[str, Any]) -> None:
        found.add(check(described, method, path, said, request))

    ask()
    return found


def test_every_operation_is_as_it_is_described(described: Described) -> None:
    """A few requests that fit, of each: no error of the server's, a status that is named, an answer that fits."""
    all_ = operations(described[1])
    found = {said["operationId"]: statuses(described, method, path, said, QUIET) for method, path, said in all_}
    served = {name for name, seen in found.items() if min(seen) < 300}
    assert len(served) >= len(all_) / 2, f"most were refused: {sorted(set(found) - served)}"


@pytest.mark.prove
def test_every_operation_is_as_it_is_described_by_many_requests(described: Described) -> None:
    """The same, sixty of each."""
    for method, path, said in operations(described[1]):
        statuses(described, method, path, said, MORE)
    assert described[0].memory.verify() == []


def test_the_neighbour_is_as_he_was(described: Described) -> None:
    server, _, _ = described
    assert [one.text for one in server.memory.get_all(user_id="ben")] == [f"The {SECRET} is Ben's."]
    assert server.memory.verify() == []
