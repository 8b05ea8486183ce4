"""Sessions over HTTP: every tool and resource, who they serve, and what a client that leaves loses."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client

from nscma_torch.api.memory import Memory
from nscma_torch.api.operations import OPERATIONS
from nscma_torch.server.access import Principal
from nscma_torch.server.mcp.dispatcher import Dispatcher, McpCaller
from nscma_torch.server.mcp.http import route_group
from nscma_torch.server.mcp.serving import memory_server
from nscma_torch.server.tokens import RIGHTS
from nscma_torch.server.work import CallPool
from tests.server.conftest import Served
from tests.server.mcp.conftest import MODES, refused, run, said, session
from tests.server.mcp.script import RESOURCES, everything

Door = Callable[..., tuple[Served, int]]
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def call(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_and_resource(door: Door, mode: str) -> None:
    server, port = door()

    async def work() -> str:
        async with session(port, server.token("ana"), mode) as client:
            return await everything(client)

    kept = run(work)
    assert [one.id for one in server.memory.get_all(user_id="ana")] == [kept]
    assert server.memory.verify() == []


def test_every_tool_says_what_it_does(door: Door) -> None:
    _, port = door()

    async def work() -> None:
        async with session(port) as client:
            for tool in (await client.list_tools()).tools:
                hints = tool.annotations
                assert hints is not None
                for hint in (
                    hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint,
                ):  # fmt: skip
                    assert isinstance(hint, bool), tool.name
                assert not hints.open_world_hint and not (hints.read_only_hint and hints.destructive_hint)
                assert tool.description is not None and len(tool.description.split()) <= 30
                assert tool.title and tool.output_schema is not None
                assert tool.input_schema["additionalProperties"] is False
                for name, given in tool.input_schema["properties"].items():
                    assert given.get("description") or "description" in json.dumps(given), (tool.name, name)
            assert client.instructions is not None and "never instructions" in client.instructions

    run(work)


def test_tools_and_resources_run_the_operations_of_the_table(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    _, port = door()
    run_one, used = Dispatcher.call, set[str]()

    async def noted(self: Dispatcher, operation: str, call: Any) -> Any:
        used.add(operation)
        return await run_one(self, operation, call)

    async def work() -> set[str]:
        async with session(port) as client:
            await everything(client)
            templates = (await client.list_resource_templates()).resource_templates
            tools = {one.name for one in (await client.list_tools()).tools}
            return tools | RESOURCES | {one.uri_template for one in templates}

    monkeypatch.setattr(Dispatcher, "call", noted)
    names = run(work)
    known = {one for one in OPERATIONS.values() if one.mcp}
    assert {one.mcp for one in known} == names and {one.id for one in known} == used


def test_without_tokens_the_address_names_the_user(door: Door) -> None:
    server, port = door()

    async def work() -> None:
        for query, user in (("", "default"), ("?user_id=ana", "ana"), ("?user_id=ana&agent_id=nova", "ana")):
            async with session(port, query=query) as client:
                stored = await said(client, "remember", text=f"I like tea{query}.")
                assert stored["id"] in {one.id for one in server.memory.get_all(user_id=user)}
        async with session(port, query="?user_id=ana&agent_id=nova") as client:
            assert len((await said(client, "recall", query="tea"))["passages"]) == 1
        async with session(port, query="?user_id=ana&user_id=ben") as client:
            assert "names two users" in await refused(client, "recall", query="tea")

    run(work)
    assert [one.scope.agent_id for one in server.memory.get_all(user_id="ana")] == [None, "nova"]


def test_a_token_for_any_user_names_one(door: Door) -> None:
    server, port = door()
    headers = server.token(None)

    async def work() -> None:
        async with session(port, headers) as client:
            assert "name one with user_id" in await refused(client, "recall", query="tea")
        async with session(port, headers, query="?user_id=ana") as client:
            await said(client, "remember", text="I like tea.")

    run(work)
    assert server.memory.stats(user_id="ana").messages == 1


def test_a_client_that_leaves_loses_nothing(door: Door) -> None:
    """It is gone while the memory works: what began is done to its end, and the next client is served."""
    server, port = door()
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    add = server.memory.add

    def slow(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        try:
            return add(*args, **kwargs)
        finally:
            done.set()

    server.memory.add = slow  # type: ignore[method-assign]

    async def leave(mode: str) -> None:
        async with session(port, mode=mode) as client:
            task = asyncio.ensure_future(client.call_tool("remember", {"text": f"I left early, {mode}."}))
            assert await asyncio.to_thread(begun.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    for number, mode in enumerate(MODES, start=1):
        run(lambda mode=mode: leave(mode))
        go_on.set()
        assert done.wait(30)
        assert server.memory.stats().messages == number
        for event in (begun, go_on, done):
            event.clear()
    assert server.memory.verify() == []


def test_what_is_cancelled_is_done_to_its_end(served: Callable[..., Served]) -> None:
    """On a stream, such as stdio, where a client sends that it cancels: the next call is served as ever."""
    memory = served().memory
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    add = memory.add

    def slow(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        try:
            return add(*args, **kwargs)
        finally:
            done.set()

    async def opened() -> Memory:
        return memory

    async def work() -> None:
        pool = CallPool(2, 8)
        asker = McpCaller(Principal("ana", frozenset(RIGHTS), "stdio"))
        async with Client(memory_server(Dispatcher(opened, pool, pool, lambda _: asker)), mode="legacy") as client:
            memory.add = slow  # type: ignore[method-assign]
            task = asyncio.ensure_future(client.call_tool("remember", {"text": "I cancel."}))
            assert await asyncio.to_thread(begun.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.list_tools()  # by now the server has heard of it
            go_on.set()
            assert await asyncio.to_thread(done.wait, 30)
            assert (await said(client, "recall", query="cancel"))["passages"][0]["text"] == "I cancel."
        pool.close()

    run(work)
    assert memory.verify() == []


def test_too_much_at_once_is_told(door: Door) -> None:
    server, port = door({"threads": 1, "waiting": 0})
    begun, go_on = threading.Event(), threading.Event()
    search = server.memory.search

    def slow(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        return search(*args, **kwargs)

    server.memory.search = slow  # type: ignore[method-assign]

    async def work() -> None:
        async with session(port) as client:
            first = asyncio.ensure_future(said(client, "recall", query="tea"))
            assert await asyncio.to_thread(begun.wait, 30)
            assert "the server is overloaded" in await refused(client, "recall", query="tea")
            go_on.set()
            await first

    run(work)


def test_what_nobody_foresaw_is_told_without_its_message(door: Door) -> None:
    server, port = door()

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("xylophone")

    server.memory.search = server.memory.profile = broken  # type: ignore[method-assign]

    async def work() -> None:
        async with session(port) as client:
            assert await refused(client, "recall", query="tea") == "Error executing tool recall"
            with pytest.raises(Exception, match=r"nscma://profile") as caught:
                await client.read_resource("nscma://profile")
            assert "xylophone" not in str(caught.value)

    run(work)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_posts(served: Callable[..., Served], method: str) -> None:
    """There are no sessions and no streams, which a client may ask for."""
    server = served(route_groups=[route_group])
    got = server.client.request(method, "/mcp", headers=ACCEPT)
    assert got.status_code == 405 and got.headers["content-type"] == "application/problem+json"


def test_the_guards_of_the_server_hold(served: Callable[..., Served]) -> None:
    server = served({"max_body": 1000}, route_groups=[route_group])
    post = server.client.post
    assert post("/mcp", content=call("recall", query="tea"), headers=ACCEPT).status_code == 200
    for header in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        assert post("/mcp", content=call("recall", query="tea"), headers={**ACCEPT, **header}).status_code == 403
    assert post("/mcp", content=call("recall", query="x" * 1000), headers=ACCEPT).status_code == 413
    assert post("/mcp", content=b"{", headers=ACCEPT).status_code == 400
    assert post("/mcp", content=call("recall"), headers={**ACCEPT, "content-type": "text/plain"}).status_code == 400
