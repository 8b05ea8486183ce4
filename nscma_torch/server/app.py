"""Build the application: middleware, authentication, endpoints and route groups."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from nscma_torch.api.memory import Memory
from nscma_torch.api.operations import OPERATIONS
from nscma_torch.server import docs, endpoints, exports, health, mem0_routes, metrics, ndjson, problems
from nscma_torch.server.access import Authenticator, AuthMiddleware
from nscma_torch.server.app_context import AppContext, RouteGroup, RouteGroupFactory, ServerSettings
from nscma_torch.server.guards import OriginGuard, cors
from nscma_torch.server.limits import LimitsMiddleware
from nscma_torch.server.metrics import MetricsMiddleware, RequestMetrics
from nscma_torch.server.tokens import TokenFile
from nscma_torch.server.work import CallPool

_NO_TELEMETRY = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
# vLLM needs a FastAPI below 0.137, which has no telemetry to switch off.
_OPTIONS: dict[str, Any] = {"telemetry": _NO_TELEMETRY} if "telemetry" in inspect.signature(FastAPI).parameters else {}
_SLOW, _SLOW_WAITING = 3, 32  # calls that take long
_DESCRIPTION = (
    "A long-term memory over HTTP. The user comes from the token; requests that name another one are refused. "
    "Errors are application/problem+json."
)


def create_app(memory: Memory, settings: ServerSettings, *, route_groups: Sequence[RouteGroupFactory] = ()) -> FastAPI:
    """Create the server application for a memory. The caller closes the memory.

    Args:
        route_groups: factories of additional route groups.
    """
    limits = memory.config.server
    context = AppContext(memory, settings, CallPool(limits.threads, limits.waiting), CallPool(_SLOW, _SLOW_WAITING))
    measures = RequestMetrics(context)
    made = [
        _own(),
        health.route_group(context),
        metrics.route_group(measures),
        *(make(context) for make in route_groups),
    ]
    app = _Application(
        title="NSCMA", description=_DESCRIPTION, version=version("nscma-torch"), lifespan=_lifespan(context, made),
        docs_url=None, redoc_url=None, redirect_slashes=False,
        **_OPTIONS,
    )  # fmt: skip
    app.state.context = context
    problems.install(app)
    for group in made:
        for router in group.routers:
            app.include_router(router, responses=problems.RESPONSES)
    app.include_router(docs.router_of(app))
    for group in made:
        for path, mounted in group.mounts.items():
            app.mount(path, mounted)
    public = {"/docs", "/openapi.json"}.union(*(group.public for group in made))
    streams = frozenset[str]().union(*(group.streams for group in made))
    unread = frozenset[str]().union(*(group.unread for group in made))
    access = Authenticator(TokenFile(settings.tokens), default=settings.user)
    app.add_middleware(
        LimitsMiddleware, limits=limits, streams=streams, unread=unread
    )  # the innermost; each that follows is around it
    app.add_middleware(AuthMiddleware, access=access, public=public)
    cors(app, limits)
    app.add_middleware(OriginGuard, settings=settings, limits=limits, public=public)
    app.add_middleware(MetricsMiddleware, measures=measures)
    if (telemetry := memory.components.telemetry) is not None:
        from nscma_torch.server.tracing import TracingMiddleware

        app.add_middleware(TracingMiddleware, recorder=telemetry.recorder)
    return app


class _Application(FastAPI):
    """FastAPI application with an OpenAPI document that includes the problem schema."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault("Problem", problems.Problem.model_json_schema())
        return document


def _own() -> RouteGroup:
    routers = (*endpoints.ROUTERS, endpoints.relations_router, ndjson.router, exports.router, mem0_routes.router)
    return RouteGroup(routers, streams=frozenset({OPERATIONS["add_many"].path, OPERATIONS["import"].path}))


def _lifespan(context: AppContext, route_groups: Sequence[RouteGroup]) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(context.close)
            for group in route_groups:
                if group.lifespan is not None:
                    await stack.enter_async_context(group.lifespan())
            yield

    return lifespan
