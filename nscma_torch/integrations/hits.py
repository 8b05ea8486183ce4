"""Convert a hit to metadata for other frameworks: a flat mapping from names to JSON values."""

from __future__ import annotations

from typing import Any

from nscma_torch.core.records import Hit

_KEPT = ("kind", "role", "name", "session", "source", "score")


def metadata_of(hit: Hit) -> dict[str, Any]:
    """Return the message's own metadata, with its source, time and score, which take precedence.

    `memory_id` is the argument for `Memory.get`, `update`, `delete` and `erase`. Times are ISO 8601 in UTC.
    """
    fields = hit.to_dict()
    own = {name: fields[name] for name in _KEPT if fields[name] is not None}
    return {**hit.unit.metadata, "memory_id": hit.id, "occurred_at": hit.occurred_at.isoformat(), **own}
