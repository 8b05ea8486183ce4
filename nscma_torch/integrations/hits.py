"""Metadata of a hit for frameworks: a flat mapping of names to JSON values."""

from __future__ import annotations

from typing import Any

from nscma_torch.core.records import Hit


def metadata_of(hit: Hit) -> dict[str, Any]:
    """The message's own metadata, with where the text comes from, when it was said and its score; these win.

    `memory_id` is what `Memory.get`, `update`, `delete` and `erase` take. Times are ISO 8601 in UTC.
    """
    unit = hit.unit
    own: dict[str, Any] = {
        "memory_id": hit.id,
        "kind": unit.kind,
        "occurred_at": unit.occurred_at.isoformat(),
        "role": unit.role,
        "name": unit.name,
        "session": unit.session,
        "source": unit.source,
        "score": hit.score,
    }
    return {**unit.metadata, **{name: value for name, value in own.items() if value is not None}}
