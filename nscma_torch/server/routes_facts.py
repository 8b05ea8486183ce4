"""Endpoints for what the memory makes of messages: facts, profile, derived texts, the hierarchy."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from nscma_torch.core.records import DerivedKind, Fact, Node, ProfileLine
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.server.access import Reader
from nscma_torch.server.app_context import Context
from nscma_torch.server.schemas import AgentParams, RelationOut, Time

router = APIRouter(prefix="/v1", tags=["facts"])


class FactsParams(AgentParams):
    """Filter on facts; see `Memory.facts`."""

    subject: str | None = None
    relation: str | None = None
    topic: str | None = None
    as_of: Time | None = None
    known_at: Time | None = None
    archived: bool = False
    now: Time | None = None


class TimelineParams(AgentParams):
    """The subject and relation of a timeline."""

    subject: str
    relation: str
    topic: str | None = None


@router.get("/facts", operation_id="facts", response_model=list[Fact])
async def facts(asked: Annotated[FactsParams, Query()], caller: Reader, context: Context) -> Response:
    """Facts, by subject, relation and the time they began."""
    options = asked.model_dump(exclude={"user_id", "agent_id"})
    return await context.work.json(list[Fact], context.memory.facts, **asked.scope(caller), **options)


@router.get("/relations", operation_id="relations", response_model=list[RelationOut])
async def relations(_: Reader, context: Context) -> Response:
    """The relations of facts, as the relation file has them."""
    schema = context.memory.components.relations
    return await context.work.json(
        list[RelationOut], lambda: [RelationOut.of(one) for one in schema.relations.values()]
    )


@router.get("/timeline", operation_id="timeline", response_model=list[Fact])
async def timeline(asked: Annotated[TimelineParams, Query()], caller: Reader, context: Context) -> Response:
    """All that held or was said to hold of a subject and relation, oldest first."""
    scope = asked.scope(caller)
    return await context.work.json(
        list[Fact], context.memory.timeline, asked.subject, asked.relation, **scope, topic=asked.topic
    )


@router.get("/conflicts", operation_id="conflicts", response_model=list[tuple[Fact, ...]])
async def conflicts(asked: Annotated[AgentParams, Query()], caller: Reader, context: Context) -> Response:
    """The sides of each contradiction that nothing has settled yet."""
    return await context.work.json(list[tuple[Fact, ...]], context.memory.conflicts, **asked.scope(caller))


@router.get("/profile", operation_id="profile", response_model=list[ProfileLine])
async def profile(asked: Annotated[AgentParams, Query()], caller: Reader, context: Context) -> Response:
    """Return the user's profile: dated lines with the ids of their sources."""
    return await context.work.json(list[ProfileLine], context.memory.profile, **asked.scope(caller))


@router.get("/derived/{kind}", operation_id="derived", response_model=list[DerivedText])
async def derived(
    kind: DerivedKind, asked: Annotated[AgentParams, Query()], caller: Reader, context: Context
) -> Response:
    """The texts of a kind that sleep has derived."""
    return await context.work.json(list[DerivedText], context.memory.derived, kind, **asked.scope(caller))


@router.get("/tree", operation_id="tree", response_model=list[Node])
async def tree(asked: Annotated[AgentParams, Query()], caller: Reader, context: Context) -> Response:
    """Return the hierarchy of clusters over a user's messages to one agent, or to none."""
    return await context.work.json(list[Node], context.memory.tree, **asked.scope(caller))
