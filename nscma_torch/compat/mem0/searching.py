"""mem0's search on this library's `Memory`: it returns whole messages, with scores and a threshold in [0, 1]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.compat.mem0.filters import condition_of
from nscma_torch.compat.mem0.items import fields_of, item_of, relevance, score_details
from nscma_torch.compat.mem0.scopes import scope_to_read
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Hit
from nscma_torch.episodic.log import history
from nscma_torch.text.calendar.timestamps import parse_timestamp

TOP_K = 20
THRESHOLD = 0.1


def search(
    memory: Memory,
    query: object,
    *,
    filters: Mapping[str, Any] | None = None,
    ids: Mapping[str, Any] | None = None,
    top_k: int = TOP_K,
    limit: int | None = None,
    threshold: float | None = THRESHOLD,
    rerank: bool = False,
    explain: bool = False,
    reference_date: Any = None,
    show_expired: bool = False,
) -> dict[str, Any]:
    """Return the best matching memories, best first, each with its score in [0, 1].

    `limit` is an older name for `top_k`. With `rerank`, each memory also has a `rerank_score`. `threshold` is the
    minimum semantic or lexical relevance (`items.relevance`), or None for no minimum; it doesn't limit the score, which
    is relative to the best memory's. `reference_date` selects the memory's state at the end of that day, or at that
    time.
    """
    least = None if threshold is None else checked_threshold(threshold)
    most = checked_top_k(top_k, limit)
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError("Invalid query: must be a non-empty string, and not only whitespace.")
    scope, rest = scope_to_read(filters, ids or {})
    fits = condition_of(rest)
    if most == 0:
        return {"results": []}
    updates = updates_of(memory, scope.user_id)
    best = 1.0 + memory.config.retrieval.speaker_boost
    wanted = most
    while True:
        hits = memory.search(
            query.strip(),
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            run_id=scope.run_id,
            top_k=wanted,
            kinds=("chunk",),
            strategy="rerank" if rerank else None,
            as_of=None if reference_date is None else _reference(reference_date),
            explain=True,
            where=(lambda episode: fits(fields_of(episode, updates))) if rest else None,
            expired=show_expired,
        )
        first: dict[str, Hit] = {}  # of a long message the best part
        for hit in hits:
            first.setdefault(hit.id, hit)
        if len(first) >= most or len(hits) < wanted:
            break
        wanted *= 2
    near = [hit for hit in first.values() if _is_near(hit, least)][:most]
    known = {episode.id: episode for episode in memory.log(user_id=scope.user_id, ids=[hit.id for hit in near])}
    results = []
    for hit in near:
        episode = known.get(hit.id)
        if episode is None:  # erased meanwhile
            continue
        score = min(max(hit.score / best, 0.0), 1.0)
        item = item_of(fields_of(episode, updates)) | {"score": score}
        if rerank:
            item["rerank_score"] = hit.parts.get("relevance", hit.score)
        results.append(item | ({"score_details": score_details(hit, score, best, least or 0.0)} if explain else {}))
    return {"results": results}


def _is_near(hit: Hit, least: float | None) -> bool:
    """Return True if a hit is relevant enough; if a strategy found the hit outside the lanes, its score is used."""
    if least is None:
        return True
    return max(relevance(hit)) >= least if "vector_score" in hit.parts else hit.score >= least


def _reference(value: Any) -> datetime:
    """Return the time for a reference date; for a day, its end, so that messages from that day are included."""
    moment = parse_timestamp(value)
    if isinstance(value, str):
        whole = re.fullmatch(r"\s*\d{4}-?\d\d-?\d\d\s*", value) is not None
    else:
        whole = isinstance(value, date) and not isinstance(value, datetime)
    return moment + timedelta(days=1, microseconds=-1) if whole else moment


def checked_top_k(top_k: int, limit: int | None = None) -> int:
    """Validate a number of results; `limit` is used if `top_k` has its default value.

    Raises `InvalidInputError` for anything but an integer of at least 0.
    """
    if limit is not None and top_k == TOP_K:
        top_k = limit
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise InvalidInputError("top_k must be a valid integer")
    if top_k < 0:
        raise InvalidInputError(f"Invalid top_k: {top_k}. Must be a non-negative integer.")
    return top_k


def checked_threshold(threshold: float) -> float:
    """Validate a relevance threshold. Raises `InvalidInputError` for anything but a number from 0 to 1."""
    if not isinstance(threshold, int | float) or isinstance(threshold, bool):
        raise InvalidInputError("threshold must be a valid number")
    if not 0 <= threshold <= 1:
        raise InvalidInputError(f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive).")
    return threshold


def updates_of(memory: Memory, user_id: str) -> dict[str, datetime]:
    """Return the last update time for each of a user's updated messages, by message id."""
    with memory.components.database.read(user_id) as connection:
        return history.last_updates(connection, user_id)
