"""Endpoints for messages: what was said, its changes, and conversations."""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Response
from pydantic import Field

from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Episode, HistoryEvent, MemoryRecord, MemoryType, Resolution, Sentiment
from nscma_torch.episodic.log.sessions import Session
from nscma_torch.server.access import Reader, Writer
from nscma_torch.server.ndjson import MEDIA_TYPE, Added, AddStream
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import (
    AddBody,
    AddedOut,
    Changed,
    Count,
    Counted,
    FeedbackBody,
    OfRun,
    OfUser,
    QueryBody,
    Time,
    UpdateBody,
)

router = APIRouter(prefix="/v1", tags=["messages"])
T = TypeVar("T")
STREAM = "/v1/messages/stream"


class Listed(OfRun):
    """The messages of a scope."""

    limit: Count | None = 100
    now: Time | None = None
    expired: bool = False


class Logged(OfRun):
    """The log of a scope."""

    deferred: bool | None = None
    limit: Count | None = 100


class Sessions(OfRun):
    """The conversations of a scope."""

    limit: Count | None = 100


class Window(OfRun):
    """The last turns of a conversation."""

    session: str | None = None
    turns: Count | None = None


class Recorded(OfRun):
    """Structured records of a scope, and what they must be."""

    type: list[MemoryType] = Field(default_factory=list)
    sentiment: list[Sentiment] = Field(default_factory=list)
    resolution: list[Resolution] = Field(default_factory=list)
    entity: str | None = None
    importance: float | None = None
    limit: Count | None = 100

    def wanted(self) -> dict[str, object] | None:
        """The filter as `Memory.records` takes it."""
        named = self.model_dump(include={"type", "sentiment", "resolution", "entity", "importance"})
        return {name: value for name, value in named.items() if value not in (None, [])} or None


class Streamed(OfRun):
    """Options for storing a stream of messages."""

    infer: bool = True
    ids: bool = Field(False, description="name the id of each message in the answer")
    idempotency_key: str | None = Field(
        None,
        description="with its number the key of a line that has none, so that a retry adds nothing",
    )


def _there(found: T | None, memory_id: str, what: str = "active message") -> T:
    """Return `found`. Raises `NotFoundError` for None."""
    if found is None:
        raise NotFoundError(f"there is no {what} with id {memory_id!r}; GET /v1/log lists the ids")
    return found


@router.post("/messages", operation_id="add", response_model=AddedOut)
async def add(body: AddBody, asker: Writer, here: Here) -> Response:
    """Store a text, a message or a list of messages; on disk and findable when this is answered."""
    scope = body.scope(asker)

    def stored() -> AddedOut:
        options = body.model_dump(exclude={"messages", "source", "user_id", "agent_id", "run_id"})
        return AddedOut.model_construct(results=here.memory.add(body.plain(), **scope, **options))

    return await here.work.json(AddedOut, stored)


@router.post(
    "/messages/stream",
    operation_id="add_many",
    responses={200: {"content": {MEDIA_TYPE: {"schema": Added.model_json_schema()}}}},
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def add_many(asked: Annotated[Streamed, Query()], asker: Writer, here: Here) -> Response:
    """Store a stream of messages, one a line; each line of the answer tells of a batch that is on disk.

    The last line has `done` true, or says in `error` what was wrong: batches before it are stored, the rest is not.
    """
    return AddStream(here, asked.scope(asker), infer=asked.infer, ids=asked.ids, key=asked.idempotency_key)


@router.get("/messages", operation_id="get_all", response_model=list[Episode])
async def get_all(asked: Annotated[Listed, Query()], asker: Reader, here: Here) -> Response:
    """Active messages of a scope in the order they came."""
    scope, options = asked.scope(asker), asked.model_dump(include={"limit", "now", "expired"})
    return await here.work.json(list[Episode], here.memory.get_all, **scope, **options)


@router.post("/messages/query", operation_id="query", response_model=list[Episode])
async def query(body: QueryBody, asker: Reader, here: Here) -> Response:
    """Active messages of a scope whose metadata fit `filters`."""
    scope, options = body.scope(asker), body.model_dump(include={"filters", "limit", "now", "expired"})
    return await here.work.json(list[Episode], here.memory.get_all, **scope, **options)


@router.delete("/messages", operation_id="delete_all", response_model=Counted)
async def delete_all(asked: Annotated[OfRun, Query()], asker: Writer, here: Here) -> Response:
    """Hide all messages of a scope from every read but the history; `restore` brings each back."""
    scope = asked.scope(asker)
    return await here.work.json(Counted, lambda: Counted(count=here.memory.delete_all(**scope)))


@router.get("/messages/{memory_id}", operation_id="get", response_model=Episode)
async def get(memory_id: str, asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """A message by its id."""
    user = asked.user(asker)

    def found() -> Episode:
        return _there(here.memory.get(memory_id, user_id=user), memory_id)

    return await here.work.json(Episode, found)


@router.patch("/messages/{memory_id}", operation_id="update", response_model=Episode)
async def update(memory_id: str, body: UpdateBody, asker: Writer, here: Here) -> Response:
    """Replace a message's text, keys of its metadata, or its expiration date; the history keeps the old."""
    user, changes = body.user(asker), body.model_dump(exclude={"user_id"}, exclude_unset=True)
    return await here.work.json(Episode, here.memory.update, memory_id, user_id=user, **changes)


@router.delete("/messages/{memory_id}", operation_id="delete", response_model=Changed)
async def delete(memory_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Response:
    """Hide a message from every read but its history; `restore` brings it back, `erase` deletes it for real."""
    user = asked.user(asker)
    return await here.work.json(Changed, lambda: Changed(changed=here.memory.delete(memory_id, user_id=user)))


@router.post("/messages/{memory_id}/restore", operation_id="restore", response_model=Changed)
async def restore(memory_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Response:
    """Bring a deleted message back."""
    user = asked.user(asker)
    return await here.work.json(Changed, lambda: Changed(changed=here.memory.restore(memory_id, user_id=user)))


@router.get("/messages/{memory_id}/history", operation_id="history", response_model=list[HistoryEvent])
async def history(memory_id: str, asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """Return a message's history, oldest first."""
    return await here.work.json(list[HistoryEvent], here.memory.history, memory_id, user_id=asked.user(asker))


@router.get("/messages/{memory_id}/record", operation_id="record", response_model=MemoryRecord)
async def record(memory_id: str, asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """The structured record of a message."""
    user = asked.user(asker)

    def found() -> MemoryRecord:
        return _there(here.memory.record(memory_id, user_id=user), memory_id, "structured record of a message")

    return await here.work.json(MemoryRecord, found)


@router.post("/messages/{memory_id}/feedback", operation_id="feedback", status_code=204, response_class=Response)
async def feedback(memory_id: str, body: FeedbackBody, asker: Writer, here: Here) -> Response:
    """Say whether a message that was found helped: it ranks higher and fades later, or the other way round."""
    await here.work.run(here.memory.feedback, memory_id, user_id=body.user(asker), helpful=body.helpful)
    return Response(status_code=204)


@router.get("/log", operation_id="log", response_model=list[Episode])
async def log(asked: Annotated[Logged, Query()], asker: Reader, here: Here) -> Response:
    """All messages of a scope with the gate's decisions, deleted ones too."""
    scope = asked.scope(asker)
    return await here.work.json(list[Episode], here.memory.log, **scope, deferred=asked.deferred, limit=asked.limit)


@router.get("/records", operation_id="records", response_model=list[MemoryRecord])
async def records(asked: Annotated[Recorded, Query()], asker: Reader, here: Here) -> Response:
    """Structured records of a scope's messages."""
    scope = asked.scope(asker)
    return await here.work.json(
        list[MemoryRecord], here.memory.records, **scope, record=asked.wanted(), limit=asked.limit
    )


@router.get("/sessions", operation_id="sessions", response_model=list[Session])
async def sessions(asked: Annotated[Sessions, Query()], asker: Reader, here: Here) -> Response:
    """The conversations of a scope, the one last spoken in first."""
    return await here.work.json(list[Session], here.memory.sessions, **asked.scope(asker), limit=asked.limit)


@router.get("/window", operation_id="window", response_model=list[Episode])
async def window(asked: Annotated[Window, Query()], asker: Reader, here: Here) -> Response:
    """The messages of the last turns of a conversation, oldest first."""
    scope = asked.scope(asker)
    return await here.work.json(list[Episode], here.memory.window, **scope, session=asked.session, turns=asked.turns)
