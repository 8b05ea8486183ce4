"""Check the integrity of units: units against their messages, and vectors and postings against units."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, get_args

from sqlalchemy import func, or_, select

from nscma_torch.core.capabilities import RowQueries, strange_values
from nscma_torch.core.database.dialects import vector_bytes
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import OF_ONE_MESSAGE, Status, UnitKind
from nscma_torch.episodic.index.unit_schema import postings, unit_sources, units, vectors
from nscma_torch.episodic.index.units import node_key, unit_id
from nscma_torch.text.terms import terms

_E, _U = episodes.c, units.c


def problems(rows: RowQueries) -> Iterator[str]:
    """Yield the problems found in units and their indexes, one sentence each."""
    yield from _scopes(rows)
    yield from strange_values(rows, units, "status", get_args(Status))
    yield from strange_values(rows, units, "kind", get_args(UnitKind))
    yield from _chunks(rows)
    yield from _vectors(rows)
    yield from _postings(rows)
    yield from _ids(rows)


def _scopes(rows: RowQueries) -> Iterator[str]:
    """Check that a message's units have its scope."""
    names = ("user_id", "agent_id", "run_id", "stream_id")
    strange = or_(*(_U[name].is_distinct_from(_E[name]) for name in names))
    made = select(_U.id).join(unit_sources, unit_sources.c.unit_seq == _U.seq)
    made = made.join(episodes, _E.seq == unit_sources.c.episode_seq)
    for (unit,) in rows(made.where(_U.kind.in_([*sorted(OF_ONE_MESSAGE), "summary"]), strange), _U.user_id):
        yield f"unit {unit} has a different scope or stream than its message"


def _chunks(rows: RowQueries) -> Iterator[str]:
    """Check that each chunk equals its episode's text at its offsets, and that every message has a chunk."""
    of_unit, of_message = unit_sources.c.unit_seq == units.c.seq, unit_sources.c.episode_seq == episodes.c.seq
    query = (
        select(units.c.id, units.c.text, units.c.start, units.c.end, episodes.c.text, units.c.status, episodes.c.status)
        .join(unit_sources, of_unit)
        .join(episodes, of_message)
        .where(units.c.kind == "chunk")
    )
    for key, text, start, end, whole, status, of_episode in rows(query, units.c.user_id):
        if whole[start:end] != text:
            yield f"chunk {key} is not its message's text at {start}:{end}"
        if status != of_episode and (status, of_episode) != ("archived", "active"):  # forgotten: out of search alone
            yield f"chunk {key} is {status}, its message {of_episode}"
    chunked = select(unit_sources.c.unit_seq).join(units, of_unit).where(of_message, units.c.kind == "chunk")
    for episode_id in rows(select(episodes.c.id).where(~chunked.exists()), episodes.c.user_id).scalars():
        yield f"message {episode_id} has no chunk: search cannot find it"
    orphans = select(units.c.id).where(
        units.c.kind.in_(sorted(OF_ONE_MESSAGE)), ~select(unit_sources.c.unit_seq).where(of_unit).exists()
    )
    for key in rows(orphans, units.c.user_id).scalars():
        yield f"unit {key} comes from no message"


def _vectors(rows: RowQueries) -> Iterator[str]:
    """Check that all vectors are float32 with the most common length; when only some users are checked, with the length
    of the store's first vector.
    """
    size = vector_bytes(rows.connection, vectors.c.vector)
    query: Any = select(size, func.count()).group_by(size).order_by(func.count().desc(), size)
    sizes = rows(query, vectors.c.user_id).all()
    first = rows.connection.execute(select(size).order_by(vectors.c.unit_seq).limit(1)).scalar()
    usual = first if rows.users is not None or not sizes else sizes[0][0]
    for size, n in sizes:
        if size % 4 or size != usual:
            yield f"{n} vectors have {size} bytes"


def _postings(rows: RowQueries) -> Iterator[str]:
    stored: dict[int, Counter[str]] = defaultdict(Counter)
    for term, seq, tf in rows(select(postings.c.term, postings.c.unit_seq, postings.c.tf), postings.c.user_id):
        stored[seq][term] = tf
    query = select(units.c.seq, units.c.id, units.c.text, units.c.length)
    for seq, key, text, length in rows(query, units.c.user_id):
        expected = Counter(terms(text))
        if stored.pop(seq, Counter()) != expected or length != expected.total():
            yield f"the lexical index of unit {key} differs from its text"
    for seq in stored:
        yield f"postings of a missing unit {seq}"


def _ids(rows: RowQueries) -> Iterator[str]:
    """Check that a unit's id derives from a source message, or from the node, skill or text that its stream names."""
    query = select(_U.id, _U.kind, _U.text, _U.start, _U.end, _U.stream_id, _U.session, _E.id.label("message"))
    query = query.outerjoin(unit_sources, unit_sources.c.unit_seq == _U.seq)
    query = query.outerjoin(episodes, _E.seq == unit_sources.c.episode_seq)
    strange: dict[str, bool] = {}
    for row in rows(query, _U.user_id):
        origins = {row.message}
        if row.kind not in OF_ONE_MESSAGE:
            origins |= {row.stream_id, node_key(row.stream_id, *(row.session or "").split("."))}
        fits = any(row.id == unit_id(one, row.kind, row.start, row.end, row.text) for one in origins if one)
        strange[row.id] = strange.get(row.id, True) and not fits
    yield from (
        f"unit {key} doesn't have the id derived from its origin and text" for key, is_so in strange.items() if is_so
    )
