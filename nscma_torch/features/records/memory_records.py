"""Structured records for messages: type, entities, sentiment and resolution; a record has its message's importance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, delete, exists, func, or_, select, union

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import RESOLVABLE, Description, MemoryRecord, RecordFilter, Scope
from nscma_torch.episodic.index.unit_schema import unit_sources
from nscma_torch.episodic.log import episodes as log
from nscma_torch.features.records.record_schema import (
    RECORD_TABLES,
    memory_records,
    record_entities,
    record_resolutions,
)
from nscma_torch.semantic.store import entities, namespaces
from nscma_torch.text.names import name_key

_M, _N, _R, _E = memory_records.c, record_entities.c, record_resolutions.c, episodes.c
_LATER = episodes.alias("later")  # the message that settles


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to store, and the ids of the earlier messages that its message settles."""

    said: Description
    settles: tuple[str, ...] = ()


def replace(connection: Connection, episode_row: Mapping[Any, Any], new: NewRecord | None) -> None:
    """Replace the data derived from reading a message: its record (None if it has none), and what it settles.

    Its settlement by later messages is kept, because it was derived from those. Call `touch_user` in the same
    transaction.
    """
    seq, own = episode_row["seq"], {"user_id": episode_row["user_id"]}
    _delete(connection, [seq], settled_by_others=False)
    if new is None:
        return
    said = new.said
    resolution = "none" if said.type not in RESOLVABLE else "resolved" if said.settled else "open"
    row = {"type": said.type, "sentiment": said.sentiment, "resolution": resolution}
    connection.execute(memory_records.insert().values(episode_seq=seq, **own, **row))
    names = {name_key(name): name for name in reversed(said.entities) if name_key(name)}
    named = [
        {"episode_seq": seq, "number": number, **own, "key": key, "name": name}
        for number, (key, name) in enumerate(reversed(names.items()))
    ]
    if named:
        connection.execute(record_entities.insert(), named)
    if new.settles:
        query = select(_E.seq).where(_E.user_id == episode_row["user_id"], _E.id.in_(new.settles))
        settled = connection.execute(query.order_by(_E.seq)).scalars()
        rows = [{"episode_seq": earlier, "by_seq": seq, **own} for earlier in settled]
        connection.execute(record_resolutions.insert(), rows)


def present(connection: Connection, episode_seqs: Collection[int]) -> set[int]:
    """Return the messages with rows that `replace` would delete."""
    found: set[int] = set()
    for some in pages(sorted(episode_seqs)):
        columns = (_M.episode_seq, _N.episode_seq, _R.by_seq)
        found.update(connection.execute(union(*(select(own).where(own.in_(some)) for own in columns))).scalars())
    return found


def remove(connection: Connection, episode_seqs: Collection[int]) -> dict[str, int]:
    """Delete the data derived from these messages, and their settlements, before the messages are changed or deleted.

    Returns the number of deleted rows by table.
    """
    return _delete(connection, episode_seqs, settled_by_others=True)


def find(connection: Connection, user_id: str, episode_id: str, now: int) -> MemoryRecord | None:
    """Return the record for the user's message; None if it has none, or if the message isn't live at `now`
    (microseconds).
    """
    found = _records(connection, and_(_E.user_id == user_id, _E.id == episode_id), now, None)
    return found[0] if found else None


def select_records(
    connection: Connection, scope: Scope, wanted: RecordFilter, now: int, *, limit: int | None = None
) -> list[MemoryRecord]:
    """Return the matching records for a scope's live messages, in order of arrival."""
    fits = _fits(connection, scope, wanted, now)
    return _records(connection, and_(log.within(scope), fits), now, limit)


def units_fitting(connection: Connection, scope: Scope, wanted: RecordFilter, now: int) -> list[int]:
    """Return the row numbers of the units from messages with a matching record, ascending."""
    query = (
        select(unit_sources.c.unit_seq)
        .join(memory_records, _M.episode_seq == unit_sources.c.episode_seq)
        .join(episodes, _E.seq == _M.episode_seq)
        .where(_M.user_id == scope.user_id, _fits(connection, scope, wanted, now))
    )
    return list(connection.execute(query.distinct().order_by(unit_sources.c.unit_seq)).scalars())


def _delete(connection: Connection, episode_seqs: Collection[int], *, settled_by_others: bool) -> dict[str, int]:
    counts = dict.fromkeys((table.name for table in RECORD_TABLES), 0)
    for some in pages(sorted(episode_seqs)):
        edges = _R.by_seq.in_(some)
        which = {
            memory_records: _M.episode_seq.in_(some),
            record_entities: _N.episode_seq.in_(some),
            record_resolutions: or_(edges, _R.episode_seq.in_(some)) if settled_by_others else edges,
        }
        for table, rows in which.items():
            counts[table.name] += connection.execute(delete(table).where(rows)).rowcount
    return counts


def _settles(now: int) -> ColumnElement[bool]:
    """Build the condition that the later message in a resolution is live, and was said by `now`."""
    lasting = func.coalesce(_LATER.c.expires_at, now + 1) > now
    said = func.coalesce(_LATER.c.occurred_at, _LATER.c.recorded_at) <= now
    return and_(_LATER.c.seq == _R.by_seq, _LATER.c.status == "active", lasting, said)


def _resolution(now: int) -> ColumnElement[str]:
    """Build the column with a record's current resolution: "open" becomes "resolved" once a live message settles it."""
    settled = exists().where(_R.episode_seq == _M.episode_seq, _settles(now))
    return case((and_(_M.resolution == "open", settled), "resolved"), else_=_M.resolution)


def _fits(connection: Connection, scope: Scope, wanted: RecordFilter, now: int) -> ColumnElement[bool]:
    clauses: list[ColumnElement[bool]] = [_E.importance >= wanted.importance]
    if wanted.types:
        clauses.append(_M.type.in_(wanted.types))
    if wanted.sentiments:
        clauses.append(_M.sentiment.in_(wanted.sentiments))
    if wanted.resolutions:
        clauses.append(_resolution(now).in_(wanted.resolutions))
    if wanted.entity is not None:
        keys = _same_entity(connection, scope, name_key(wanted.entity))
        clauses.append(exists().where(_N.episode_seq == _M.episode_seq, _N.key.in_(sorted(keys))))
    return and_(*clauses)


def _same_entity(connection: Connection, scope: Scope, key: str) -> set[str]:
    """Return a name's key, and the keys of all names merged with it in any of the scope's namespaces."""
    keys = {key}
    for namespace in namespaces.of_scope(connection, scope):
        into = entities.canonical(connection, namespace)
        keys |= {one for one in (*into, *into.values()) if into.get(one, one) == into.get(key, key)}
    return keys


def _records(connection: Connection, which: ColumnElement[bool], now: int, limit: int | None) -> list[MemoryRecord]:
    columns = (_E.seq, _E.id, _E.user_id, _E.agent_id, _E.run_id, _E.importance, _M.type, _M.sentiment)
    said_at = func.coalesce(_E.occurred_at, _E.recorded_at).label("said_at")
    query = select(*columns, said_at, _resolution(now).label("resolution"))
    query = query.join(memory_records, _M.episode_seq == _E.seq).where(which, log.live(now)).order_by(_E.seq)
    rows = list(islice(connection.execute(query), limit))
    named, settled = _named(connection, [row.seq for row in rows]), _settled(connection, [row.seq for row in rows], now)
    return [
        MemoryRecord(
            episode_id=row.id,
            scope=Scope(row.user_id, row.agent_id, row.run_id),
            type=row.type,
            entities=tuple(named.get(row.seq, ())),
            importance=row.importance,
            sentiment=row.sentiment,
            resolution=row.resolution,
            occurred_at=from_micros(row.said_at),
            resolved_by=tuple(settled.get(row.seq, ())) if row.type in RESOLVABLE else (),
        )
        for row in rows
    ]


def _named(connection: Connection, seqs: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for some in pages(seqs):
        query = select(_N.episode_seq, _N.name).where(_N.episode_seq.in_(some)).order_by(_N.episode_seq, _N.number)
        for seq, name in connection.execute(query):
            found.setdefault(seq, []).append(name)
    return found


def _settled(connection: Connection, seqs: Sequence[int], now: int) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for some in pages(seqs):
        query = select(_R.episode_seq, _LATER.c.id).join(_LATER, _settles(now)).where(_R.episode_seq.in_(some))
        for seq, episode_id in connection.execute(query.order_by(_R.episode_seq, _R.by_seq)):
            found.setdefault(seq, []).append(episode_id)
    return found
