"""`AsyncMemory`: `Memory` for asyncio. Each method runs in a worker thread; nothing is written twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from nscma_torch.memory import Memory

P = ParamSpec("P")
T = TypeVar("T")


def _mirror(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """The method of `Memory`, awaited."""

    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call


def _collect(method: Callable[Concatenate[Memory, P], Iterator[T]]) -> Callable[Concatenate[Memory, P], list[T]]:
    """An iterating method as one that returns the whole list: its iterator must not be read on the event loop."""

    @wraps(method)
    def call(memory: Memory, /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        return list(method(memory, *args, **kwargs))

    return call


class AsyncMemory:
    """The methods of `Memory` with the same arguments, to be awaited; `add_many` and `export` return lists."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Opens the store; arguments as for `Memory`."""
        self.memory = Memory(*args, **kwargs)

    add = _mirror(Memory.add)
    add_many = _mirror(_collect(Memory.add_many))
    update = _mirror(Memory.update)
    delete = _mirror(Memory.delete)
    restore = _mirror(Memory.restore)
    delete_all = _mirror(Memory.delete_all)
    search = _mirror(Memory.search)
    ask = _mirror(Memory.ask)
    as_module = _mirror(Memory.as_module)
    get = _mirror(Memory.get)
    get_all = _mirror(Memory.get_all)
    records = _mirror(Memory.records)
    record = _mirror(Memory.record)
    log = _mirror(Memory.log)
    sessions = _mirror(Memory.sessions)
    window = _mirror(Memory.window)
    history = _mirror(Memory.history)
    replay = _mirror(Memory.replay)
    flush = _mirror(Memory.flush)
    facts = _mirror(Memory.facts)
    timeline = _mirror(Memory.timeline)
    conflicts = _mirror(Memory.conflicts)
    decisions = _mirror(Memory.decisions)
    undo = _mirror(Memory.undo)
    merge = _mirror(Memory.merge)
    sleep = _mirror(Memory.sleep)
    feedback = _mirror(Memory.feedback)
    profile = _mirror(Memory.profile)
    derived = _mirror(Memory.derived)
    add_skill = _mirror(Memory.add_skill)
    find_skills = _mirror(Memory.find_skills)
    skills = _mirror(Memory.skills)
    skill_outcome = _mirror(Memory.skill_outcome)
    archive_skill = _mirror(Memory.archive_skill)
    restore_skill = _mirror(Memory.restore_skill)
    tree = _mirror(Memory.tree)
    reextract = _mirror(Memory.reextract)
    rebuild = _mirror(Memory.rebuild)
    stats = _mirror(Memory.stats)
    retry_failed = _mirror(Memory.retry_failed)
    digest = _mirror(Memory.digest)
    verify = _mirror(Memory.verify)
    export = _mirror(_collect(Memory.export))
    import_ = _mirror(Memory.import_)
    erase = _mirror(Memory.erase)
    reembed = _mirror(Memory.reembed)
    reset = _mirror(Memory.reset)
    close = _mirror(Memory.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
