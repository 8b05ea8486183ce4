"""The paths of mem0's server (2.2) over the same memory: /memories, /search, /reset.

What differs: the user comes from the token; every message is a memory, as nothing is rewritten; `filters` are values
that metadata must equal; `updated_at` is None; /configure is not offered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, model_validator

from nscma_torch.records import Added, Episode, HistoryEvent
from nscma_torch.server.access import Eraser, Reader, Writer
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import AddBody, Closed, Count, Filtered, OfRun, OfUser

router = APIRouter(tags=["mem0"])
_EVENTS = ("ADD", "UPDATE", "DELETE")


class Event(BaseModel):
    """What became of a message."""

    id: str
    memory: str
    event: str


class Events(BaseModel):
    """What became of messages."""

    results: list[Event]


class Item(BaseModel):
    """A memory as mem0 shows it."""

    id: str
    memory: str
    hash: str
    metadata: dict[str, Any] | None
    score: float | None = None
    created_at: str
    updated_at: str | None = None
    user_id: str
    agent_id: str | None
    run_id: str | None
    actor_id: str | None
    role: str


class Items(BaseModel):
    """Memories as mem0 shows them."""

    results: list[Item]


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
    actor_id: str | None = None
    role: str | None = None


class Said(BaseModel):
    """What was done."""

    message: str


class Listed(OfRun):
    """The memories of a scope."""

    top_k: Count = 100


class Searched(Filtered):
    """What mem0's server takes for a search."""

    query: str
    top_k: Annotated[int, Field(ge=1, le=10_000)] = 20
    threshold: float | None = None
    explain: bool = False


class Updated(Closed):
    """The new text of a memory, under either of mem0's names."""

    user_id: str | None = None
    text: str | None = None
    data: str | None = None

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if (self.text is None) == (self.data is None):
            raise ValueError("give the new text as text, or as data")
        return self


@router.post("/memories", operation_id="mem0_add", response_model=Events)
async def add(body: AddBody, asker: Writer, here: Here) -> Response:
    """Store messages."""
    scope = body.scope(asker)

    def stored() -> Events:
        options = body.model_dump(exclude={"messages", "user_id", "agent_id", "run_id"})
        return Events(results=[_event(one) for one in here.memory.add(body.plain(), **scope, **options)])

    return await here.work.json(Events, stored)


@router.get("/memories", operation_id="mem0_get_all", response_model=Items)
async def get_all(asked: Annotated[Listed, Query()], asker: Reader, here: Here) -> Response:
    """The memories of a scope, in the order they came."""
    scope = asked.scope(asker)

    def found() -> Items:
        return Items(results=[_item(one) for one in here.memory.get_all(**scope, limit=asked.top_k)])

    return await here.work.json(Items, found)


@router.delete("/memories", operation_id="mem0_delete_all", response_model=Said)
async def delete_all(asked: Annotated[OfRun, Query()], asker: Writer, here: Here) -> Said:
    """Hide all memories of a scope."""
    await here.work.run(here.memory.delete_all, **asked.scope(asker))
    return Said(message="Memories deleted successfully!")


@router.get("/memories/{memory_id}", operation_id="mem0_get", response_model=Item | None)
async def get(memory_id: str, asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """A memory by its id, or null."""
    user = asked.user(asker)

    def found() -> Item | None:
        episode = here.memory.get(memory_id, user_id=user)
        return None if episode is None else _item(episode)

    return await here.work.json(Item | None, found)


@router.put("/memories/{memory_id}", operation_id="mem0_update", response_model=Said)
async def update(memory_id: str, body: Updated, asker: Writer, here: Here) -> Said:
    """Replace the text of a memory."""
    text = body.data if body.text is None else body.text
    await here.work.run(here.memory.update, memory_id, text or "", user_id=asker.user(body.user_id))
    return Said(message="Memory updated successfully!")


@router.delete("/memories/{memory_id}", operation_id="mem0_delete", response_model=Said)
async def delete(memory_id: str, asked: Annotated[OfUser, Query()], asker: Writer, here: Here) -> Said:
    """Hide a memory."""
    await here.work.run(here.memory.delete, memory_id, user_id=asked.user(asker))
    return Said(message="Memory deleted successfully!")


@router.get("/memories/{memory_id}/history", operation_id="mem0_history", response_model=list[Change])
async def history(memory_id: str, asked: Annotated[OfUser, Query()], asker: Reader, here: Here) -> Response:
    """What happened to a memory, oldest first."""
    user = asked.user(asker)

    def found() -> list[Change]:
        return list(_changes(here.memory.history(memory_id, user_id=user)))

    return await here.work.json(list[Change], found)


@router.post("/search", operation_id="mem0_search", response_model=Items)
async def search(body: Searched, asker: Reader, here: Here) -> Response:
    """The memories that fit a query, best first."""
    scope = body.scope(asker)

    def found() -> Items:
        options = body.model_dump(include={"filters", "top_k", "threshold", "explain"})
        hits = here.memory.search(body.query, **scope, kinds=["chunk"], **options)
        episodes = [(hit.score, here.memory.get(hit.id, user_id=scope["user_id"])) for hit in hits]
        return Items(results=[_item(one, score) for score, one in episodes if one is not None])

    return await here.work.json(Items, found)


@router.post("/reset", operation_id="mem0_reset", response_model=Said)
async def reset(asker: Eraser, here: Here) -> Said:
    """Erase every user of the store. There is no way back."""
    asker.any_user()
    await here.slow.run(here.memory.reset)
    return Said(message="All memories reset")


def _event(added: Added) -> Event:
    return Event(id=added.id, memory=added.text, event=added.event)


def _item(episode: Episode, score: float | None = None) -> Item:
    return Item(
        id=episode.id,
        memory=episode.text,
        hash=hashlib.md5(episode.text.encode(), usedforsecurity=False).hexdigest(),
        metadata=dict(episode.metadata) or None,
        score=score,
        created_at=episode.occurred_at.isoformat(),
        user_id=episode.scope.user_id,
        agent_id=episode.scope.agent_id,
        run_id=episode.scope.run_id,
        actor_id=episode.name,
        role=episode.role,
    )


def _changes(events: Iterable[HistoryEvent]) -> Iterator[Change]:
    """The events that mem0 knows; a deletion has the text that it hid."""
    text = None
    for number, event in enumerate(events):
        before, text = text, event.new_text or text
        if event.event in _EVENTS:
            at = event.at.isoformat()
            yield Change(
                id=f"{event.item_id}-{number}",
                memory_id=event.item_id,
                old_memory=before,
                new_memory=event.new_text,
                event=event.event,
                created_at=at,
                updated_at=at,
                is_deleted=event.event == "DELETE",
            )
