"""The paths of mem0's server over the same memory: /memories, /search, /reset. See `nscma_torch.compat.mem0`.

The user comes from the token, as everywhere; a request for any user needs no `user_id` beside a memory's id.
/configure is not offered.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from nscma_torch.compat.mem0 import operations, searching
from nscma_torch.core.errors import ScopeError
from nscma_torch.server.access import Eraser, Principal, Reader, Writer
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import MANY, Closed, Filtered, MessageIn, OfRun, OfUser

router = APIRouter(tags=["mem0"])
_JSON = dict[str, Any]
TopK = Annotated[int, Field(ge=0, le=10_000)]


class Item(BaseModel):
    """A memory as mem0 shows it; keys that say nothing are left out."""

    model_config = ConfigDict(extra="allow")

    id: str
    memory: str
    hash: str
    metadata: dict[str, Any] | None
    score: float | None = None
    created_at: str
    updated_at: str
    user_id: str


class Items(BaseModel):
    """Memories as mem0 shows them."""

    results: list[Item]


class Event(BaseModel):
    """Result for one message."""

    model_config = ConfigDict(extra="allow")

    id: str
    memory: str
    event: str


class Events(BaseModel):
    """Results for messages."""

    results: list[Event]


class Change(BaseModel):
    """A line of a memory's history as mem0 shows it."""

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


class Said(BaseModel):
    """Confirmation message."""

    message: str


class Listed(OfRun):
    """The memories of a scope."""

    top_k: TopK = searching.TOP_K
    limit: TopK | None = Field(None, description="an older name of top_k")
    show_expired: bool = False


class Created(OfRun):
    """Arguments of mem0's `add`."""

    messages: str | MessageIn | Annotated[list[MessageIn], MANY]
    metadata: dict[str, Any] | None = None
    timestamp: str | float | None = None
    expiration_date: str | None = None
    infer: bool = True
    memory_type: str | None = None
    prompt: str | None = None

    def plain(self) -> Any:
        """The messages as mappings."""
        return self.model_dump(include={"messages"}, exclude_unset=True)["messages"]


class Searched(Filtered):
    """Arguments of mem0's `search`."""

    query: str
    top_k: TopK = searching.TOP_K
    limit: TopK | None = Field(None, description="an older name of top_k")
    threshold: float | None = searching.THRESHOLD
    rerank: bool = False
    explain: bool = False
    reference_date: str | None = None
    show_expired: bool = False


class Updated(Closed):
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


@router.post("/memories", operation_id="mem0_add", response_model=Events)
async def add(body: Created, asker: Writer, here: Here) -> Response:
    """Store messages, and read them for facts."""
    ids = _ids(body, asker)
    options = body.model_dump(exclude={"messages", "user_id", "agent_id", "run_id"})
    return await here.work.json(_JSON, operations.add, here.memory, body.plain(), ids, **options)


@router.get("/memories", operation_id="mem0_get_all", response_model=Items)
async def get_all(asked: Annotated[Listed, Query()], asker: Reader, here: Here) -> Response:
    """The memories of a scope, in the order they came."""
    ids = _ids(asked, asker)
    options = asked.model_dump(include={"top_k", "limit", "show_expired"})
    return await here.work.json(_JSON, operations.get_all, here.memory, ids=ids, **options)


@router.delete("/memories", operation_id="mem0_delete_all", response_model=Said)
async def delete_all(asked: Annotated[OfRun, Query()], asker: Writer, here: Here) -> Response:
    """Hide all memories of a scope."""
    return await here.work.json(_JSON, operations.delete_all, here.memory, _ids(asked, asker))


@router.get("/memories/{memory_id}", operation_id="mem0_get", response_model=Item | None)
async def get(memory_id: str, asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """A memory by its id, or null."""
    user = _owner(asker, asked.user_id)
    return await here.work.json(_JSON | None, operations.get, here.memory, memory_id, user_id=user)


@router.put("/memories/{memory_id}", operation_id="mem0_update", response_model=Said)
async def update(memory_id: str, body: Updated, asker: Writer, here: Here) -> Response:
    """Change a memory's text, keys of its metadata, or its expiration date."""
    user, text = _owner(asker, body.user_id), body.data if body.text is None else body.text
    options: _JSON = body.model_dump(include={"metadata", "expiration_date"}, exclude_unset=True)
    return await here.work.json(_JSON, operations.update, here.memory, memory_id, text, user_id=user, **options)


@router.delete("/memories/{memory_id}", operation_id="mem0_delete", response_model=Said)
async def delete(memory_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Response:
    """Hide a memory."""
    user = _owner(asker, asked.user_id)
    return await here.work.json(_JSON, operations.delete, here.memory, memory_id, user_id=user)


@router.get("/memories/{memory_id}/history", operation_id="mem0_history", response_model=list[Change])
async def history(memory_id: str, asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """Return a memory's history, oldest first."""
    user = _owner(asker, asked.user_id)
    return await here.work.json(list[_JSON], operations.history_events, here.memory, memory_id, user_id=user)


@router.post("/search", operation_id="mem0_search", response_model=Items)
async def search(body: Searched, asker: Reader, here: Here) -> Response:
    """The memories that fit a query, best first."""
    ids = _ids(body, asker)
    options = body.model_dump(exclude={"query", "user_id", "agent_id", "run_id"})
    return await here.work.json(_JSON, searching.search, here.memory, body.query, ids=ids, **options)


@router.post("/reset", operation_id="mem0_reset", response_model=Said)
async def reset(asker: Eraser, here: Here) -> Said:
    """Erase every user of the store. There is no way back."""
    asker.any_user()
    await here.slow.run(here.memory.reset)
    return Said(message="All memories reset")


def _owner(asker: Principal, named: str | None) -> str | None:
    """The user who bounds a lookup by id; None, as in mem0, if the request may be about any user and names none."""
    return None if asker.user_id is None and named is None else asker.user(named)


def _ids(asked: OfRun, asker: Principal) -> dict[str, Any]:
    """The ids of a request as mem0 has them, which cuts blanks from an id and would so reach another user."""
    scope = asked.scope(asker)
    if scope["user_id"] != scope["user_id"].strip():
        raise ScopeError("mem0 has no user whose id begins or ends with a blank; use /v1")
    return scope
