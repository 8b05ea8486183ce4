"""The part of the digest for facts: namespaces, entities, statements, believed facts, skills, profile, derived texts.

Not covered is what was once believed and what was decided on the way: undoing a decision gives the digest of before.
A message without a time of its own was said when it was stored: times that come from there show as "said".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, Select, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.curator.store.derived_schema import derived_links, derived_sources, derived_texts
from nscma_torch.semantic.store.fact_schema import entities, fact_sources, facts, profile, skills, statements

_E, _S, _F, _K, _P, _T = entities.c, statements.c, facts.c, skills.c, profile.c, derived_texts.c
_HOLDS = (~_S.withdrawn, ~_S.superseded)


def rows(connection: Connection, user_id: str | None = None) -> Iterator[tuple[Any, ...]]:
    """Lines to hash, in order: of a user, or of all."""

    def read(query: Select[Any], owner: Any) -> Any:
        return connection.execute(query if user_id is None else query.where(owner == user_id))

    undated = _undated(read)

    def time(owner: str, micros: int | None) -> int | str | None:
        return "said" if (owner, micros) in undated else micros

    yield from _entities(read)
    told = (_S.user_id, _S.id, _S.namespace, _S.start, _S.end, _S.subject, _S.subject_name, _S.relation, _S.topic)
    how = (_S.object, _S.object_key, _S.replaces, _S.negated, _S.correction, _S.past, _S.speaker, _S.confidence)
    for row in read(select(*told, *how, _S.valid_from, _S.valid_to).where(*_HOLDS).order_by(_S.id), _S.user_id):
        *said, begins, ends = row
        yield ("statement", *said, time(row.user_id, begins), time(row.user_id, ends))
    yield from _facts(read, time)
    skill = (_K.id, _K.namespace, _K.name, _K.trigger, _K.steps, _K.successes, _K.failures, _K.status)
    for row in read(select(*skill).order_by(_K.id), _K.user_id):
        yield ("skill", *row)
    derived = (_T.id, _T.namespace, _T.kind, _T.part, _T.text, _T.confidence)
    for row in read(select(*derived).order_by(_T.id), _T.user_id):
        yield ("derived", *row)
    resting = select(_T.id, episodes.c.id, derived_sources.c.cited).join(
        derived_sources, derived_sources.c.derived_seq == _T.seq
    )
    resting = resting.join(episodes, episodes.c.seq == derived_sources.c.episode_seq)
    for row in read(resting.order_by(_T.id, episodes.c.id), _T.user_id):
        yield ("derived from", *row)
    below, links = derived_texts.alias(), derived_links.c
    linked = select(_T.id, below.c.id, links.cited).join(derived_links, links.derived_seq == _T.seq)
    linked = linked.join(below, below.c.seq == links.source_seq)
    for row in read(linked.order_by(_T.id, below.c.id), _T.user_id):
        yield ("derived above", *row)
    line = (_P.namespace, _P.number, _P.text, _P.day, _P.sources)
    for row in read(select(*line).order_by(_P.namespace, _P.number), _P.user_id):
        yield ("profile", *row)


_Read = Callable[[Select[Any], Any], Any]


def _undated(read: _Read) -> set[tuple[str, int | None]]:
    """(user, time) that come from the clock of the store, by a message without a time of its own."""
    query = select(_S.user_id, _S.said_at, _S.valid_from, _S.valid_to)
    query = query.join(episodes, episodes.c.seq == _S.episode_seq).where(episodes.c.occurred_at.is_(None))
    found = {(owner, micros) for owner, *times in read(query, _S.user_id) for micros in times}
    return {(owner, micros) for owner, micros in found if micros is not None}


def _entities(read: _Read) -> Iterator[tuple[Any, ...]]:
    """The entities that a statement mentions, and merged ones."""
    mentioned = {
        (namespace, key)
        for column in (_S.subject, _S.object_key)
        for namespace, key in read(select(_S.namespace, column).where(*_HOLDS).distinct(), _S.user_id)
    }
    for namespace, key, name, into in read(
        select(_E.namespace, _E.key, _E.name, _E.canonical).order_by(_E.namespace, _E.key), _E.user_id
    ):
        if into is not None or (namespace, key) in mentioned:
            yield ("entity", namespace, key, name, into)


def _facts(read: _Read, time: Callable[[str, int | None], int | str | None]) -> Iterator[tuple[Any, ...]]:
    sources: dict[int, list[str]] = {}
    query = select(fact_sources.c.fact_seq, _S.id).join(statements, _S.seq == fact_sources.c.statement_seq)
    query = query.join(facts, _F.seq == fact_sources.c.fact_seq).where(_F.retired_at.is_(None))
    for seq, statement_id in read(query.order_by(_S.id), _S.user_id):
        sources.setdefault(seq, []).append(statement_id)
    held = (_F.id, _F.namespace, _F.subject, _F.relation, _F.topic, _F.object, _F.object_key)
    how = (_F.status, _F.archived_by, _F.confidence, _F.strength, _F.sequence, _F.ended)
    believed: Select[Any] = select(_F.seq, _F.user_id, _F.valid_from, _F.valid_to, *held, *how)
    believed = believed.where(_F.retired_at.is_(None)).order_by(_F.id, _F.sequence, _F.status)
    for seq, owner, begins, ends, *what in read(believed, _F.user_id):
        yield ("fact", *what, time(owner, begins), time(owner, ends), *sources.get(seq, ()))
