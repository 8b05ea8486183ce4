"""`AsyncMemory` with mem0's names: it runs each method of `Memory` in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from nscma_torch.api import memory as nscma
from nscma_torch.api.async_memory import mirrored
from nscma_torch.compat.mem0.configuration import MemoryConfig
from nscma_torch.compat.mem0.memory import Memory


class AsyncMemory:
    """mem0's `AsyncMemory`. As in mem0, the constructor, `from_config` and `close` are synchronous."""

    def __init__(self, config: MemoryConfig | Mapping[str, Any] | None = None) -> None:
        """Open the store; the argument is the same as for `Memory`."""
        self.memory = Memory(config)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Create a memory from a dict with mem0's configuration. Raises `ConfigError` if it is invalid."""
        return cls(config_dict)

    @classmethod
    def over(cls, memory: nscma.Memory) -> Self:
        """Wrap an open memory in mem0's interface."""
        made = cls.__new__(cls)
        made.memory = Memory.over(memory)
        return made

    @property
    def config(self) -> MemoryConfig:
        """Return the configuration."""
        return self.memory.config

    @property
    def nscma(self) -> nscma.Memory:
        """Return the underlying memory."""
        return self.memory.nscma

    add = mirrored(Memory.add)
    search = mirrored(Memory.search)
    get = mirrored(Memory.get)
    get_all = mirrored(Memory.get_all)
    update = mirrored(Memory.update)
    delete = mirrored(Memory.delete)
    delete_all = mirrored(Memory.delete_all)
    history = mirrored(Memory.history)
    reset = mirrored(Memory.reset)

    def close(self) -> None:
        """Close the store."""
        self.memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)
