"""Functions that run mem0's operations on this library's `Memory`, with mem0's arguments and results.

The classes in this package and the server's mem0 paths are thin layers on top of them. `ids` names the memory's owner.
If an operation takes only a memory's id, `user_id` limits it to one user, and None looks up the owner.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.compat.mem0.exceptions import MemoryNotFoundError
from nscma_torch.compat.mem0.expiry import day_of, end_of
from nscma_torch.compat.mem0.filters import condition_of
from nscma_torch.compat.mem0.items import fact_of, fields_of, history_of, item_of
from nscma_torch.compat.mem0.messages import PROCEDURAL, as_list, checked_type, to_store, transcript
from nscma_torch.compat.mem0.scopes import IDS, scope_of, scope_to_read, scope_to_write, without_ids
from nscma_torch.compat.mem0.searching import TOP_K, checked_top_k, updates_of
from nscma_torch.core.database.database import user_or_all
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import KEEP, Added, Episode, Keep, Message, Scope
from nscma_torch.episodic.log import episodes
from nscma_torch.text.calendar.timestamps import parse_timestamp

logger = logging.getLogger(__name__)


def add(
    memory: Memory,
    messages: object,
    ids: Mapping[str, Any],
    *,
    metadata: Mapping[str, Any] | None = None,
    timestamp: Any = None,
    expiration_date: Any = None,
    infer: bool = True,
    memory_type: str | None = None,
    prompt: str | None = None,
) -> dict[str, Any]:
    """Store messages; with `infer`, also extract facts immediately, within `retrieval.settle_seconds`.

    Each message becomes a memory. The results contain an ADD for each, with the `facts` extracted from it.

    Raises:
        ValidationError: no id was given, the memory type is unknown, or the messages have an invalid form.
        InvalidInputError: the input is invalid in another way; nothing is stored.
    """
    lasts_to = end_of(day_of(expiration_date))
    scope = scope_to_write(ids)
    kept = without_ids(metadata, "add()", {})
    procedural = checked_type(memory_type) is not None and scope.agent_id is not None
    if prompt is not None:
        logger.warning(
            "add(): the prompt is ignored, as it is for a language model, and facts are extracted without one"
        )
    if procedural:
        kept["memory_type"] = PROCEDURAL
    batch = to_store(as_list(messages), kept)
    if procedural and batch:
        whole = Message("assistant", transcript(batch), batch[0].timestamp, metadata=batch[0].metadata)
        batch, infer = [whole], False
    if not batch:
        return {"results": []}
    said = None if timestamp is None else parse_timestamp(timestamp)
    added = memory.add(
        batch,
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        run_id=scope.run_id,
        timestamp=said,
        expiration_date=lasts_to,
        infer=infer,
    )
    facts = _facts(memory, scope, added) if infer else {}
    return {"results": [_result(one, facts) for one in zip(added, batch, strict=True)]}


def _result(added: tuple[Added, Message], facts: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    one, message = added
    found: dict[str, Any] = {"id": one.id, "memory": one.text, "event": one.event}
    found |= {"actor_id": message.name, "role": message.role}
    return found | ({"facts": facts[one.id]} if one.id in facts else {})


def _facts(memory: Memory, scope: Scope, added: list[Added]) -> dict[str, list[dict[str, Any]]]:
    """Return the facts extracted from the messages just added, by message id."""
    memory.components.settling.settle(scope.user_id)
    new = {one.id for one in added}
    found: dict[str, list[dict[str, Any]]] = {}
    for fact in memory.facts(user_id=scope.user_id, agent_id=scope.agent_id):
        for episode_id in new.intersection(fact.episode_ids):
            found.setdefault(episode_id, []).append(fact_of(fact))
    return found


def get(memory: Memory, memory_id: str, *, user_id: str | None = None) -> dict[str, Any] | None:
    """Return a memory, even if it is expired, or None if the id is unknown or the memory was deleted."""
    found = _find(memory, memory_id, user_id)
    if found is None or found.status != "active":
        return None
    return item_of(fields_of(found, updates_of(memory, found.scope.user_id))) | {"score": None}


def get_all(
    memory: Memory,
    *,
    filters: Mapping[str, Any] | None = None,
    ids: Mapping[str, Any] | None = None,
    top_k: int = TOP_K,
    limit: int | None = None,
    show_expired: bool = False,
) -> dict[str, Any]:
    """Return the memories that match the filters, in order of arrival; `limit` is an older name for `top_k`."""
    most = checked_top_k(top_k, limit)
    scope, rest = scope_to_read(filters, ids or {})
    fits, updates = condition_of(rest), updates_of(memory, scope.user_id)
    if most == 0:
        return {"results": []}
    found = memory.get_all(
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        run_id=scope.run_id,
        limit=most,
        where=lambda episode: fits(fields_of(episode, updates)),
        expired=show_expired,
    )
    return {"results": [item_of(fields_of(episode, updates)) for episode in found]}


def update(
    memory: Memory,
    memory_id: str,
    text: str | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    expiration_date: Any = KEEP,
    user_id: str | None = None,
) -> dict[str, str]:
    """Change a memory's text, metadata or expiration date (None removes the date).

    Raises `MemoryNotFoundError` for an unknown id, `InvalidInputError` if nothing would change.
    """
    if text is None and metadata is None and expiration_date is KEEP:
        raise InvalidInputError("At least one of text, metadata, or expiration_date must be provided.")
    lasts_to: datetime | Keep | None = KEEP if expiration_date is KEEP else end_of(day_of(expiration_date))
    episode = _required(memory, memory_id, user_id)
    keys = None if metadata is None else without_ids(metadata, "update()", fields_of(episode, {}))
    memory.update(memory_id, text, user_id=episode.scope.user_id, metadata=keys, expiration_date=lasts_to)
    return {"message": "Memory updated successfully!"}


def delete(memory: Memory, memory_id: str, *, user_id: str | None = None) -> dict[str, str]:
    """Hide a memory from everything except its history. Raises `MemoryNotFoundError` for an unknown id."""
    episode = _required(memory, memory_id, user_id)
    memory.delete(memory_id, user_id=episode.scope.user_id)
    return {"message": "Memory deleted successfully!"}


def delete_all(memory: Memory, ids: Mapping[str, Any]) -> dict[str, str]:
    """Hide all memories in a scope. Raises `InvalidInputError` if no id is given."""
    scope = scope_of(ids)
    if scope is None:
        raise InvalidInputError(
            "At least one filter is required to delete all memories. If you want to delete all memories, use the "
            "`reset()` method."
        )
    memory.delete_all(user_id=scope.user_id, agent_id=scope.agent_id, run_id=scope.run_id)
    return {"message": "Memories deleted successfully!"}


def history_events(memory: Memory, memory_id: str, *, user_id: str | None = None) -> list[dict[str, Any]]:
    """Return a memory's history, oldest first; empty for an unknown id."""
    found = _find(memory, memory_id, user_id)
    return [] if found is None else history_of(found, memory.history(memory_id, user_id=found.scope.user_id))


def ids_of(user_id: Any, agent_id: Any, run_id: Any) -> dict[str, Any]:
    """Collect ids into the `ids` argument for this module's functions."""
    return dict(zip(IDS, (user_id, agent_id, run_id), strict=True))


def _find(memory: Memory, memory_id: object, user_id: str | None) -> Episode | None:
    """Return the message with this id, even if deleted, that belongs to this user, or to any user if None."""
    key = str(memory_id)
    with memory.components.database.read(user_or_all(user_id)) as connection:
        owner = episodes.owner(connection, key) if user_id is None else user_id
        return None if owner is None else episodes.find(connection, owner, key)


def _required(memory: Memory, memory_id: str, user_id: str | None) -> Episode:
    found = _find(memory, memory_id, user_id)
    if found is None or found.status != "active":
        raise MemoryNotFoundError(
            f"Memory with id {memory_id} not found. Please provide a valid 'memory_id'",
            error_code="MEM_404",
            details={"memory_id": memory_id},
            suggestion="get_all() lists the ids.",
        )
    return found
