"""Paged endpoints that the page uses for long lists. It gets everything else from the other endpoints."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from nscma_torch.core.database.clock import optional_micros
from nscma_torch.core.database.database import Whose, user_or_all
from nscma_torch.core.records import CuratorDecision, Fact, Scope
from nscma_torch.curator import statistics
from nscma_torch.episodic.log import log_pages
from nscma_torch.episodic.log.log_pages import Conversation
from nscma_torch.hierarchy.store import tree_pages
from nscma_torch.semantic.store import decisions, fact_pages
from nscma_torch.semantic.store.fact_pages import Entity
from nscma_torch.semantic.timeline import fact_doubts, fact_views
from nscma_torch.server.access import Reader
from nscma_torch.server.app_context import AppContext, Context, RouteGroup
from nscma_torch.server.parameters import UserParams
from nscma_torch.server.tokens import RIGHTS
from nscma_torch.server.view import files, reading, schemas
from nscma_torch.server.view.resting import resting
from nscma_torch.server.view.schemas import Paged

router = APIRouter(prefix="/v1/view", tags=["view"])
_NAMED = 200  # users, and agents


def route_group(_: AppContext) -> RouteGroup:
    """Serve the page at /, its files below /view/, and its endpoints below /v1/view/."""
    pages = files.load()
    routers = (files.router_of(pages), router, reading.router)
    return RouteGroup(routers, public=frozenset(pages), unread=frozenset({reading.PATH}))


@router.get("/access", operation_id="view_access", response_model=schemas.AccessOut)
async def access(asked: Annotated[UserParams, Query()], caller: Reader, context: Context) -> Response:
    """Return the caller, the caller's rights, and the users that the caller can view."""
    named = asked.user_id if asked.user_id is not None else caller.user_id or caller.default
    user = None if named is None else caller.user(named)

    def told(connection: Connection) -> schemas.AccessOut:
        users = [] if caller.user_id is not None else statistics.users_of(connection, limit=_NAMED + 1)
        return schemas.AccessOut(
            user=user,
            any_user=caller.user_id is None,
            rights=[right for right in RIGHTS if right in caller.rights],
            users=users[:_NAMED],
            more_users=len(users) > _NAMED,
            agents=[] if user is None else log_pages.agents(connection, user, limit=_NAMED),
            store=context.memory.components.database.name.rpartition("/")[2] if caller.user_id is None else None,
        )

    return await _read(context, user_or_all(caller.user_id), schemas.AccessOut, told)


@router.get("/messages", operation_id="view_messages", response_model=schemas.LogOut)
async def messages(asked: Annotated[schemas.LogPageParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a page of the log with the gate's decisions, including deleted messages."""
    scope, options = Scope(**asked.scope(caller)), asked.model_dump(exclude={"user_id", "agent_id"})

    return await _read(context, scope.user_id, schemas.LogOut, lambda one: log_pages.messages(one, scope, **options))


@router.get("/conversations", operation_id="view_conversations", response_model=Paged[Conversation])
async def conversations(asked: Annotated[schemas.PageParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a page of the conversations and documents."""
    return await _page(context, asked, Paged[Conversation], Scope(**asked.scope(caller)), log_pages.conversations)


@router.get("/facts", operation_id="view_facts", response_model=schemas.FactsOut)
async def facts(asked: Annotated[schemas.FactPageParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a page of the facts, by subject: current facts with those that they replaced, and what is in doubt now."""
    scope, known_at = Scope(**asked.scope(caller)), optional_micros(asked.known_at)
    wanted = asked.model_dump(include={"text", "changed", "limit", "offset"})
    schema, now = context.memory.components.relations, datetime.now(UTC)

    def found(connection: Connection) -> dict[str, Any]:
        items, total = fact_pages.subjects(connection, scope, known_at=known_at, **wanted)
        if known_at is None:
            believed = [fact for group in items for fact in group if fact.status != "archived"]
            holding = fact_views.holding(believed, now)
            marked = {fact.id: fact for fact in fact_doubts.with_doubts(connection, scope, schema, holding, now)}
            items = [[marked.get(fact.id, fact) for fact in group] for group in items]
        return {"items": items, "total": total, "extent": fact_pages.extent(connection, scope)}

    return await _read(context, scope.user_id, schemas.FactsOut, found)


@router.get("/entities", operation_id="view_entities", response_model=Paged[Entity])
async def entities(asked: Annotated[schemas.EntityPageParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a page of the entities that facts are about."""
    scope = Scope(**asked.scope(caller))
    return await _page(context, asked, Paged[Entity], scope, fact_pages.names, text=asked.text)


@router.get("/graph", operation_id="view_graph", response_model=schemas.GraphOut)
async def graph(asked: Annotated[schemas.GraphParams, Query()], caller: Reader, context: Context) -> Response:
    """Return the facts around an entity, and some around its neighbours."""
    scope, as_of = Scope(**asked.scope(caller)), optional_micros(asked.as_of)

    def found(connection: Connection) -> object:
        name = asked.entity
        if name is None:
            (most, _) = fact_pages.names(connection, scope, limit=1, offset=0)
            if not most:
                return schemas.GraphOut(name=None, facts=[], total=0)
            name = most[0].name
        return fact_pages.around(connection, scope, name, limit=asked.limit, further=asked.further, as_of=as_of)

    return await _read(context, scope.user_id, schemas.GraphOut, found)


@router.get("/tree", operation_id="view_tree", response_model=schemas.TreeOut)
async def tree(asked: Annotated[schemas.TreePageParams, Query()], caller: Reader, context: Context) -> Response:
    """Return the members of a node in the hierarchy; by default, return the roots."""
    scope = asked.scope(caller)
    below = None if asked.level is None or asked.number is None else (asked.level, asked.number)

    def found(connection: Connection) -> dict[str, Any]:
        items, total = tree_pages.page(connection, **scope, below=below, limit=asked.limit, offset=asked.offset)
        return {"items": items, "total": total, "levels": tree_pages.levels(connection, **scope)}

    return await _read(context, scope["user_id"], schemas.TreeOut, found)


@router.get("/decisions", operation_id="view_decisions", response_model=Paged[CuratorDecision])
async def made(asked: Annotated[schemas.DecisionPageParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a page of the curator's decisions, newest first."""
    scope = Scope(**asked.scope(caller))
    wanted = asked.model_dump(include={"changes", "fact", "proposals"})
    return await _page(context, asked, Paged[CuratorDecision], scope, decisions.page, **wanted)


@router.get("/resting", operation_id="view_resting", response_model=schemas.RestingOut)
async def rests(asked: Annotated[schemas.RestingParams, Query()], caller: Reader, context: Context) -> Response:
    """Return what rests on a message, and thus goes or stays if it is erased."""
    user = asked.user(caller)
    return await _read(context, user, schemas.RestingOut, lambda connection: resting(connection, user, asked.memory_id))


@router.get("/conflicts", operation_id="view_conflicts", response_model=Paged[list[Fact]])
async def conflicts(asked: Annotated[schemas.PageParams, Query()], caller: Reader, context: Context) -> Response:
    """Return a page of the unresolved contradictions."""
    scope = asked.scope(caller)

    def found() -> dict[str, Any]:
        every = context.memory.conflicts(**scope)
        return {"items": every[asked.offset : asked.offset + asked.limit], "total": len(every)}

    return await context.work.json(Paged[list[Fact]], found)


async def _page(
    context: AppContext, asked: schemas.PageParams, kind: Any, scope: Scope, select: Callable[..., Any], **options: Any
) -> Response:
    """Build a response of the type `kind` from a selection's items and total."""

    def found(connection: Connection) -> Any:
        items, total = select(connection, scope, limit=asked.limit, offset=asked.offset, **options)
        return {"items": items, "total": total}

    return await _read(context, scope.user_id, kind, found)


async def _read(context: AppContext, whose: Whose, kind: Any, found: Callable[[Connection], object]) -> Response:
    def read() -> object:
        with context.memory.components.database.read(whose) as connection:
            return found(connection)

    return await context.work.json(kind, read)
