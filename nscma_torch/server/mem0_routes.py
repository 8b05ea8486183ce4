"""The paths of mem0's server over the same memory: /memories, /search, /reset. See `nscma_torch.compat.mem0`.

The user comes from the token, as everywhere; a token for any user needs no `user_id` for a memory's id. /configure is
not offered.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from nscma_torch.compat.mem0 import operations, searching
from nscma_torch.core.errors import ScopeError
from nscma_torch.server.access import Eraser, Principal, Reader, Writer
from nscma_torch.server.app_context import Context
from nscma_torch.server.schemas import MANY, FilterParams, MessageIn, RunParams, StrictModel, UserParams

router = APIRouter(tags=["mem0"])
_JSON = dict[str, Any]
TopK = Annotated[int, Field(ge=0, le=10_000)]


class Mem0Item(BaseModel):
    """A memory in mem0's form, without empty keys."""

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
    """Memories in mem0's form."""

    results: list[Mem0Item]


class Mem0Event(BaseModel):
    """Result for one message."""

    model_config = ConfigDict(extra="allow")

    id: str
    memory: str
    event: str


class Mem0Events(BaseModel):
    """Results for messages."""

    results: list[Mem0Event]


class Mem0Change(BaseModel):
    """A line of a memory's history in mem0's form."""

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
    """Confirmation message."""

    message: str


class Mem0ListParams(RunParams):
    """Query of a scope's memories."""

    top_k: TopK = searching.TOP_K
    limit: TopK | None = Field(None, description="an older name of top_k")
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

    def plain(self) -> Any:
        """Return the messages as mappings."""
        return self.model_dump(include={"messages"}, exclude_unset=True)["messages"]


class Mem0SearchBody(FilterParams):
    """Arguments of mem0's `search`."""

    query: str
    top_k: TopK = searching.TOP_K
    limit: TopK | None = Field(None, description="an older name of top_k")
    threshold: float | None = searching.THRESHOLD
    rerank: bool = False
    explain: bool = False
    reference_date: str | None = None
    show_expired: bool = False


class Mem0UpdateBody(StrictModel):
    """Changes to a memory; `data` is an old name of `text`."""

    user_id: str | None = None
    text: str | None = None
    data: str | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: str | None = None

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if self.text is not None and self.data is not None:
            raise ValueError("give the new text as text, or as data")
        return self


@router.post("/memories", operation_id="mem0_add", response_model=Mem0Events)
async def add(body: Mem0AddBody, caller: Writer, context: Context) -> Response:
    """Store messages, and extract their facts."""
    ids = _ids(body, caller)
    options = body.model_dump(exclude={"messages", "user_id", "agent_id", "run_id"})
    return await context.work.json(_JSON, operations.add, context.memory, body.plain(), ids, **options)


@router.get("/memories", operation_id="mem0_get_all", response_model=Mem0Items)
async def get_all(asked: Annotated[Mem0ListParams, Query()], caller: Reader, context: Context) -> Response:
    """Return the memories of a scope in order of arrival."""
    ids = _ids(asked, caller)
    options = asked.model_dump(include={"top_k", "limit", "show_expired"})
    return await context.work.json(_JSON, operations.get_all, context.memory, ids=ids, **options)


@router.delete("/memories", operation_id="mem0_delete_all", response_model=Mem0Message)
async def delete_all(asked: Annotated[RunParams, Query()], caller: Writer, context: Context) -> Response:
    """Hide all memories of a scope."""
    return await context.work.json(_JSON, operations.delete_all, context.memory, _ids(asked, caller))


@router.get("/memories/{memory_id}", operation_id="mem0_get", response_model=Mem0Item | None)
async def get(memory_id: str, asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a memory, or null if unknown."""
    user = _owner(caller, asked.user_id)
    return await context.work.json(_JSON | None, operations.get, context.memory, memory_id, user_id=user)


@router.put("/memories/{memory_id}", operation_id="mem0_update", response_model=Mem0Message)
async def update(memory_id: str, body: Mem0UpdateBody, caller: Writer, context: Context) -> Response:
    """Change a memory's text, metadata or expiration date."""
    user, text = _owner(caller, body.user_id), body.data if body.text is None else body.text
    options: _JSON = body.model_dump(include={"metadata", "expiration_date"}, exclude_unset=True)
    return await context.work.json(_JSON, operations.update, context.memory, memory_id, text, user_id=user, **options)


@router.delete("/memories/{memory_id}", operation_id="mem0_delete", response_model=Mem0Message)
async def delete(memory_id: str, asked: Annotated[UserParams, Query()], caller: Writer, context: Context) -> Response:
    """Hide a memory."""
    user = _owner(caller, asked.user_id)
    return await context.work.json(_JSON, operations.delete, context.memory, memory_id, user_id=user)


@router.get("/memories/{memory_id}/history", operation_id="mem0_history", response_model=list[Mem0Change])
async def history(memory_id: str, asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a memory's history, oldest first."""
    user = _owner(caller, asked.user_id)
    return await context.work.json(list[_JSON], operations.history_events, context.memory, memory_id, user_id=user)


@router.post("/search", operation_id="mem0_search", response_model=Mem0Items)
async def search(body: Mem0SearchBody, caller: Reader, context: Context) -> Response:
    """Return the memories that match a query, best first."""
    ids = _ids(body, caller)
    options = body.model_dump(exclude={"query", "user_id", "agent_id", "run_id"})
    return await context.work.json(_JSON, searching.search, context.memory, body.query, ids=ids, **options)


@router.post("/reset", operation_id="mem0_reset", response_model=Mem0Message)
async def reset(caller: Eraser, context: Context) -> Mem0Message:
    """Erase every user of the store. This can't be undone."""
    caller.any_user()
    await context.slow.run(context.memory.reset)
    return Mem0Message(message="All memories reset")


def _owner(caller: Principal, named: str | None) -> str | None:
    """The user who bounds a lookup by id; None, as in mem0, if the request may be about any user and names none."""
    return None if caller.user_id is None and named is None else caller.user(named)


def _ids(asked: RunParams, caller: Principal) -> dict[str, Any]:
    """Return a request's ids with whitespace stripped, as in mem0; unstripped they could address another user."""
    scope = asked.scope(caller)
    if scope["user_id"] != scope["user_id"].strip():
        raise ScopeError("mem0 has no user whose id begins or ends with whitespace; use /v1")
    return scope
