"""Integrity checks of a store: every index agrees with the rows it derives from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection

from sqlalchemy import Connection, func, or_, select

from nscma_torch.records import OF_ONE_MESSAGE
from nscma_torch.storage import check_derived, check_facts, check_hierarchies, check_records, leases
from nscma_torch.storage.dialects import vector_bytes
from nscma_torch.storage.schema import (
    episodes,
    postings,
    streams,
    unit_sources,
    units,
    vectors,
)
from nscma_torch.text.terms import terms


def problems(connection: Connection, *, single: Collection[str] = ()) -> list[str]:
    """The problems of the store, a sentence each; empty when there are none. Reads every row.

    `single` names the relations that hold one object at a time.
    """
    found = _streams(connection) + _chunks(connection) + _vectors(connection) + _postings(connection)
    found += check_hierarchies.problems(connection) + check_derived.problems(connection)
    found += check_records.problems(connection) + leases.problems(connection)
    return found + check_facts.problems(connection, single=single)


def _streams(connection: Connection) -> list[str]:
    last = select(episodes.c.stream_id, func.max(episodes.c.position).label("last")).group_by(episodes.c.stream_id)
    newest = last.subquery()
    query = select(streams.c.id).join(newest, newest.c.stream_id == streams.c.id)
    ahead = connection.execute(query.where(newest.c.last >= streams.c.next_position)).scalars()
    return [f"stream {stream_id} holds a message beyond its next position" for stream_id in ahead]


def _chunks(connection: Connection) -> list[str]:
    """Chunks must be their episode's text at their offsets, and every message must have at least one."""
    found = []
    query = (
        select(units.c.id, units.c.text, units.c.start, units.c.end, episodes.c.text, units.c.status, episodes.c.status)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(units.c.kind == "chunk")
    )
    for unit_id, text, start, end, whole, status, of_episode in connection.execute(query):
        if whole[start:end] != text:
            found.append(f"chunk {unit_id} is not its message's text at {start}:{end}")
        if status != of_episode and (status, of_episode) != ("archived", "active"):  # forgotten: out of search alone
            found.append(f"chunk {unit_id} is {status}, its message {of_episode}")
    chunked = select(unit_sources.c.episode_seq).join(units, units.c.seq == unit_sources.c.unit_seq)
    bare = select(episodes.c.id).where(episodes.c.seq.not_in(chunked.where(units.c.kind == "chunk")))
    found += [
        f"message {episode_id} has no chunk: search cannot find it" for episode_id in connection.execute(bare).scalars()
    ]
    orphans = select(units.c.id).where(
        units.c.kind.in_(sorted(OF_ONE_MESSAGE)), units.c.seq.not_in(select(unit_sources.c.unit_seq))
    )
    found += [f"unit {unit_id} comes from no message" for unit_id in connection.execute(orphans).scalars()]
    strangers = (
        select(units.c.id)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(or_(units.c.user_id != episodes.c.user_id, unit_sources.c.user_id != episodes.c.user_id))
    )
    found += [
        f"unit {unit_id} is of another user than its message" for unit_id in connection.execute(strangers).scalars()
    ]
    return found


def _vectors(connection: Connection) -> list[str]:
    """All vectors come from one embedder: they are float32 and equally long."""
    size = vector_bytes(connection, vectors.c.vector)
    sizes = connection.execute(select(size, func.count()).group_by(size).order_by(func.count().desc(), size)).all()
    wrong = [(size, n) for size, n in sizes if size % 4 or size != sizes[0][0]]
    return [f"{n} vectors have {size} bytes" for size, n in wrong]


def _postings(connection: Connection) -> list[str]:
    stored: dict[int, Counter[str]] = defaultdict(Counter)
    for term, seq, tf in connection.execute(select(postings.c.term, postings.c.unit_seq, postings.c.tf)):
        stored[seq][term] = tf
    found = []
    for seq, unit_id, text, length in connection.execute(select(units.c.seq, units.c.id, units.c.text, units.c.length)):
        expected = Counter(terms(text))
        if stored.pop(seq, Counter()) != expected or length != expected.total():
            found.append(f"the lexical index of unit {unit_id} differs from its text")
    return found + [f"postings of a missing unit {seq}" for seq in stored]
