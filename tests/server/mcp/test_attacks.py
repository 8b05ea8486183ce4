"""Every tool of the list, and every resource, by everybody who must not: none is named here, so none is forgotten."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import Tool

from nscma_torch.server.mcp.http import route_group
from nscma_torch.server.tokens import RIGHTS
from tests.server.conftest import Served
from tests.server.mcp.conftest import FAST, MODES, refused, run, session

SECRET = "xylophone"  # a word of Ben's memory alone
_WORDS = {"subject": "user", "relation": "lives_in", "session": "ben's", "text": "My flute is in Faro.", "key": "k"}
Door = Callable[..., tuple[Served, int]]


def requests(tool: Tool, ids: list[str]) -> Iterator[dict[str, Any]]:
    """Arguments that fit a tool: the required ones, then each optional one too, of enumerations every value."""
    given = tool.input_schema
    required = given.get("required", [])
    choices = {name: list(samples(name, schema, ids)) for name, schema in given["properties"].items()}
    for extra in (None, *(name for name in choices if name not in required)):
        names = [*required, *([extra] if extra else [])]
        for values in itertools.product(*(choices[name] for name in names)):
            yield dict(zip(names, values, strict=True))


def samples(name: str, schema: dict[str, Any], ids: list[str]) -> Iterator[Any]:
    if name == "id":
        yield from ids
        return
    if "enum" in schema:
        yield from schema["enum"]
        return
    kinds = [one.get("type") for one in schema.get("anyOf", [schema])]
    if "format" in json.dumps(schema):
        yield "2026-01-01T00:00:00Z"
    elif "boolean" in kinds:
        yield True
    elif "integer" in kinds:
        yield 5
    else:
        yield _WORDS.get(name, f"Where is the {SECRET}?")


def filled(server: Served) -> list[str]:
    """Ben's memory, and the ids of what is his."""
    message = {"role": "user", "content": f"My {SECRET} is in Porto.", "session": "ben's"}
    one = server.memory.add([message, "I live in Braga."], user_id="ben")
    server.memory.flush()
    return [added.id for added in one]


def state(server: Served) -> object:
    return server.memory.digest(user_id="ben"), [*server.memory.export(user_id="ben")]


async def uris(client: Client) -> list[str]:
    named = [str(one.uri) for one in (await client.list_resources()).resources]
    made = (await client.list_resource_templates()).resource_templates
    found = named + [one.uri_template.replace("{name}", "ben's") for one in made]
    assert found and not any("{" in one for one in found), "a template with a part that no test here fills"
    assert not (await client.list_prompts()).prompts, "prompts, which no test here asks for"
    return found


@pytest.mark.parametrize("mode", MODES)
def test_no_tool_serves_another_user(door: Door, mode: str) -> None:
    """Ana has all rights over her own memory, and knows all ids of Ben's."""
    server, port = door()
    ids, headers = filled(server), server.token("ana")
    before = state(server)

    async def work() -> int:
        asked = 0
        async with session(port, headers, mode) as client:
            for tool in (await client.list_tools()).tools:
                asking = requests(tool, ids)
                for arguments in asking if mode == "auto" else itertools.islice(asking, 1):
                    got = await client.call_tool(tool.name, arguments)
                    told = got.model_dump_json()
                    for value in arguments.values():  # what she says herself may come back
                        told = told.replace(json.dumps(value)[1:-1], "")
                    assert SECRET not in told and "Braga" not in told, (tool.name, arguments)
                    asked += 1
                for name in ("user_id", "user", "agent_id", "scope", "filters"):
                    for arguments in itertools.islice(requests(tool, ids), 1):
                        assert name in await refused(client, tool.name, **{**arguments, name: "ben"})
            for uri in await uris(client):
                try:
                    assert SECRET not in (await client.read_resource(uri)).model_dump_json()
                except MCPError as error:
                    assert SECRET not in str(error)
        return asked

    assert run(work) > (30 if mode == "auto" else 5)
    assert state(server) == before


def test_no_address_names_another_user(served: Callable[..., Served]) -> None:
    server = served(FAST, route_groups=[route_group])
    headers = server.token("ana") | {"accept": "application/json", "content-type": "application/json"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert server.client.post("/mcp", json=body, headers=headers).status_code == 200
    got = server.client.post("/mcp?user_id=ben", json=body, headers=headers)
    assert got.status_code == 403 and "a different user" in got.json()["detail"]


def test_each_tool_needs_its_right(door: Door) -> None:
    """By the hints of the tools themselves: who may only read changes nothing, who may not read learns nothing."""
    server, port = door()
    ids = filled(server)
    before = state(server)

    async def work() -> None:
        async with session(port, server.token("ben", "read")) as client:
            writing = [one for one in (await client.list_tools()).tools if not hint(one)]
            assert writing
            for tool in writing:
                for arguments in requests(tool, ids):
                    assert "right to" in await refused(client, tool.name, **arguments), (tool.name, arguments)
        async with session(port, server.token("ben", "write,erase")) as client:
            reading = [one for one in (await client.list_tools()).tools if hint(one)]
            assert reading
            for tool in reading:
                for arguments in requests(tool, ids):
                    assert "right to read" in await refused(client, tool.name, **arguments), (tool.name, arguments)
            for uri in await uris(client):
                with pytest.raises(MCPError, match="right to read"):
                    await client.read_resource(uri)
        async with session(port, server.token("ben", "read,write")) as client:
            for id in ids:
                assert "right to erase" in await refused(client, "forget", id=id, action="erase")
        async with session(port, server.token("ben", "read,erase")) as client:
            for id, action in itertools.product(ids, ("hide", "restore")):
                assert "right to write" in await refused(client, "forget", id=id, action=action)

    run(work)
    assert state(server) == before
    assert set(RIGHTS) == {"read", "write", "erase"}


def test_a_revoked_token_ends_its_session(door: Door) -> None:
    server, port = door()
    headers = server.token("ben")

    async def work() -> None:
        async with session(port, headers) as client:
            await client.call_tool("recall", {"query": "tea"})
            server.tokens.revoke(server.tokens.all()[0].id)
            with pytest.raises(Exception, match="Server returned an error response"):
                await client.call_tool("recall", {"query": "tea"})

    run(work)


def hint(tool: Tool) -> bool:
    assert tool.annotations is not None
    return bool(tool.annotations.read_only_hint)
