"""Context shared by the application's routes, and the type of its route groups: MCP, the proxy, the page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.types import ASGIApp

from nscma_torch.api.memory import Memory
from nscma_torch.api.operations import OPERATIONS
from nscma_torch.core.config import Config
from nscma_torch.core.errors import OverloadedError
from nscma_torch.server.work import CallPool


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Network and access settings. Limits are set in the section [server] of the configuration.

    Args:
        tokens: path of the tokens file, which needn't exist.
        user: the user for requests that have no token and name no user.
    """

    tokens: Path
    host: str = "127.0.0.1"
    port: int = 8765
    user: str = "default"


@dataclass(frozen=True, slots=True)
class AppContext:
    """Context shared by all route groups: the memory, called through `work`, and the settings.

    `slow` runs long calls in separate threads, so they don't block short ones. `stopping` is set when the server is
    asked to stop.
    """

    memory: Memory
    settings: ServerSettings
    work: CallPool
    slow: CallPool
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def config(self) -> Config:
        """Return the memory's configuration."""
        return self.memory.config

    def pool(self, operation: str) -> CallPool:
        """Return the thread pool for an operation."""
        return self.slow if OPERATIONS[operation].slow else self.work

    def go_on(self, *_: int) -> None:
        """Progress callback for long calls. Raises `OverloadedError` once the server is asked to stop."""
        if self.stopping.is_set():
            raise OverloadedError("the server is stopping; queued work stays queued", retry_after=10)

    def close(self) -> None:
        """Wait until running calls finish."""
        self.stopping.set()
        self.work.close()
        self.slow.close()


@dataclass(frozen=True, slots=True)
class RouteGroup:
    """A group of endpoints.

    Args:
        routers: endpoints, each of which declares the rights it needs with `access.allowed`.
        mounts: ASGI applications by path prefix. They identify the caller with `access.principal_of(scope)`.
        public: exact paths that can be read (GET) without a token because they contain no user data, such as a page.
        streams: exact paths with streamed request bodies, which have no size limit.
        unread: exact paths with request bodies that are passed on unparsed and may contain any number of values.
        lifespan: opened before the first request, closed after the last one.
    """

    routers: tuple[APIRouter, ...] = ()
    mounts: Mapping[str, ASGIApp] = field(default_factory=dict)
    public: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    lifespan: Callable[[], AbstractAsyncContextManager[object]] | None = None


RouteGroupFactory = Callable[[AppContext], RouteGroup]


def context_of(request: Request) -> AppContext:
    """Return the context of the application that serves a request."""
    context = request.app.state.context
    assert isinstance(context, AppContext)
    return context


Context = Annotated[AppContext, Depends(context_of)]
