"""Authorise MCP calls and run them in the memory's threads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from starlette.requests import Request

from nscma_torch.api.operations import OPERATIONS, Right
from nscma_torch.server.access import Principal, principal_of
from nscma_torch.server.work import CallPool

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory

T = TypeVar("T")
Scope = dict[str, Any]  # user_id and agent_id, as the methods of Memory take them


@dataclass(frozen=True, slots=True)
class McpCaller:
    """An MCP caller and the scope that it names.

    Args:
        users: the users named in the address. At most one is allowed, and it must match the token's user if the token
            has one.
        agent_id: restricts all calls to one agent.
    """

    principal: Principal
    users: tuple[str, ...] = ()
    agent_id: str | None = None

    def scope(self, right: Right) -> Scope:
        """Return the scope of the call. Raises `ForbiddenError` if the right is missing or another user is named."""
        self.principal.need(right)
        return {"user_id": self.principal.user(*self.users), "agent_id": self.agent_id}


def over_http(request: Request | None) -> McpCaller:
    """Return the caller of an HTTP request, identified by its token. If the token is for any user, `?user_id=` names
    the user.
    """
    assert request is not None
    query = request.query_params
    return McpCaller(principal_of(request.scope), tuple(query.getlist("user_id")), query.get("agent_id"))


class Dispatcher:
    """Dispatches calls to tools and resources.

    Args:
        memory: returns the memory, which may still be opening.
        work: runs short calls; `slow` runs long ones.
        asking: identifies the caller from the HTTP request, which is None on stdio.
    """

    def __init__(
        self,
        memory: Callable[[], Awaitable[Memory]],
        work: CallPool,
        slow: CallPool,
        identify: Callable[[Request | None], McpCaller],
    ) -> None:
        self._memory = memory
        self._work = work
        self._slow = slow
        self._identify = identify
        self._caller: ContextVar[McpCaller] = ContextVar("caller")

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """MCP middleware: set the caller for the duration of a request."""
        token = self._caller.set(self._identify(ctx.request))
        try:
            return await call_next(ctx)
        finally:
            self._caller.reset(token)

    async def call(self, operation: str, call: Callable[[Memory, Scope], T]) -> T:
        """Run `call`, which performs an operation, on behalf of the current caller, and return its result.

        The call completes even if the client cancels or disconnects. Raises `ForbiddenError`, before running it, if the
        right is missing.
        """
        known = OPERATIONS[operation]
        scope = self._caller.get().scope(known.right)
        memory = await self._memory()
        return await (self._slow if known.slow else self._work).run(call, memory, scope)
