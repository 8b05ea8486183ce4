"""Serve MCP on stdin and stdout to one user, from a store opened in this process with a background worker.

The store is opened in the background during the client's handshake, since clients wait only a few seconds for the
handshake. If the store can't be opened, every tool reports that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from nscma_torch.api.operations import Right
from nscma_torch.core.records import Scope
from nscma_torch.server.access import Principal
from nscma_torch.server.mcp.dispatcher import Dispatcher, McpCaller
from nscma_torch.server.mcp.serving import memory_server
from nscma_torch.server.problems import log
from nscma_torch.server.work import CallPool

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory

_THREADS, _WAITING = 8, 128
_SLOW, _SLOW_WAITING = 2, 32  # calls that take long


def serve(store: str, config: Path | None, user: str, agent: str | None, rights: Iterable[Right]) -> None:
    """Serve one client until it closes stdin. Acknowledged messages are on disk; queued work stays queued.

    Raises `ScopeError` for an invalid user or agent.
    """
    whose = Scope(user, agent)
    caller = McpCaller(Principal(whose.user_id, frozenset(rights), "stdio"), agent_id=whose.agent_id)
    asyncio.run(_serve(store, config, caller))


async def _serve(store: str, config: Path | None, caller: McpCaller) -> None:
    work, slow = CallPool(_THREADS, _WAITING), CallPool(_SLOW, _SLOW_WAITING)
    opening = asyncio.ensure_future(slow.run(_opened, store, config))
    opening.add_done_callback(_tell)

    async def memory() -> Memory:
        return await asyncio.shield(opening)

    try:
        await memory_server(Dispatcher(memory, work, slow, lambda _: caller)).run_stdio_async()
    finally:
        await asyncio.wait([opening])
        work.close()
        slow.close()
        if opening.exception() is None:
            opening.result().close()


def _opened(store: str, config: Path | None) -> Memory:
    from nscma_torch.api.memory import Memory

    return Memory(store, config=config, background=True)


def _tell(opening: asyncio.Future[Memory]) -> None:
    error = opening.exception()
    if error is not None:
        log.error("the memory in the store is out of reach: %s", error)
