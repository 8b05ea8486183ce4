"""A query of facts as one line, for tests."""

from __future__ import annotations

from nscma_torch.core.records import FactQuery


def shown(query: FactQuery | None) -> str:
    """`asks relation subject > object / topic`, with what else is set."""
    if query is None:
        return "none"
    parts = [query.asks, ".".join(query.path), query.subject or "-"]
    parts += ["> " + query.object] if query.object else []
    parts += ["/ " + query.topic] if query.topic else []
    parts += ["before " + query.before] if query.before else []
    parts += ["previous"] * query.previous + ["count"] * query.count
    return " ".join(parts)
