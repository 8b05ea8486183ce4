"""Read items: one item by key, all items in a namespace, or the items that match a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import SearchItem

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Episode, Scope
from nscma_torch.episodic.log import episodes
from nscma_torch.integrations.langgraph.items import held_by, search_item_of, source_of

Held = Mapping[str, Any]  # an item's data stored in a message: namespace, key, value, …


def find(memory: Memory, user_id: str, keys: Sequence[str]) -> Mapping[str, Episode]:
    """Return the user's messages with these idempotency keys, including deleted ones."""
    with memory.components.database.read(user_id) as connection:
        return episodes.known_keys(connection, user_id, keys)


def under(memory: Memory, scope: Scope, prefix: Sequence[str]) -> list[Held]:
    """Return the items in a scope below a namespace, in the order in which they were first put."""
    live = episodes.live(to_micros(datetime.now(UTC)))
    with memory.components.database.read(scope.user_id) as connection:
        rows = episodes.select_all(connection, scope, live, episodes.of_sources(source_of(prefix)))
        return [held for row in rows if (held := held_by(row)) is not None and is_below(held, prefix)]


def is_below(held: Held, prefix: Sequence[str]) -> bool:
    """Return True if an item's namespace begins with these labels."""
    return bool(held["namespace"][: len(prefix)] == list(prefix))


def found(memory: Memory, scope: Scope, query: str, most: int, belongs: Callable[[Episode], bool]) -> list[SearchItem]:
    """Return the best matching items, best first, from the messages for which `belongs` returns True."""
    wanted = most
    while True:  # a long item may be found by several of its parts
        hits = memory.search(query, **ids_of(scope), top_k=wanted, kinds=("chunk",), where=belongs)
        scores: dict[str, float] = {}
        for hit in hits:
            scores.setdefault(hit.id, hit.score)
        if len(scores) >= most or len(hits) < wanted:
            break
        wanted *= 2
    best = list(scores)[:most]
    rows = {row.id: held_by(row) for row in memory.log(user_id=scope.user_id, ids=best)}
    kept = [(rows.get(key), scores[key]) for key in best]  # None: erased meanwhile
    return [search_item_of(held, score) for held, score in kept if held is not None]


def ids_of(scope: Scope) -> Mapping[str, Any]:
    """Return a scope as arguments for `Memory`'s methods."""
    return {"user_id": scope.user_id, "agent_id": scope.agent_id, "run_id": scope.run_id}
