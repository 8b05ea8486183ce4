"""Convert messages and their history to mem0's format."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from nscma_torch.compat.mem0.expiry import last_day
from nscma_torch.compat.mem0.scopes import IDS, NO_USER
from nscma_torch.core.records import Episode, Fact, HistoryEvent, Hit
from nscma_torch.episodic.log.streams import derive_id

_PROMOTED = (*IDS, "actor_id", "role", "expiration_date")
_CORE = frozenset({"id", "data", "hash", "created_at", "updated_at", "text_lemmatized", "attributed_to", *_PROMOTED})
_EVENTS = frozenset({"ADD", "UPDATE", "DELETE", "RESTORE"})
_HALF = 5.0  # the BM25 score that counts as a similarity of one half


def fields_of(episode: Episode, updates: Mapping[str, datetime]) -> dict[str, Any]:
    """Return all fields available to filters, as in mem0's payload. `updates` maps message ids to their last update
    times.
    """
    scope = episode.scope
    own = {
        "id": episode.id,
        "data": episode.text,
        "hash": hashlib.md5(episode.text.encode(), usedforsecurity=False).hexdigest(),
        "created_at": episode.occurred_at.isoformat(),
        "updated_at": max(updates.get(episode.id, episode.occurred_at), episode.occurred_at).isoformat(),
        "user_id": None if scope.user_id == NO_USER else scope.user_id,
        "agent_id": scope.agent_id,
        "run_id": scope.run_id,
        "actor_id": episode.name,
        "role": episode.role,
        "expiration_date": last_day(episode.expires_at),
    }
    kept = {key: value for key, value in episode.metadata.items() if key not in _CORE}
    return kept | {key: value for key, value in own.items() if value is not None}


def item_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory in the format of `get_all`. `metadata` is None if empty; other keys are omitted if they don't
    apply.
    """
    metadata = {key: value for key, value in fields.items() if key not in _CORE}
    return {
        "id": fields["id"],
        "memory": fields["data"],
        "hash": fields["hash"],
        "metadata": metadata or None,
        "created_at": fields["created_at"],
        "updated_at": fields["updated_at"],
        **{key: fields[key] for key in _PROMOTED if key in fields},
    }


def relevance(hit: Hit) -> tuple[float, float]:
    """Return a hit's semantic and lexical relevance to the query, each in [0, 1].

    Semantic relevance is the vector lane's score, which is the cosine unless [score] adds other terms. Lexical
    relevance is x / (x + 5) for a BM25 score x.
    """
    by_meaning = min(max(hit.parts.get("vector_score", 0.0), 0.0), 1.0)
    by_words = max(hit.parts.get("lexical_score", 0.0), 0.0)
    return by_meaning, by_words / (by_words + _HALF)


def score_details(hit: Hit, score: float, most: float, threshold: float) -> dict[str, float]:
    """Return the parts of a score with mem0's names; entities don't raise scores here."""
    by_meaning, by_words = relevance(hit)
    return {
        "semantic_score": by_meaning,
        "bm25_score": by_words,
        "entity_boost": 0.0,
        "raw_score": hit.score,
        "max_possible_score": most,
        "final_score": score,
        "threshold": threshold,
    }


def fact_of(fact: Fact) -> dict[str, Any]:
    """Format a fact read from an added message."""
    return {
        "id": fact.id,
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "valid_from": None if fact.valid_from is None else fact.valid_from.isoformat(),
        "valid_to": None if fact.valid_to is None else fact.valid_to.isoformat(),
        "status": fact.status,
    }


def history_of(episode: Episode, events: Sequence[HistoryEvent]) -> list[dict[str, Any]]:
    """Return a memory's history, oldest first: ADD, UPDATE, DELETE, and RESTORE, which mem0 doesn't have."""
    found: list[dict[str, Any]] = []
    text: str | None = None
    for number, event in enumerate(events):
        if event.event not in _EVENTS:
            continue
        before = text
        if event.event in ("ADD", "UPDATE"):
            text = event.new_text
        gone = event.event == "DELETE"
        found.append(
            {
                "id": derive_id("mem0 history", episode.id, number),
                "memory_id": episode.id,
                "old_memory": None if event.event in ("ADD", "RESTORE") else before,
                "new_memory": None if gone else text,
                "event": event.event,
                "created_at": episode.occurred_at.isoformat(),
                "updated_at": (episode.occurred_at if event.event == "ADD" else event.at).isoformat(),
                "is_deleted": gone,
                "actor_id": episode.name,
                "role": episode.role,
            }
        )
    return found
