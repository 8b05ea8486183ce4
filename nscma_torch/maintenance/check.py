"""Integrity checks of a store: every index agrees with the rows it derives from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Any

from sqlalchemy import Connection, Select, func, select

from nscma_torch.core.database.dialects import vector_bytes
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.core.jobs import leases
from nscma_torch.core.records import OF_ONE_MESSAGE
from nscma_torch.curator.store import check_derived
from nscma_torch.episodic.index.unit_schema import postings, unit_sources, units, vectors
from nscma_torch.features.records import check_records
from nscma_torch.hierarchy.store import check_hierarchies
from nscma_torch.maintenance import check_ids, check_owners
from nscma_torch.maintenance.salvage import JSON_COLUMNS, damaged_json
from nscma_torch.semantic.store import check_facts
from nscma_torch.text.terms import terms

_Rows = Callable[[Select[Any], Any], Any]


def problems(
    connection: Connection, users: Collection[str] | None = None, *, single: Collection[str] = ()
) -> list[str]:
    """The problems of the store, a sentence each; empty when there are none. Reads every row of all users, or of some.

    `single` names the relations that hold one object at a time.
    """

    def rows(query: Select[Any], owner: Any) -> Any:
        return connection.execute(query if users is None else query.where(owner.in_(users)))

    found = check_owners.problems(connection, users)
    found += [*_json(rows), *_streams(rows), *_chunks(rows), *_vectors(connection, rows, users), *_postings(rows)]
    found += check_hierarchies.problems(connection, users) + check_derived.problems(connection, users)
    found += check_records.problems(connection, users) + ([] if users is not None else leases.problems(connection))
    found += check_facts.problems(connection, users, single=single)
    return found + check_ids.problems(connection, users)


def _json(rows: _Rows) -> Iterator[str]:
    for row in rows(select(episodes.c.id, *(episodes.c[name] for name in JSON_COLUMNS)), episodes.c.user_id).mappings():
        yield from (f"{column} of message {row['id']} is not a JSON object" for column in damaged_json(row))


def _streams(rows: _Rows) -> Iterator[str]:
    last = select(func.max(episodes.c.position)).where(episodes.c.stream_id == streams.c.id).scalar_subquery()
    for stream_id in rows(select(streams.c.id).where(last >= streams.c.next_position), streams.c.user_id).scalars():
        yield f"stream {stream_id} holds a message beyond its next position"


def _chunks(rows: _Rows) -> Iterator[str]:
    """Chunks must be their episode's text at their offsets, and every message must have at least one."""
    of_unit, of_message = unit_sources.c.unit_seq == units.c.seq, unit_sources.c.episode_seq == episodes.c.seq
    query = (
        select(units.c.id, units.c.text, units.c.start, units.c.end, episodes.c.text, units.c.status, episodes.c.status)
        .join(unit_sources, of_unit)
        .join(episodes, of_message)
        .where(units.c.kind == "chunk")
    )
    for unit_id, text, start, end, whole, status, of_episode in rows(query, units.c.user_id):
        if whole[start:end] != text:
            yield f"chunk {unit_id} is not its message's text at {start}:{end}"
        if status != of_episode and (status, of_episode) != ("archived", "active"):  # forgotten: out of search alone
            yield f"chunk {unit_id} is {status}, its message {of_episode}"
    chunked = select(unit_sources.c.unit_seq).join(units, of_unit).where(of_message, units.c.kind == "chunk")
    for episode_id in rows(select(episodes.c.id).where(~chunked.exists()), episodes.c.user_id).scalars():
        yield f"message {episode_id} has no chunk: search cannot find it"
    orphans = select(units.c.id).where(
        units.c.kind.in_(sorted(OF_ONE_MESSAGE)), ~select(unit_sources.c.unit_seq).where(of_unit).exists()
    )
    for unit_id in rows(orphans, units.c.user_id).scalars():
        yield f"unit {unit_id} comes from no message"


def _vectors(connection: Connection, rows: _Rows, users: Collection[str] | None) -> Iterator[str]:
    """All vectors come from one embedder: they are float32 and as long as most, or for some users as the first one."""
    size = vector_bytes(connection, vectors.c.vector)
    query: Any = select(size, func.count()).group_by(size).order_by(func.count().desc(), size)
    sizes = rows(query, vectors.c.user_id).all()
    first = connection.execute(select(size).order_by(vectors.c.unit_seq).limit(1)).scalar()
    usual = first if users is not None or not sizes else sizes[0][0]
    for size, n in sizes:
        if size % 4 or size != usual:
            yield f"{n} vectors have {size} bytes"


def _postings(rows: _Rows) -> Iterator[str]:
    stored: dict[int, Counter[str]] = defaultdict(Counter)
    for term, seq, tf in rows(select(postings.c.term, postings.c.unit_seq, postings.c.tf), postings.c.user_id):
        stored[seq][term] = tf
    query = select(units.c.seq, units.c.id, units.c.text, units.c.length)
    for seq, unit_id, text, length in rows(query, units.c.user_id):
        expected = Counter(terms(text))
        if stored.pop(seq, Counter()) != expected or length != expected.total():
            yield f"the lexical index of unit {unit_id} differs from its text"
    for seq in stored:
        yield f"postings of a missing unit {seq}"
