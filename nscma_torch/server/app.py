"""The application: guards, the door, our endpoints, and the rooms that are built in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI

from nscma_torch.memory import Memory
from nscma_torch.server import health, problems
from nscma_torch.server.access import Access, Door
from nscma_torch.server.rooms import House, MakesRoom, Settings
from nscma_torch.server.tokens import Tokens
from nscma_torch.server.work import Work

OWN: tuple[MakesRoom, ...] = (health.room,)


def create_app(memory: Memory, settings: Settings, *, rooms: Sequence[MakesRoom] = ()) -> FastAPI:
    """The server of a memory, which stays the caller's to close.

    Args:
        rooms: what is built in beside our own endpoints: functions from a `House` to a `Room`.
    """
    limits = memory.config.server
    house = House(memory, settings, Work(limits.threads, limits.waiting))
    made = [make(house) for make in (*OWN, *rooms)]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(house.work.close)
            for room in made:
                if room.lifespan is not None:
                    await stack.enter_async_context(room.lifespan())
            yield

    app = FastAPI(title="NSCMA", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.house = house
    problems.install(app)
    for room in made:
        for router in room.routers:
            app.include_router(router)
    for room in made:
        for path, mounted in room.mounts.items():
            app.mount(path, mounted)
    public = frozenset().union(*(room.public for room in made))
    access = Access(Tokens(settings.tokens), default=settings.user)
    app.add_middleware(Door, access=access, public=public)
    return app
