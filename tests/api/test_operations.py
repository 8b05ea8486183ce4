"""`Memory`, `AsyncMemory`, REST and mem0's paths have the operations of one table, with its rights."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytest.importorskip("fastapi")

from nscma_torch.api.async_memory import AsyncMemory
from nscma_torch.api.memory import Memory
from nscma_torch.api.operations import GROUPS, OPERATIONS
from nscma_torch.server.app import create_app
from nscma_torch.server.app_context import ServerSettings
from tests.server.operations import resolved

ENDPOINTS = {name: one for name, one in OPERATIONS.items() if one.endpoint}
PYTHON_ONLY = {"as_module", "backup", "close"}
NOT_OF_MEMORY = {"relations", "live", "ready", "metrics"}
BY_HAND = {"add", "records", "erase"}  # whose arguments are in another form
Described = dict[str, tuple[str, dict[str, Any], set[str]]]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Described:
    """Endpoint, rights and arguments of each operation of the OpenAPI document, by its id."""
    folder = tmp_path_factory.mktemp("document")
    with Memory(folder / "store.db", config={"embedder": {"model": "hash"}}) as memory:
        document = create_app(memory, ServerSettings(folder / "tokens")).openapi()
    return {
        one["operationId"]: (f"{verb.upper()} {path}", one, arguments(one, document))
        for path, verbs in document["paths"].items()
        for verb, one in verbs.items()
    }


def arguments(one: dict[str, Any], document: dict[str, Any]) -> set[str]:
    """Names in the path, the query and the body."""
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {})
    found = {parameter["name"] for parameter in one.get("parameters", [])}
    return found | set(resolved(body.get("schema", {}), document).get("properties", {}))


def rights(one: dict[str, Any]) -> list[str]:
    return [right for need in one["security"] for scopes in need.values() for right in scopes]


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def test_the_table_has_every_method() -> None:
    assert {one.name for one in OPERATIONS.values()} == public(Memory) == public(AsyncMemory)
    assert OPERATIONS.keys() - ENDPOINTS.keys() == PYTHON_ONLY
    assert len(OPERATIONS) == sum(map(len, GROUPS.values()))
    assert len({one.endpoint for one in ENDPOINTS.values()}) == len(ENDPOINTS)


def test_the_document_has_every_operation(described: Described) -> None:
    ours = {name for name in described if not name.startswith("mem0_")}
    assert ours - NOT_OF_MEMORY == ENDPOINTS.keys()
    for name, operation in ENDPOINTS.items():
        endpoint, said, _ = described[name]
        assert endpoint == f"{operation.verb} {operation.path}"
        assert rights(said) == [operation.right] and said["description"], name


def test_mem0_needs_the_rights_of_the_table(described: Described) -> None:
    needed = {name.removeprefix("mem0_"): rights(one) for name, (_, one, _) in described.items() if "mem0_" in name}
    assert len(needed) == 9
    assert needed == {name: [OPERATIONS[name].right] for name in needed}


def test_arguments_are_those_of_the_method(described: Described) -> None:
    assert described["restore"][2] == {"memory_id", "user_id"} and described["verify"][2] == set()
    assert described["facts"][2] == set(inspect.signature(Memory.facts).parameters) - {"self"}
    assert described["update"][2] == set(inspect.signature(Memory.update).parameters) - {"self", "now"}
    for name, operation in ENDPOINTS.items():
        taken = set(inspect.signature(getattr(Memory, operation.name)).parameters)
        if not (operation.streamed or name in BY_HAND):
            assert described[name][2] <= taken, name
        assert ("now" in described[name][2]) is operation.now, name
