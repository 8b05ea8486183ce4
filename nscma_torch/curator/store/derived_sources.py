"""Sources for derived texts: a namespace's persistent messages, and texts already derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, func, select

from nscma_torch.core.database.clock import from_micros, to_micros
from nscma_torch.core.database.database import pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.core.records import DerivedKind, Scope, Unit
from nscma_torch.curator.store import derived_texts
from nscma_torch.curator.store.derived_schema import derived_sources
from nscma_torch.curator.store.derived_schema import derived_texts as texts_table
from nscma_torch.curator.store.derived_texts import Rows
from nscma_torch.episodic.index import packed_vectors
from nscma_torch.episodic.index import units as unit_rows
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.episodic.log import episodes as log
from nscma_torch.episodic.log import turns
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.semantic.store import namespaces

_E, _T, _S = episodes.c, texts_table.c, derived_sources.c


class Heard(NamedTuple):
    """A message without its text: time (microseconds), speaker, importance in [0, 1], and whether it only asks or
    quotes the memory.
    """

    seq: int
    id: str
    text_hash: str
    stream_id: str
    session: str | None
    at: int
    name: str | None
    importance: float
    echo: bool


@dataclass(frozen=True, slots=True)
class Source:
    """A message or derived text as a unit, with everything that a citing text depends on: the source itself and all
    sources below it.

    `since` and `until` are the times of the first and last message (microseconds); `part` is the derived text's part.
    """

    unit: Unit
    cited: Rows
    seen: Rows
    since: int
    until: int
    importance: float = 0.0
    part: str = ""


def heard(
    connection: Connection, namespace: str, now: datetime, *, roles: Sequence[str], files: bool = False
) -> list[Heard]:
    """Return the messages said in a namespace's conversations by `now`, with these roles and in order; with `files`,
    those from its files.

    Messages with an expiration date are excluded, because a derived text would outlive them.
    """
    said = func.coalesce(_E.occurred_at, _E.recorded_at)
    columns = (_E.seq, _E.id, _E.text_hash, _E.stream_id, _E.session, said.label("at"), _E.name, _E.importance)
    query = select(*columns, _E.metadata)
    query = _staying(query, namespaces.owner(connection, namespace), roles, files=files).where(said <= to_micros(now))
    rows = connection.execute(query.order_by(_E.seq))
    return [Heard._make((*row[:-1], bool(decoded(row.metadata).get(turns.ECHO)))) for row in rows]


def basis_of(said: Sequence[Heard]) -> str:
    """Return a hash of messages, used to detect whether a derivation is up to date."""
    return derive_id("messages", *(part for one in said for part in (one.id, one.text_hash)))


def messages(connection: Connection, user_id: str, seqs: Sequence[int]) -> list[Source]:
    """Return the user's messages as sources, in the given order."""
    found = turns.load(connection, user_id, list(seqs))
    said = []
    for seq in seqs:
        own, at = Rows(frozenset((seq,))), to_micros(found[seq].occurred_at)
        said.append(Source(unit_rows.unit_of(found[seq]), own, own, at, at, found[seq].importance))
    return said


def vectors(connection: Connection, seqs: Sequence[int]) -> dict[int, np.ndarray[Any, np.dtype[np.float32]]]:
    """Return the mean vector [d] of each message's embedded chunks, by the message's row number."""
    of_chunks = unit_rows.active_chunks(connection, seqs)
    held = packed_vectors.vectors_of(connection, [chunk for own in of_chunks.values() for chunk in own])
    embedded = {seq: [held[chunk] for chunk in own if chunk in held] for seq, own in of_chunks.items()}
    return {seq: np.mean(own, axis=0) for seq, own in embedded.items() if own}


def texts(
    connection: Connection, namespace: str, kind: DerivedKind, parts: Sequence[str] | None = None
) -> list[Source]:
    """Return the derived texts of a kind, ordered by part and position, for the given parts or for all parts."""
    own = select(_T.seq).where(_T.namespace == namespace, _T.kind == kind)
    queries = [own] if parts is None else [own.where(_T.part.in_(some)) for some in pages(sorted(parts))]
    seqs = [seq for q in queries for seq in connection.execute(q.order_by(_T.part, _T.number)).scalars()]
    return _texts(connection, namespace, seqs)


def behind(connection: Connection, namespace: str, unit_ids: Sequence[str], *, roles: Sequence[str]) -> list[Source]:
    """Return the sources of the units that a search found, without duplicates and in that order: messages as in
    `heard`, and derived texts.

    Units of other namespaces, and units that are not sources, are skipped.
    """
    scope = namespaces.owner(connection, namespace)
    places = {unit_id: place for place, unit_id in enumerate(unit_ids)}
    said: dict[int, int] = {}
    derived: dict[int, int] = {}
    for some in pages(unit_ids):
        of_message = _staying(select(units.c.id, _E.seq), scope, roles).join(
            unit_sources, unit_sources.c.episode_seq == _E.seq
        )
        of_message = of_message.join(units, units.c.seq == unit_sources.c.unit_seq).where(units.c.id.in_(some))
        of_text = select(units.c.id, _T.seq).join(texts_table, _T.id == units.c.stream_id)
        for query, found in ((of_message, said), (of_text.where(_T.namespace == namespace), derived)):
            for unit_id, seq in connection.execute(query.where(units.c.id.in_(some))):
                found[seq] = min(places[unit_id], found.get(seq, places[unit_id]))
    loaded = zip([*said.values()], messages(connection, scope.user_id, list(said)), strict=True)
    placed = [*loaded, *zip(derived.values(), _texts(connection, namespace, list(derived)), strict=True)]
    return [source for _, source in sorted(placed, key=lambda pair: pair[0])]


def _texts(connection: Connection, namespace: str, seqs: Sequence[int]) -> list[Source]:
    """Return derived texts in a namespace as sources, in the order of these row numbers."""
    scope = namespaces.owner(connection, namespace)
    rows: dict[int, Any] = {}
    for some in pages(seqs):
        query = select(texts_table, derived_texts.importance_of_units.label("importance")).where(_T.seq.in_(some))
        rows |= {row.seq: row for row in connection.execute(query)}
    names = _names(connection, seqs)
    below, ids = derived_texts.messages_below(connection, seqs), derived_texts.cited_messages(connection, seqs)
    found = []
    for seq in seqs:
        row = rows[seq]
        said, at = tuple(ids.get(seq, ())), from_micros(row.until)
        unit = Unit(row.id, scope, row.kind, row.text, said, at, role="memory", name=names.get(seq))
        cited, seen = (Rows(own, frozenset((seq,))) for own in below[seq])
        found.append(Source(unit, cited, seen, row.since, row.until, row.importance or 0.0, row.part))
    return found


def _names(connection: Connection, seqs: Sequence[int]) -> dict[int, str]:
    """Return, for each text, the speaker name shared by all messages it cites; texts with several names are skipped."""
    first, last = func.min(_E.name), func.max(_E.name)
    query = select(_S.derived_seq, first).join(episodes, _E.seq == _S.episode_seq).where(_S.cited)
    query = query.group_by(_S.derived_seq).having(first == last, func.count() == func.count(_E.name))
    found: dict[int, str] = {}
    for some in pages(seqs):
        found |= {row[0]: row[1] for row in connection.execute(query.where(_S.derived_seq.in_(some)))}
    return found


def _staying(query: Select[Any], scope: Scope, roles: Sequence[str], *, files: bool = False) -> Select[Any]:
    """Restrict a query to the user and agent's permanent messages, either from conversations or from files."""
    own = _E.agent_id.is_(None) if scope.agent_id is None else _E.agent_id == scope.agent_id
    return (
        query.select_from(episodes)
        .join(streams, streams.c.id == _E.stream_id)
        .where(_E.user_id == scope.user_id, own, _E.expires_at.is_(None), log.live())
        .where(streams.c.source.is_not(None) if files else streams.c.source.is_(None))
        .where(_E.role.in_(roles))
    )
