"""Routes with the paths of mem0's server, for the same memory: /memories, /search, /reset. See
`nscma_torch.compat.mem0`.

The user comes from the token, as in all routes. With a token for any user, requests by memory id need no `user_id`.
/configure is not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from nscma_torch.compat.mem0 import operations, searching
from nscma_torch.core.errors import ScopeError
from nscma_torch.server.access import Caller, Principal, needs
from nscma_torch.server.app_context import Context
from nscma_torch.server.parameters import MANY, FilterParams, MessageIn, RunParams, StrictModel, UserParams

router = APIRouter(tags=["mem0"])
_JSON = dict[str, Any]
TopK = Annotated[int, Field(ge=0, le=10_000)]


class Mem0Item(BaseModel):
    """A memory in mem0's format, without empty keys."""

    model_config = ConfigDict(extra="allow")

    id: str
    memory: str
    hash: str
    metadata: dict[str, Any] | None
    score: float | None = None
    created_at: str
    updated_at: str
    user_id: str


class Mem0Items(BaseModel):
    """Memories in mem0's format."""

    results: list[Mem0Item]


class Mem0Event(BaseModel):
    """Result for one message."""

    model_config = ConfigDict(extra="allow")

    id: str
    memory: str
    event: str


class Mem0Events(BaseModel):
    """Results for all messages."""

    results: list[Mem0Event]


class Mem0Change(BaseModel):
    """An entry in a memory's history, in mem0's format."""

    id: str
    memory_id: str
    old_memory: str | None
    new_memory: str | None
    event: str
    created_at: str
    updated_at: str
    is_deleted: bool
    actor_id: str | None
    role: str | None


class Mem0Message(BaseModel):
    """A confirmation message."""

    message: str


class Mem0ListParams(RunParams):
    """Query parameters for listing the memories in a scope."""

    top_k: TopK = searching.TOP_K
    limit: TopK | None = Field(None, description="older name for top_k")
    show_expired: bool = False


class Mem0AddBody(RunParams):
    """Arguments of mem0's `add`."""

    messages: str | MessageIn | Annotated[list[MessageIn], MANY]
    metadata: dict[str, Any] | None = None
    timestamp: str | float | None = None
    expiration_date: str | None = None
    infer: bool = True
    memory_type: str | None = None
    prompt: str | None = None

    def arguments(self) -> _JSON:
        """Return the arguments of mem0's `add`, with the messages as mappings."""
        return {**super().arguments(), **self.model_dump(include={"messages"}, exclude_unset=True)}


class Mem0SearchBody(FilterParams):
    """Arguments of mem0's `search`."""

    query: str
    top_k: TopK = searching.TOP_K
    limit: TopK | None = Field(None, description="older name for top_k")
    threshold: float | None = searching.THRESHOLD
    rerank: bool = False
    explain: bool = False
    reference_date: str | None = None
    show_expired: bool = False


class Mem0UpdateBody(StrictModel):
    """Changes to a memory. `data` is an old name for `text`."""

    user_id: str | None = None
    text: str | None = None
    data: str | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: str | None = None

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if self.text is not None and self.data is not None:
            raise ValueError("give the new text in 'text' or in 'data'")
        return self


def _route(endpoint: str, name: str, answer: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the endpoint for mem0's version of an operation, so that it requires the operation's right."""
    verb, path = endpoint.split()
    options: _JSON = {"operation_id": f"mem0_{name}", "response_model": answer, "dependencies": [needs(name)]}
    return router.api_route(path, methods=[verb], **options)


@_route("POST /memories", "add", Mem0Events)
async def add(body: Mem0AddBody, caller: Caller, context: Context) -> Response:
    """Store messages and extract facts from them."""
    ids = _ids(body, caller)
    return await context.work.json(_JSON, operations.add, context.memory, ids=ids, **body.arguments())


@_route("GET /memories", "get_all", Mem0Items)
async def get_all(asked: Annotated[Mem0ListParams, Query()], caller: Caller, context: Context) -> Response:
    """Return the memories in a scope, in order of arrival."""
    ids = _ids(asked, caller)
    return await context.work.json(_JSON, operations.get_all, context.memory, ids=ids, **asked.arguments())


@_route("DELETE /memories", "delete_all", Mem0Message)
async def delete_all(asked: Annotated[RunParams, Query()], caller: Caller, context: Context) -> Response:
    """Hide all memories in a scope."""
    return await context.work.json(_JSON, operations.delete_all, context.memory, _ids(asked, caller))


@_route("GET /memories/{memory_id}", "get", Mem0Item | None)
async def get(memory_id: str, asked: Annotated[UserParams, Query()], caller: Caller, context: Context) -> Response:
    """Return a memory, or null if the id is unknown."""
    user = _owner(caller, asked.user_id)
    return await context.work.json(_JSON | None, operations.get, context.memory, memory_id, user_id=user)


@_route("PUT /memories/{memory_id}", "update", Mem0Message)
async def update(memory_id: str, body: Mem0UpdateBody, caller: Caller, context: Context) -> Response:
    """Change a memory's text, metadata or expiration date."""
    user, text = _owner(caller, body.user_id), body.data if body.text is None else body.text
    options: _JSON = body.model_dump(include={"metadata", "expiration_date"}, exclude_unset=True)
    return await context.work.json(_JSON, operations.update, context.memory, memory_id, text, user_id=user, **options)


@_route("DELETE /memories/{memory_id}", "delete", Mem0Message)
async def delete(memory_id: str, asked: Annotated[UserParams, Query()], caller: Caller, context: Context) -> Response:
    """Hide a memory."""
    user = _owner(caller, asked.user_id)
    return await context.work.json(_JSON, operations.delete, context.memory, memory_id, user_id=user)


@_route("GET /memories/{memory_id}/history", "history", list[Mem0Change])
async def history(memory_id: str, asked: Annotated[UserParams, Query()], caller: Caller, context: Context) -> Response:
    """Return a memory's history, oldest first."""
    user = _owner(caller, asked.user_id)
    return await context.work.json(list[_JSON], operations.history_events, context.memory, memory_id, user_id=user)


@_route("POST /search", "search", Mem0Items)
async def search(body: Mem0SearchBody, caller: Caller, context: Context) -> Response:
    """Return the memories that match a query, best first."""
    ids = _ids(body, caller)
    return await context.work.json(_JSON, searching.search, context.memory, ids=ids, **body.arguments())


@_route("POST /reset", "reset", Mem0Message)
async def reset(caller: Caller, context: Context) -> Mem0Message:
    """Erase all users in the store. This can't be undone."""
    caller.any_user()
    await context.pool("reset").run(context.memory.reset)
    return Mem0Message(message="All memories reset")


def _owner(caller: Principal, named: str | None) -> str | None:
    """Return the user to whom a lookup by id is restricted. As in mem0, returns None if the token is for any user and
    the request names none.
    """
    return None if caller.user_id is None and named is None else caller.user(named)


def _ids(asked: RunParams, caller: Principal) -> dict[str, Any]:
    """Return a request's ids with whitespace stripped, as in mem0. Unstripped ids could refer to another user."""
    scope = asked.scope(caller)
    if scope["user_id"] != scope["user_id"].strip():
        raise ScopeError("a user id in mem0 can't begin or end with whitespace; use /v1")
    return scope
