"""Apply puts to a `Memory`: as long as an item is stored, it is one message, with its history."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Episode
from nscma_torch.integrations.langgraph.items import FIELD, CheckedItem, held_by
from nscma_torch.integrations.langgraph.reading import find, ids_of


def write(memory: Memory, puts: Iterable[CheckedItem]) -> None:
    """Store, replace or delete items; if there are several puts for an item, the last one is used."""
    last = {(one.namespace, one.key): one for one in puts}
    now = datetime.now(UTC)
    for user_id, of_user in groupby(sorted(last.values(), key=_user), key=_user):
        own = list(of_user)
        known = find(memory, user_id, [one.idempotency_key for one in own])
        _add(memory, [one for one in own if one.idempotency_key not in known and one.value is not None], now)
        for one in own:
            if one.idempotency_key in known:
                _change(memory, one, known[one.idempotency_key], now)


def _user(put: CheckedItem) -> str:
    return put.scope.user_id


def _add(memory: Memory, puts: list[CheckedItem], now: datetime) -> None:
    """Store new items. An item that another writer has stored in the meantime is replaced."""
    for (scope, found), group in groupby(puts, key=lambda put: (put.scope, put.text is not None)):
        own = list(group)
        messages = [one.message(created_at=now, updated_at=now) for one in own]
        added = memory.add(messages, **ids_of(scope), infer=found)
        late = [one for one, result in zip(own, added, strict=True) if result.event == "NOOP"]
        known = find(memory, scope.user_id, [one.idempotency_key for one in late])
        for one in late:
            _change(memory, one, known[one.idempotency_key], now)


def _change(memory: Memory, put: CheckedItem, episode: Episode, now: datetime) -> None:
    active, user_id = episode.status == "active", put.scope.user_id
    if put.value is None:
        if active:
            memory.delete(episode.id, user_id=user_id)
        return
    held = held_by(episode)
    created_at = datetime.fromisoformat(held["created_at"]) if active and held else now
    message = put.message(created_at=created_at, updated_at=now)
    text = None if message.content == episode.text else message.content
    memory.update(episode.id, text, user_id=user_id, metadata={FIELD: message.metadata[FIELD]})
    if not active:
        memory.restore(episode.id, user_id=user_id)
