"""Real sessions of the `mcp` package: over HTTP on a port of the loopback, by both generations of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from nscma_torch.api.memory import Memory
from nscma_torch.server.mcp.http import route_group
from tests.server.conftest import Served, serving

T = TypeVar("T")
MODES = ["auto", "legacy"]  # without a handshake, and with one
FAST = {"rate": 1e6, "burst": 1_000_000}


@asynccontextmanager
async def session(
    port: int, headers: dict[str, str] | None = None, mode: str = "auto", query: str = ""
) -> AsyncIterator[Client]:
    """A session over HTTP."""
    async with httpx2.AsyncClient(headers=headers or {}, timeout=30) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp{query}", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def run(call: Callable[[], Awaitable[T]]) -> T:
    """What an asynchronous test returns."""

    async def main() -> T:
        return await call()

    return asyncio.run(main())


async def said(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool that succeeds."""
    got = await client.call_tool(tool, arguments)
    assert not got.is_error, got.content
    assert got.structured_content is not None
    return got.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The message of a tool that fails."""
    got = await client.call_tool(tool, arguments)
    assert got.is_error, got.content
    return str(got.content[0].text)  # type: ignore[union-attr]


@pytest.fixture
def served(open_memory: Callable[..., Memory], light_surprise: Any, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """The parent folder's, with language tasks that read."""
    with ExitStack() as stack:

        def make(server: dict[str, Any] | None = None, **options: Any) -> Served:
            config = {"gate": {"rule": "everything"}, "retrieval": {"floor": -1.0}, "server": server or {}}
            memory = open_memory(config=config, surprise_model=light_surprise)
            return stack.enter_context(serving(memory, tmp_path / "store.db.tokens", **options))

        yield make


@pytest.fixture
def door(listening: Callable[..., tuple[Served, int]]) -> Callable[..., tuple[Served, int]]:
    """`door({…})`: a server with the MCP route group, and its port."""

    def make(server: dict[str, Any] | None = None) -> tuple[Served, int]:
        return listening({**FAST, **(server or {})}, route_groups=[route_group])

    return make
