"""Trust in the word of a role, in conflicts between what messages say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# weight of a statement, in (0, 1], by the role that made it; "memory" writes summaries of whatever was stored
TRUST: Mapping[str, float] = MappingProxyType(
    {"user": 1.0, "document": 0.9, "tool": 0.8, "assistant": 0.6, "system": 0.5, "memory": 0.5}
)
