"""MCP resources: the user's profile, the recent conversations, and the last turns of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer

from nscma_torch.server.mcp.dispatcher import Dispatcher, Scope
from nscma_torch.server.mcp.result_models import (
    ConversationsResult,
    FoundPassage,
    ProfileEntry,
    ProfileResult,
    TurnsResult,
)

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory

_JSON = "application/json"
_RECENT = 20


def add_resources(server: MCPServer[Any], dispatcher: Dispatcher) -> None:
    """Register the resources; each reads the caller's own data."""

    @server.resource("nscma://profile", name="profile", title="Profile of the user", mime_type=_JSON)
    async def profile() -> str:
        """Return dated lines about the user, each with its source messages."""

        def told(memory: Memory, scope: Scope) -> str:
            lines = [
                ProfileEntry(text=one.text, since=one.day.isoformat(), message_ids=one.episode_ids)
                for one in memory.profile(**scope)
            ]
            return ProfileResult(lines=lines).model_dump_json()

        return await dispatcher.call("profile", told)

    @server.resource("nscma://sessions", name="sessions", title="Recent conversations", mime_type=_JSON)
    async def sessions() -> str:
        """Return the most recent conversations, newest first, each with its first words."""

        def told(memory: Memory, scope: Scope) -> str:
            found = {"sessions": memory.sessions(**scope, limit=_RECENT)}
            return ConversationsResult.model_validate(found, from_attributes=True).model_dump_json()

        return await dispatcher.call("sessions", told)

    @server.resource("nscma://sessions/{name}", name="session", title="A conversation", mime_type=_JSON)
    async def session(name: str) -> str:
        """Return the last turns of a conversation, verbatim."""

        def told(memory: Memory, scope: Scope) -> str:
            found = memory.window(**scope, session=name)
            return TurnsResult(messages=[FoundPassage.of(one, one.id) for one in found]).model_dump_json()

        return await dispatcher.call("window", told)
