"""What bears little on a turn is put before no model: by the proxy, MCP's recall, and the hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.server.mcp import hooks
from nscma_torch.server.proxy.block_text import OPEN
from tests.helpers.fake_chat_server import completion, fake_chat_server
from tests.server.conftest import Served, route_groups_of_serve

FACT = "My sister Marta works at the harbour in Porto."
NEAR, FAR = "Where does my sister Marta work?", "Write a haiku about rain."


def test_a_search_for_what_bears_on_it(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    memory.add(FACT, user_id="ana")
    assert [hit.text for hit in memory.search(NEAR, user_id="ana", relevant=True)] == [FACT]
    assert memory.search(FAR, user_id="ana", relevant=True) == [] != memory.search(FAR, user_id="ana")
    assert memory.search(FAR, user_id="ben", relevant=True) == []
    open_to_all = open_memory("other.db", config={"retrieval": {"floor": -1.0}}, surprise_model=light_surprise)
    open_to_all.add(FACT, user_id="ana")
    assert len(open_to_all.search(FAR, user_id="ana", relevant=True)) == 1


@pytest.mark.parametrize(("turn", "found"), [(NEAR, True), (FAR, False)])
def test_every_door_that_prompts(turn: str, found: bool, served: Callable[..., Served]) -> None:
    """The same memory and turn by the proxy, by MCP and by a hook; a plain search finds it in any case."""
    with fake_chat_server(lambda _: completion("Yes.")) as upstream:
        server = served(route_groups=route_groups_of_serve(upstream.url))
        server.memory.add(FACT, user_id="default")
        call = {"name": "recall", "arguments": {"query": turn}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        got = server.client.post("/mcp", json=body, headers={"accept": "application/json, text/event-stream"})
        shown = got.json()["result"]["structuredContent"]["passages"]
        assert (FACT in [one["text"] for one in shown]) is found
        told = hooks.recall({"prompt": turn, "session_id": "s"}, door_of(server))
        assert (told is not None and FACT in told) is found
        plain = server.client.post("/v1/search", json={"query": turn}).json()
        assert FACT in json.dumps(plain)
        got = server.client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": turn}]})
        assert got.headers["x-nscma-memory"] == ("recalled" if found else "nothing")
        assert (OPEN in upstream.asked[-1].body.decode()) is found


def door_of(server: Served) -> Any:
    """A hook's way to a server of this process."""

    class InProcess:
        def post(self, path: str, body: dict[str, Any]) -> Any:
            return server.client.post(path, json=body).json()

    return InProcess()
