"""Connections to a store, as other processes have them or lose them."""

from __future__ import annotations

from nscma_torch.memory import Memory


def let_go(memory: Memory) -> None:
    """Drop all connections as they are: nothing is written, and whatever comes next opens new ones."""
    memory.parts.database._engine.dispose()
