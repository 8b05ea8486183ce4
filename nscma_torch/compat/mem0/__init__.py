"""mem0's interface: use `from nscma_torch.compat.mem0 import Memory` instead of `from mem0 import Memory`.

It follows mem0ai 2.2.1. The differences are listed in docs/migration.md.
"""

from __future__ import annotations

from nscma_torch.compat.mem0.async_memory import AsyncMemory
from nscma_torch.compat.mem0.configuration import MemoryConfig
from nscma_torch.compat.mem0.memory import Memory

__all__ = ["AsyncMemory", "Memory", "MemoryConfig"]
