"""MCP over streamable HTTP at the server's path /mcp, authenticated by the server's tokens.

There are no sessions: each request is independent and carries its token, so nobody can take over another's session,
several servers can share one address, and a restart goes unnoticed. Responses are plain JSON, not streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import APIRouter
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from nscma_torch.server.app_context import AppContext, RouteGroup
from nscma_torch.server.mcp.dispatcher import Dispatcher, over_http
from nscma_torch.server.mcp.serving import MemoryServer, memory_server

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory

PATH = "/mcp"


def route_group(context: AppContext) -> RouteGroup:
    """Return the route group with the protocol's endpoint."""

    async def memory() -> Memory:
        return context.memory

    endpoint = _Endpoint(
        memory_server(Dispatcher(memory, context.work, context.slow, over_http)), context.config.server.max_body
    )
    router = APIRouter()
    router.add_route(PATH, endpoint, methods=["POST"], include_in_schema=False)  # type: ignore[arg-type]
    return RouteGroup((router,), lifespan=endpoint.lifespan)


class _Endpoint:
    """An ASGI application at exactly one path, without the trailing slash that a mount requires."""

    def __init__(self, server: MemoryServer, max_body: int) -> None:
        self._server = server
        self._max_body = max_body
        self._managers: dict[asyncio.AbstractEventLoop, StreamableHTTPSessionManager] = {}

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Open the endpoint in the running event loop."""
        self._server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            max_request_body_size=self._max_body,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `guards.Sites` does
        )
        manager = self._server.session_manager  # of the application just made; each runs once
        loop = asyncio.get_running_loop()
        async with manager.run():
            self._managers[loop] = manager
            try:
                yield
            finally:
                del self._managers[loop]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._managers[asyncio.get_running_loop()].handle_request(scope, receive, send)
