"""Endpoints for what the memory makes of messages: facts, profile, derived texts, the hierarchy."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from nscma_torch.core.records import DerivedKind, Fact, Node, ProfileLine
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.server.access import Reader
from nscma_torch.server.rooms import Here
from nscma_torch.server.schemas import OfAgent, RelationOut, Time

router = APIRouter(prefix="/v1", tags=["facts"])


class Facts(OfAgent):
    """Filter on facts; see `Memory.facts`."""

    subject: str | None = None
    relation: str | None = None
    topic: str | None = None
    as_of: Time | None = None
    known_at: Time | None = None
    archived: bool = False
    now: Time | None = None


class Timeline(OfAgent):
    """The subject and relation of a timeline."""

    subject: str
    relation: str
    topic: str | None = None


@router.get("/facts", operation_id="facts", response_model=list[Fact])
async def facts(asked: Annotated[Facts, Query()], asker: Reader, here: Here) -> Response:
    """Facts, by subject, relation and the time they began."""
    options = asked.model_dump(exclude={"user_id", "agent_id"})
    return await here.work.json(list[Fact], here.memory.facts, **asked.scope(asker), **options)


@router.get("/relations", operation_id="relations", response_model=list[RelationOut])
async def relations(_: Reader, here: Here) -> Response:
    """The relations of facts, as the relation file has them."""
    schema = here.memory.components.relations
    return await here.work.json(list[RelationOut], lambda: [RelationOut.of(one) for one in schema.relations.values()])


@router.get("/timeline", operation_id="timeline", response_model=list[Fact])
async def timeline(asked: Annotated[Timeline, Query()], asker: Reader, here: Here) -> Response:
    """All that held or was said to hold of a subject and relation, oldest first."""
    scope = asked.scope(asker)
    return await here.work.json(
        list[Fact], here.memory.timeline, asked.subject, asked.relation, **scope, topic=asked.topic
    )


@router.get("/conflicts", operation_id="conflicts", response_model=list[tuple[Fact, ...]])
async def conflicts(asked: Annotated[OfAgent, Query()], asker: Reader, here: Here) -> Response:
    """The sides of each contradiction that nothing has settled yet."""
    return await here.work.json(list[tuple[Fact, ...]], here.memory.conflicts, **asked.scope(asker))


@router.get("/profile", operation_id="profile", response_model=list[ProfileLine])
async def profile(asked: Annotated[OfAgent, Query()], asker: Reader, here: Here) -> Response:
    """Return the user's profile: dated lines with the ids of their sources."""
    return await here.work.json(list[ProfileLine], here.memory.profile, **asked.scope(asker))


@router.get("/derived/{kind}", operation_id="derived", response_model=list[DerivedText])
async def derived(kind: DerivedKind, asked: Annotated[OfAgent, Query()], asker: Reader, here: Here) -> Response:
    """The texts of a kind that sleep has derived."""
    return await here.work.json(list[DerivedText], here.memory.derived, kind, **asked.scope(asker))


@router.get("/tree", operation_id="tree", response_model=list[Node])
async def tree(asked: Annotated[OfAgent, Query()], asker: Reader, here: Here) -> Response:
    """Return the hierarchy of clusters over a user's messages to one agent, or to none."""
    return await here.work.json(list[Node], here.memory.tree, **asked.scope(asker))
