"""Estimate disk space, memory and CPU time for a number of messages from measured costs per message.

`docs/scale.md` describes the measurements and their limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UNITS_PER_MESSAGE = 1.19  # searchable chunks and summaries


@dataclass(frozen=True, slots=True)
class Estimate:
    """The amount of one resource: in `COSTS` for one message, otherwise for all messages."""

    name: str
    value: float
    unit: Literal["bytes", "seconds"]


COSTS = (  # of one chat message of 154 bytes, vectors of 384 dimensions, no GPU, no language model
    Estimate("SQLite file", 6_900, "bytes"),
    Estimate("PostgreSQL", 14_300, "bytes"),
    Estimate("HNSW index in PostgreSQL, optional", 1_400, "bytes"),
    Estimate("search index in memory, all users loaded", 4_700, "bytes"),
    Estimate("add: surprise, gate, embedding, write; processor time", 0.042, "seconds"),
    Estimate("extract facts, processor time", 0.139, "seconds"),
    Estimate("integrate into the hierarchy, processor time", 0.019, "seconds"),
)


def estimates(messages: int) -> tuple[Estimate, ...]:
    """Multiply each cost by the number of messages from all users."""
    return tuple(Estimate(cost.name, cost.value * messages, cost.unit) for cost in COSTS)
