"""`AsyncMemory`: `Memory` for asyncio. Each method is generated from a method of `Memory` and runs in a worker
thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from nscma_torch.api.memory import Memory

M = TypeVar("M")
P = ParamSpec("P")
T = TypeVar("T")


class MemoryHolder(Protocol[M]):
    """A wrapper around a memory, with the same methods as the memory."""

    memory: M


def mirrored(
    method: Callable[Concatenate[M, P], T],
) -> Callable[Concatenate[MemoryHolder[M], P], Coroutine[Any, Any, T]]:
    """Wrap a memory's method as an async method for its holder; the method runs in a worker thread."""

    @wraps(method)
    async def call(self: MemoryHolder[M], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call


def _collect(method: Callable[Concatenate[Memory, P], Iterator[T]]) -> Callable[Concatenate[Memory, P], list[T]]:
    """Convert a method that returns an iterator to one that returns a list, as the iterator must not be read on the
    event loop.
    """

    @wraps(method)
    def call(memory: Memory, /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        return list(method(memory, *args, **kwargs))

    return call


class AsyncMemory:
    """`Memory` with async methods that take the same arguments; `add_many` and `export` return lists."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Open the store; the arguments are the same as for `Memory`."""
        self.memory = Memory(*args, **kwargs)

    add = mirrored(Memory.add)
    add_many = mirrored(_collect(Memory.add_many))
    update = mirrored(Memory.update)
    delete = mirrored(Memory.delete)
    restore = mirrored(Memory.restore)
    delete_all = mirrored(Memory.delete_all)
    search = mirrored(Memory.search)
    ask = mirrored(Memory.ask)
    as_module = mirrored(Memory.as_module)
    get = mirrored(Memory.get)
    get_all = mirrored(Memory.get_all)
    records = mirrored(Memory.records)
    record = mirrored(Memory.record)
    log = mirrored(Memory.log)
    sessions = mirrored(Memory.sessions)
    window = mirrored(Memory.window)
    history = mirrored(Memory.history)
    replay = mirrored(Memory.replay)
    flush = mirrored(Memory.flush)
    facts = mirrored(Memory.facts)
    related_facts = mirrored(Memory.related_facts)
    timeline = mirrored(Memory.timeline)
    conflicts = mirrored(Memory.conflicts)
    decisions = mirrored(Memory.decisions)
    undo = mirrored(Memory.undo)
    merge = mirrored(Memory.merge)
    sleep = mirrored(Memory.sleep)
    feedback = mirrored(Memory.feedback)
    due = mirrored(Memory.due)
    profile = mirrored(Memory.profile)
    derived = mirrored(Memory.derived)
    add_skill = mirrored(Memory.add_skill)
    find_skills = mirrored(Memory.find_skills)
    skills = mirrored(Memory.skills)
    skill_outcome = mirrored(Memory.skill_outcome)
    archive_skill = mirrored(Memory.archive_skill)
    restore_skill = mirrored(Memory.restore_skill)
    tree = mirrored(Memory.tree)
    reextract = mirrored(Memory.reextract)
    rebuild = mirrored(Memory.rebuild)
    stats = mirrored(Memory.stats)
    retry_failed = mirrored(Memory.retry_failed)
    backup = mirrored(Memory.backup)
    digest = mirrored(Memory.digest)
    verify = mirrored(Memory.verify)
    export = mirrored(_collect(Memory.export))
    import_ = mirrored(Memory.import_)
    erase = mirrored(Memory.erase)
    reembed = mirrored(Memory.reembed)
    reset = mirrored(Memory.reset)
    close = mirrored(Memory.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
