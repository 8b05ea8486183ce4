"""The application: guards, the door, our endpoints, and the rooms that are built in."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from nscma_torch.api.memory import Memory
from nscma_torch.server import (
    docs,
    health,
    mem0_routes,
    metrics,
    problems,
    routes_curation,
    routes_facts,
    routes_messages,
    routes_search,
    routes_skills,
    routes_store,
)
from nscma_torch.server.access import Access, Door
from nscma_torch.server.guards import Sites, cors
from nscma_torch.server.limits import Limits
from nscma_torch.server.metrics import Measured, Measures
from nscma_torch.server.rooms import House, MakesRoom, Room, Settings
from nscma_torch.server.tokens import Tokens
from nscma_torch.server.work import Work

_NO_TELEMETRY = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
# vLLM needs a FastAPI below 0.137, which has no telemetry to switch off.
_OPTIONS: dict[str, Any] = {"telemetry": _NO_TELEMETRY} if "telemetry" in inspect.signature(FastAPI).parameters else {}
_SLOW, _SLOW_WAITING = 3, 32  # calls that take long
_ENDPOINTS = (
    *(routes_messages, routes_search, routes_facts, routes_curation, routes_skills, routes_store),
    mem0_routes,
)
_DESCRIPTION = (
    "A long-term memory over HTTP. The user comes from the token; requests that name another one are refused. "
    "Errors are application/problem+json."
)


def create_app(memory: Memory, settings: Settings, *, rooms: Sequence[MakesRoom] = ()) -> FastAPI:
    """The server of a memory, which stays the caller's to close.

    Args:
        rooms: what is built in beside our own endpoints: functions from a `House` to a `Room`.
    """
    limits = memory.config.server
    house = House(memory, settings, Work(limits.threads, limits.waiting), Work(_SLOW, _SLOW_WAITING))
    measures = Measures(house)
    made = [_own(), health.room(house), metrics.room(measures), *(make(house) for make in rooms)]
    app = _Application(
        title="NSCMA", description=_DESCRIPTION, version=version("nscma-torch"), lifespan=_lifespan(house, made),
        docs_url=None, redoc_url=None, redirect_slashes=False,
        **_OPTIONS,
    )  # fmt: skip
    app.state.house = house
    problems.install(app)
    for room in made:
        for router in room.routers:
            app.include_router(router, responses=problems.RESPONSES)
    app.include_router(docs.router_of(app))
    for room in made:
        for path, mounted in room.mounts.items():
            app.mount(path, mounted)
    public = {"/docs", "/openapi.json"}.union(*(room.public for room in made))
    streams = frozenset[str]().union(*(room.streams for room in made))
    unread = frozenset[str]().union(*(room.unread for room in made))
    access = Access(Tokens(settings.tokens), default=settings.user)
    app.add_middleware(
        Limits, limits=limits, streams=streams, unread=unread
    )  # the innermost; each that follows is around it
    app.add_middleware(Door, access=access, public=public)
    cors(app, limits)
    app.add_middleware(Sites, settings=settings, limits=limits, public=public)
    app.add_middleware(Measured, measures=measures)
    return app


class _Application(FastAPI):
    """FastAPI with the form of a problem in its document."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault("Problem", problems.Problem.model_json_schema())
        return document


def _own() -> Room:
    streams = frozenset({routes_messages.STREAM, routes_store.IMPORT})
    return Room(tuple(endpoints.router for endpoints in _ENDPOINTS), streams=streams)


def _lifespan(house: House, rooms: Sequence[Room]) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(house.close)
            for room in rooms:
                if room.lifespan is not None:
                    await stack.enter_async_context(room.lifespan())
            yield

    return lifespan
