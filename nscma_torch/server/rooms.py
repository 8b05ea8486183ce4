"""Shared context of the application, and groups of routes beside its own endpoints: MCP, the proxy, the page."""

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
from nscma_torch.core.config import Config
from nscma_torch.core.errors import OverloadedError
from nscma_torch.server.work import Work


@dataclass(frozen=True, slots=True)
class Settings:
    """Listening and access settings; limits are in the section [server] of the configuration.

    Args:
        tokens: the tokens file, there or not.
        user: whose memory it is where a request without a token names nobody.
    """

    tokens: Path
    host: str = "127.0.0.1"
    port: int = 8765
    user: str = "default"


@dataclass(frozen=True, slots=True)
class House:
    """Context shared by all route groups: the memory, called through `work`, and the settings.

    `slow` is for calls that take long, so that these keep no thread from the others; `stopping` is set when the server
    is told to end.
    """

    memory: Memory
    settings: Settings
    work: Work
    slow: Work
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def config(self) -> Config:
        """The memory's configuration."""
        return self.memory.config

    def go_on(self, *_: int) -> None:
        """For long calls that tell their progress: raises `OverloadedError` when the server is told to end."""
        if self.stopping.is_set():
            raise OverloadedError("the server is ending; what is queued stays queued", retry_after=10)

    def close(self) -> None:
        """Wait for the calls that run."""
        self.stopping.set()
        self.work.close()
        self.slow.close()


@dataclass(frozen=True, slots=True)
class Room:
    """A part of the server.

    Args:
        routers: endpoints; each names its rights by `access.allowed`.
        mounts: ASGI applications by the path below which they answer; `access.principal_of(scope)` says who asks.
        public: exact paths that are read (GET) without a token: what holds nothing of anybody's, such as a page.
        streams: exact paths whose bodies may be of any size, as they are read piece by piece.
        unread: exact paths whose bodies are passed on without being parsed, and may hold any number of values.
        lifespan: opened before the first request, closed after the last one.
    """

    routers: tuple[APIRouter, ...] = ()
    mounts: Mapping[str, ASGIApp] = field(default_factory=dict)
    public: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    lifespan: Callable[[], AbstractAsyncContextManager[object]] | None = None


MakesRoom = Callable[[House], Room]


def house_of(request: Request) -> House:
    """The house of the application that answers a request."""
    house = request.app.state.house
    assert isinstance(house, House)
    return house


Here = Annotated[House, Depends(house_of)]
