"""Sessions on stdio, with `nscma mcp` as a child process: every tool and resource, and SIGKILL after an answer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from nscma_torch.api.memory import Memory
from nscma_torch.server.access import Principal
from nscma_torch.server.mcp import stdio
from nscma_torch.server.mcp.dispatcher import Dispatcher, McpCaller
from nscma_torch.server.mcp.serving import memory_server
from nscma_torch.server.mcp.unreadable import error_answer
from nscma_torch.server.tokens import RIGHTS
from nscma_torch.server.work import CallPool
from tests.server.mcp.conftest import refused, run
from tests.server.mcp.script import everything

ROOT = Path(__file__).parents[3]
LIGHT = """
device = "cpu"
[embedder]
model = "hash"
[reading]
model = "none"
[worker]
poll = 0.05
[gate]
rule = "everything"
[facts]
units = ["triple", "atomic_fact"]
"""


@pytest.fixture
def child(tmp_path: Path) -> Callable[..., list[str]]:
    """`child("--can", …)`: the words of a server for Ana."""
    (tmp_path / "light.toml").write_text(LIGHT)

    def words(*options: str) -> list[str]:
        files = ["--store", str(tmp_path / "store.db"), "--config", str(tmp_path / "light.toml")]
        return [sys.executable, "-m", "nscma_torch", "mcp", "--user", "ana", *files, *options]

    return words


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), *sys.path])
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}


def test_every_tool_and_resource(
    child: Callable[..., list[str]], open_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    command, *arguments = child("--can", "read,write,erase")

    async def work() -> str:
        server = StdioServerParameters(command=command, args=arguments, env=environment())
        async with Client(stdio_client(server)) as client:
            return await everything(client)

    kept = run(work)
    memory = open_memory(tmp_path / "store.db")
    assert [one.id for one in memory.get_all(user_id="ana")] == [kept]
    assert memory.stats().users == 1 and memory.verify() == []


def test_what_is_answered_survives_sigkill(
    child: Callable[..., list[str]], open_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    """And without the right to erase nothing is erased, whatever the client wants."""

    def request(number: int, method: str, **params: object) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    with subprocess.Popen(child(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request(1, "initialize", **hello))
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "nscma"
        ids = []
        for number in range(2, 6):
            arguments = {"text": f"Message {number}."}
            process.stdin.write(request(number, "tools/call", name="remember", arguments=arguments))
            process.stdin.flush()
            told = json.loads(process.stdout.readline())
            assert told["id"] == number, told
            ids.append(told["result"]["structuredContent"]["id"])
        erase = {"id": ids[0], "action": "erase"}
        process.stdin.write(request(6, "tools/call", name="forget", arguments=erase))
        process.stdin.flush()
        assert "right to erase" in json.loads(process.stdout.readline())["result"]["content"][0]["text"]
        half = {"name": "remember", "arguments": {"text": "I like \ud83d tea."}}
        process.stdin.write(b"\n" + request(7, "tools/call", **half))
        process.stdin.flush()
        told = json.loads(process.stdout.readline())
        assert told["id"] == 7 and "lone surrogate" in told["error"]["message"]
        process.kill()
    memory = open_memory(tmp_path / "store.db")
    assert [one.id for one in memory.get_all(user_id="ana")] == ids
    assert memory.verify() == []


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (r'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"a": ["\ud83d"]}}', 3, PARSE_ERROR),
        (r'{"jsonrpc": "2.0", "id": "\ud83d", "method": "tools/list"}', None, PARSE_ERROR),
        ('{"jsonrpc": "2.0", "id": "x", "method": 5}', "x", INVALID_REQUEST),
        ('{"jsonrpc": "2.0", "id": 4', None, PARSE_ERROR),
        ("[]", None, INVALID_REQUEST),
        (r'{"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": "\ud83d"}}', "none", 0),
        ('{"jsonrpc": "2.0", "id": 4, "result": 5}', "none", 0),
        ("", "none", 0),
    ],
)
def test_lines_that_cannot_be_read_are_answered(line: str, number: int | str | None, code: int) -> None:
    """But for notifications, responses and blank lines, which have no answer."""
    with pytest.raises(ValidationError) as fault:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    answer = error_answer(fault.value)
    if number == "none":
        assert answer is None
    else:
        assert answer is not None and (answer.id, answer.error.code) == (number, code)
        answer.model_dump_json()


def test_a_store_out_of_reach_is_told_by_every_tool(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The child opens its store while it is greeted; here without the child."""
    (tmp_path / "store.db").write_bytes(b"no store at all, but sixteen bytes")
    asker = McpCaller(Principal("ana", frozenset(RIGHTS), "stdio"))

    async def work() -> None:
        pool = CallPool(1, 1)
        opening = asyncio.ensure_future(pool.run(stdio._opened, tmp_path / "store.db", None))
        opening.add_done_callback(stdio._tell)

        async def memory() -> Memory:
            return await asyncio.shield(opening)

        async with Client(memory_server(Dispatcher(memory, pool, pool, lambda _: asker))) as client:
            for tool, given in (("recall", {"query": "tea"}), ("remember", {"text": "I like tea."})):
                assert "store.db" in await refused(client, tool, **given)
        pool.close()

    run(work)
    assert "out of reach" in caplog.text
