"""`AsyncMemory` is `Memory`, awaited: every public method, the same arguments, the same results."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.async_memory import AsyncMemory
from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EmptyTextError
from nscma_torch.core.records import Message


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def test_every_public_method_is_mirrored() -> None:
    assert public(AsyncMemory) == public(Memory)


@pytest.mark.parametrize("name", sorted(public(Memory)))
def test_a_mirror_has_the_signature_and_documentation(name: str) -> None:
    mirror, method = getattr(AsyncMemory, name), getattr(Memory, name)
    assert inspect.signature(mirror).parameters == inspect.signature(method).parameters
    assert inspect.getdoc(mirror) == inspect.getdoc(method)
    assert inspect.iscoroutinefunction(mirror)


def test_it_works(tmp_path: Path, surprise_model: Any, embedder: Any) -> None:
    async def use() -> None:
        path = tmp_path / "store.db"
        async with AsyncMemory(
            path, config={"embedder": {"model": "hash"}}, surprise_model=surprise_model, embedder=embedder
        ) as memory:
            said = (await memory.add("I moved to Porto in March.", user_id="ada"))[0]
            await asyncio.gather(*(memory.add(f"line {i}", user_id=f"user {i % 3}") for i in range(12)))
            many = await memory.add_many([Message("user", "one"), Message("user", "two")], user_id="bob")
            assert [added.text for added in many] == ["one", "two"]
            assert (await memory.search("Porto", user_id="ada"))[0].id == said.id
            assert not (await memory.ask("where did I move in March?", user_id="ada")).abstained
            assert (await memory.get(said.id, user_id="ada")) is not None
            await memory.flush()
            assert (await memory.stats()).messages == 15
            lines = await memory.export()
            assert len(lines) > 15
            await memory.update(said.id, "I moved to Faro in March.", user_id="ada")
            assert [event.event for event in await memory.history(said.id, user_id="ada")] == ["ADD", "UPDATE"]
            await memory.delete(said.id, user_id="ada")
            await memory.restore(said.id, user_id="ada")
            assert (await memory.erase(user_id="ada", memory_id=said.id)).found == 0
            assert await memory.verify() == []
            with pytest.raises(EmptyTextError):
                await memory.add("", user_id="ada")
        other = AsyncMemory(tmp_path / "other.db", config={"embedder": {"model": "hash"}})
        await other.import_(lines)
        assert (await other.stats()).messages == 15
        await other.close()

    asyncio.run(use())


def test_the_loop_runs_on_meanwhile(tmp_path: Path, surprise_model: Any, embedder: Any) -> None:
    async def use() -> int:
        memory = AsyncMemory(
            tmp_path / "store.db",
            config={"embedder": {"model": "hash"}},
            surprise_model=surprise_model,
            embedder=embedder,
        )
        adding = asyncio.create_task(memory.add([f"My parcel {i} went to Porto." for i in range(20)], user_id="ada"))
        ticks = 0
        while not adding.done():
            await asyncio.sleep(0.002)
            ticks += 1
        await memory.close()
        return ticks

    assert asyncio.run(use()) > 3
