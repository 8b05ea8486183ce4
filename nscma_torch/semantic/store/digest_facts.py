"""The digest lines for facts: entities, statements and believed facts.

Past beliefs and decisions are excluded, so undoing a decision restores the earlier digest. A message without its own
timestamp counts as said when it was stored; times derived from it appear as "said".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Select, select

from nscma_torch.core.capabilities import RowQueries
from nscma_torch.core.database.schema import episodes
from nscma_torch.semantic.store.fact_schema import entities, fact_sources, facts, statements

_E, _S, _F = entities.c, statements.c, facts.c
_HOLDS = (~_S.withdrawn, ~_S.superseded)


def lines(rows: RowQueries) -> Iterator[tuple[Any, ...]]:
    """Yield the lines to hash, in order."""
    undated = _undated(rows)

    def time(owner: str, micros: int | None) -> int | str | None:
        return "said" if (owner, micros) in undated else micros

    yield from _entities(rows)
    told = (_S.user_id, _S.id, _S.namespace, _S.start, _S.end, _S.subject, _S.subject_name, _S.relation, _S.topic)
    how = (_S.object, _S.object_key, _S.replaces, _S.negated, _S.correction, _S.past, _S.speaker, _S.confidence)
    for row in rows(select(*told, *how, _S.valid_from, _S.valid_to).where(*_HOLDS).order_by(_S.id), _S.user_id):
        *said, begins, ends = row
        yield ("statement", *said, time(row.user_id, begins), time(row.user_id, ends))
    yield from _facts(rows, time)


def _undated(rows: RowQueries) -> set[tuple[str, int | None]]:
    """Return the (user, time) pairs that come from the store's clock, because the message had no timestamp."""
    query = select(_S.user_id, _S.said_at, _S.valid_from, _S.valid_to)
    query = query.join(episodes, episodes.c.seq == _S.episode_seq).where(episodes.c.occurred_at.is_(None))
    found = {(owner, micros) for owner, *times in rows(query, _S.user_id) for micros in times}
    return {(owner, micros) for owner, micros in found if micros is not None}


def _entities(rows: RowQueries) -> Iterator[tuple[Any, ...]]:
    """Yield the entities that a statement mentions, and the merged entities."""
    mentioned = {
        (namespace, key)
        for column in (_S.subject, _S.object_key)
        for namespace, key in rows(select(_S.namespace, column).where(*_HOLDS).distinct(), _S.user_id)
    }
    for namespace, key, name, into in rows(
        select(_E.namespace, _E.key, _E.name, _E.canonical).order_by(_E.namespace, _E.key), _E.user_id
    ):
        if into is not None or (namespace, key) in mentioned:
            yield ("entity", namespace, key, name, into)


def _facts(rows: RowQueries, time: Callable[[str, int | None], int | str | None]) -> Iterator[tuple[Any, ...]]:
    sources: dict[int, list[str]] = {}
    query = select(fact_sources.c.fact_seq, _S.id).join(statements, _S.seq == fact_sources.c.statement_seq)
    query = query.join(facts, _F.seq == fact_sources.c.fact_seq).where(_F.retired_at.is_(None))
    for seq, statement_id in rows(query.order_by(_S.id), _S.user_id):
        sources.setdefault(seq, []).append(statement_id)
    held = (_F.id, _F.namespace, _F.subject, _F.relation, _F.topic, _F.object, _F.object_key)
    how = (_F.status, _F.archived_by, _F.confidence, _F.strength, _F.sequence, _F.ended)
    believed: Select[Any] = select(_F.seq, _F.user_id, _F.valid_from, _F.valid_to, *held, *how)
    believed = believed.where(_F.retired_at.is_(None)).order_by(_F.id, _F.sequence, _F.status)
    for seq, owner, begins, ends, *what in rows(believed, _F.user_id):
        yield ("fact", *what, time(owner, begins), time(owner, ends), *sources.get(seq, ()))
