"""Endpoints for messages: what was said, its changes, and conversations."""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Response
from pydantic import Field

from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Episode, HistoryEvent, MemoryRecord, MemoryType, Resolution, Sentiment
from nscma_torch.episodic.log.sessions import Session
from nscma_torch.server.access import Reader, Writer
from nscma_torch.server.app_context import Context
from nscma_torch.server.ndjson import MEDIA_TYPE, AddedLine, AddStream
from nscma_torch.server.schemas import (
    AddBody,
    AddedOut,
    ChangedOut,
    Count,
    CountOut,
    FeedbackBody,
    QueryBody,
    RunParams,
    Time,
    UpdateBody,
    UserParams,
)

router = APIRouter(prefix="/v1", tags=["messages"])
T = TypeVar("T")
STREAM = "/v1/messages/stream"


class ListParams(RunParams):
    """The messages of a scope."""

    limit: Count | None = 100
    now: Time | None = None
    expired: bool = False


class LogParams(RunParams):
    """The log of a scope."""

    deferred: bool | None = None
    limit: Count | None = 100


class SessionsParams(RunParams):
    """The conversations of a scope."""

    limit: Count | None = 100


class WindowParams(RunParams):
    """The last turns of a conversation."""

    session: str | None = None
    turns: Count | None = None


class RecordsParams(RunParams):
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


class StreamParams(RunParams):
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
async def add(body: AddBody, caller: Writer, context: Context) -> Response:
    """Store a text, a message or a list of messages; on disk and findable when this is answered."""
    scope = body.scope(caller)

    def stored() -> AddedOut:
        options = body.model_dump(exclude={"messages", "source", "user_id", "agent_id", "run_id"})
        return AddedOut.model_construct(results=context.memory.add(body.plain(), **scope, **options))

    return await context.work.json(AddedOut, stored)


@router.post(
    "/messages/stream",
    operation_id="add_many",
    responses={200: {"content": {MEDIA_TYPE: {"schema": AddedLine.model_json_schema()}}}},
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def add_many(asked: Annotated[StreamParams, Query()], caller: Writer, context: Context) -> Response:
    """Store a stream of messages, one a line; each line of the answer tells of a batch that is on disk.

    The last line has `done` true, or says in `error` what was wrong: batches before it are stored, the rest is not.
    """
    return AddStream(context, asked.scope(caller), infer=asked.infer, ids=asked.ids, key=asked.idempotency_key)


@router.get("/messages", operation_id="get_all", response_model=list[Episode])
async def get_all(asked: Annotated[ListParams, Query()], caller: Reader, context: Context) -> Response:
    """Active messages of a scope in the order they came."""
    scope, options = asked.scope(caller), asked.model_dump(include={"limit", "now", "expired"})
    return await context.work.json(list[Episode], context.memory.get_all, **scope, **options)


@router.post("/messages/query", operation_id="query", response_model=list[Episode])
async def query(body: QueryBody, caller: Reader, context: Context) -> Response:
    """Active messages of a scope whose metadata fit `filters`."""
    scope, options = body.scope(caller), body.model_dump(include={"filters", "limit", "now", "expired"})
    return await context.work.json(list[Episode], context.memory.get_all, **scope, **options)


@router.delete("/messages", operation_id="delete_all", response_model=CountOut)
async def delete_all(asked: Annotated[RunParams, Query()], caller: Writer, context: Context) -> Response:
    """Hide all messages of a scope from every read but the history; `restore` brings each back."""
    scope = asked.scope(caller)
    return await context.work.json(CountOut, lambda: CountOut(count=context.memory.delete_all(**scope)))


@router.get("/messages/{memory_id}", operation_id="get", response_model=Episode)
async def get(memory_id: str, asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """A message by its id."""
    user = asked.user(caller)

    def found() -> Episode:
        return _there(context.memory.get(memory_id, user_id=user), memory_id)

    return await context.work.json(Episode, found)


@router.patch("/messages/{memory_id}", operation_id="update", response_model=Episode)
async def update(memory_id: str, body: UpdateBody, caller: Writer, context: Context) -> Response:
    """Replace a message's text, keys of its metadata, or its expiration date; the history keeps the old."""
    user, changes = body.user(caller), body.model_dump(exclude={"user_id"}, exclude_unset=True)
    return await context.work.json(Episode, context.memory.update, memory_id, user_id=user, **changes)


@router.delete("/messages/{memory_id}", operation_id="delete", response_model=ChangedOut)
async def delete(memory_id: str, asked: Annotated[UserParams, Query()], caller: Writer, context: Context) -> Response:
    """Hide a message from every read but its history; `restore` brings it back, `erase` deletes it for real."""
    user = asked.user(caller)
    return await context.work.json(
        ChangedOut, lambda: ChangedOut(changed=context.memory.delete(memory_id, user_id=user))
    )


@router.post("/messages/{memory_id}/restore", operation_id="restore", response_model=ChangedOut)
async def restore(memory_id: str, asked: Annotated[UserParams, Query()], caller: Writer, context: Context) -> Response:
    """Bring a deleted message back."""
    user = asked.user(caller)
    return await context.work.json(
        ChangedOut, lambda: ChangedOut(changed=context.memory.restore(memory_id, user_id=user))
    )


@router.get("/messages/{memory_id}/history", operation_id="history", response_model=list[HistoryEvent])
async def history(memory_id: str, asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a message's history, oldest first."""
    return await context.work.json(list[HistoryEvent], context.memory.history, memory_id, user_id=asked.user(caller))


@router.get("/messages/{memory_id}/record", operation_id="record", response_model=MemoryRecord)
async def record(memory_id: str, asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """The structured record of a message."""
    user = asked.user(caller)

    def found() -> MemoryRecord:
        return _there(context.memory.record(memory_id, user_id=user), memory_id, "structured record of a message")

    return await context.work.json(MemoryRecord, found)


@router.post("/messages/{memory_id}/feedback", operation_id="feedback", status_code=204, response_class=Response)
async def feedback(memory_id: str, body: FeedbackBody, caller: Writer, context: Context) -> Response:
    """Say whether a message that was found helped: it ranks higher and fades later, or the other way round."""
    await context.work.run(context.memory.feedback, memory_id, user_id=body.user(caller), helpful=body.helpful)
    return Response(status_code=204)


@router.get("/log", operation_id="log", response_model=list[Episode])
async def log(asked: Annotated[LogParams, Query()], caller: Reader, context: Context) -> Response:
    """All messages of a scope with the gate's decisions, deleted ones too."""
    scope = asked.scope(caller)
    return await context.work.json(
        list[Episode], context.memory.log, **scope, deferred=asked.deferred, limit=asked.limit
    )


@router.get("/records", operation_id="records", response_model=list[MemoryRecord])
async def records(asked: Annotated[RecordsParams, Query()], caller: Reader, context: Context) -> Response:
    """Structured records of a scope's messages."""
    scope = asked.scope(caller)
    return await context.work.json(
        list[MemoryRecord], context.memory.records, **scope, record=asked.wanted(), limit=asked.limit
    )


@router.get("/sessions", operation_id="sessions", response_model=list[Session])
async def sessions(asked: Annotated[SessionsParams, Query()], caller: Reader, context: Context) -> Response:
    """The conversations of a scope, the one last spoken in first."""
    return await context.work.json(list[Session], context.memory.sessions, **asked.scope(caller), limit=asked.limit)


@router.get("/window", operation_id="window", response_model=list[Episode])
async def window(asked: Annotated[WindowParams, Query()], caller: Reader, context: Context) -> Response:
    """The messages of the last turns of a conversation, oldest first."""
    scope = asked.scope(caller)
    return await context.work.json(
        list[Episode], context.memory.window, **scope, session=asked.session, turns=asked.turns
    )
