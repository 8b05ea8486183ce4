"""The message log: every acknowledged message, with the gate's decision."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, func, select

from nscma_torch.core.database.clock import from_micros, optional_from_micros, optional_micros, utc_offset
from nscma_torch.core.database.database import PAGE, pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import episodes, streams
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Decision, Episode, Message, Scope
from nscma_torch.episodic.index.unit_schema import unit_sources
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.text.json_compare import equal

# Statements of every message are made once: making one costs as much as running it.
_INSERT = episodes.insert()
_RECENT = (
    select(episodes.c.position, episodes.c.text)
    .where(episodes.c.stream_id == bindparam("stream_id"), episodes.c.status == "active")
    .order_by(episodes.c.position.desc())
    .execution_options(yield_per=32)
)
_KNOWN_TEXTS = (
    select(episodes.c.text_hash)
    .where(episodes.c.user_id == bindparam("user_id"), episodes.c.text_hash.in_(bindparam("hashes", expanding=True)))
    .where(episodes.c.status == "active")
    .distinct()
)


def plain(text: str) -> str:
    """Return a text in the form in which it is hashed: without case and extra whitespace."""
    return " ".join(text.casefold().split())


def hash_of(plain_text: str) -> str:
    """Return the hash of a text in `plain` form."""
    return derive_id("text", plain_text)


def text_hash(text: str) -> str:
    """Return a text's hash, which ignores case and whitespace, to find verbatim restatements."""
    return hash_of(plain(text))


def id_of(stream_id: str, position: int, role: str, name: str | None, text: str) -> str:
    """Return a message's id, derived from its position in its stream, its speaker and its original text."""
    return derive_id("episode", stream_id, position, role, name, text)


def new_row(
    message: Message,
    *,
    metadata: str,
    text_hash: str,
    seq: int,
    scope: Scope,
    stream_id: str,
    position: int,
    recorded_at: int,
    expires_at: int | None,
    decision: Decision | None,
    observation: Mapping[str, Any] | None,
    importance: float,
) -> dict[str, Any]:
    """Build the row for a new episode; `metadata` is JSON."""
    return {
        "seq": seq,
        "id": id_of(stream_id, position, message.role, message.name, message.content),
        "user_id": scope.user_id,
        "agent_id": scope.agent_id,
        "run_id": scope.run_id,
        "stream_id": stream_id,
        "position": position,
        "role": message.role,
        "name": message.name,
        "session": message.session,
        "text": message.content,
        "text_hash": text_hash,
        "metadata": metadata,
        "idempotency_key": message.idempotency_key,
        "occurred_at": optional_micros(message.timestamp),
        "utc_offset": utc_offset(message.timestamp),
        "recorded_at": recorded_at,
        "expires_at": expires_at,
        "status": "active",
        **decision_columns(decision, observation),
        "encoded": False,
        "importance": importance,
        "strength": 1.0,
        "accesses": 0,
    }


def decision_columns(decision: Decision | None, observation: Mapping[str, Any] | None) -> dict[str, Any]:
    """Build the columns that store a gate's decision."""
    return {
        "write": None if decision is None else decision.write,
        "decision": None if decision is None else json.dumps(asdict(decision), sort_keys=True),
        "observation": None if observation is None else json.dumps(dict(observation), sort_keys=True),
    }


def decision_of(row: Mapping[Any, Any]) -> Decision | None:
    """Return the gate's decision as stored in a row."""
    return None if row["decision"] is None else Decision(**decoded(row["decision"]))


def insert(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows to the log."""
    connection.execute(_INSERT, list(rows))


def within(scope: Scope) -> ColumnElement[bool]:
    """Build the condition that a row belongs to the user, narrowed by the ids that the scope names."""
    clauses = [episodes.c.user_id == scope.user_id]
    if scope.agent_id is not None:
        clauses.append(episodes.c.agent_id == scope.agent_id)
    if scope.run_id is not None:
        clauses.append(episodes.c.run_id == scope.run_id)
    return and_(*clauses)


def find(connection: Connection, user_id: str, episode_id: str) -> Episode | None:
    """Return the user's episode with this id, even if it was deleted."""
    return next(_read(connection, episodes.c.user_id == user_id, episodes.c.id == episode_id), None)


def owner(connection: Connection, episode_id: str) -> str | None:
    """Return the user who owns an episode, deleted or not; ids are unique across users."""
    return connection.execute(select(episodes.c.user_id).where(episodes.c.id == episode_id)).scalar()


def by_seqs(connection: Connection, user_id: str, seqs: Sequence[int]) -> dict[int, Episode]:
    """Return the user's episodes with these row numbers."""
    query = _with_source().where(episodes.c.user_id == user_id, episodes.c.seq.in_(seqs))
    return {row["seq"]: from_row(row) for row in connection.execute(query).mappings()}


def seqs_of(connection: Connection, user_id: str, episode_ids: Collection[str]) -> dict[int, str]:
    """Return the row numbers of the user's messages with these ids, each with its id."""
    found: dict[int, str] = {}
    for some in pages(sorted(set(episode_ids))):
        query = select(episodes.c.seq, episodes.c.id).where(episodes.c.user_id == user_id, episodes.c.id.in_(some))
        found.update((seq, episode_id) for seq, episode_id in connection.execute(query))
    return found


def known_keys(connection: Connection, user_id: str, keys: Sequence[str]) -> dict[str, Episode]:
    """Return the user's episodes with one of these idempotency keys."""
    found: dict[str, Episode] = {}
    for some in pages(keys):
        query = _with_source().where(episodes.c.user_id == user_id, episodes.c.idempotency_key.in_(some))
        for row in connection.execute(query).mappings():
            found[row["idempotency_key"]] = from_row(row)
    return found


def held_keys(connection: Connection, user_id: str, keys: Sequence[str]) -> set[str]:
    """Return the idempotency keys that the user's episodes already use."""
    found: set[str] = set()
    for some in pages(keys):
        query = select(episodes.c.idempotency_key)
        query = query.where(episodes.c.user_id == user_id, episodes.c.idempotency_key.in_(some))
        found.update(connection.execute(query).scalars())
    return found


def known_texts(connection: Connection, user_id: str, hashes: Sequence[str]) -> frozenset[str]:
    """Return the given text hashes that already occur in the user's live memory."""
    known: set[str] = set()
    for some in pages(hashes):
        known.update(connection.execute(_KNOWN_TEXTS, {"user_id": user_id, "hashes": some}).scalars())
    return frozenset(known)


def recent(connection: Connection, stream_id: str, limit: int) -> dict[int, str]:
    """Return the texts of the stream's last messages by position, oldest first, up to `limit` characters in total.

    They are selected as by `newest`: if the last message alone is longer, only its end is returned.
    """
    found: dict[int, str] = {}
    left = limit
    with connection.execute(_RECENT, {"stream_id": stream_id}) as rows:
        for row in rows:
            text = row.text if found else row.text[-limit:]
            left -= len(text)
            if left < 0:
                break
            found[row.position] = text
    return dict(reversed(found.items()))


def newest(backwards: Iterable[str], limit: int) -> list[str]:
    """Take whole texts from `backwards` (newest first), up to `limit` characters in total; return them oldest first.

    If the first text alone is longer, return only its end.
    """
    texts: list[str] = []
    size = 0
    for text in backwards:
        part = text if texts else text[-limit:]
        size += len(part)
        if size > limit:
            break
        texts.append(part)
    return texts[::-1]


def select_all(
    connection: Connection,
    scope: Scope,
    *clauses: ColumnElement[bool],
    limit: int | None = None,
) -> Iterator[Episode]:
    """Yield a scope's episodes that meet further conditions, in the order they were recorded."""
    return _read(connection, within(scope), *clauses, limit=limit)


def units_with_metadata(connection: Connection, user_id: str, wanted: Mapping[str, Any]) -> list[int]:
    """Return the row numbers of units from episodes whose metadata has all these keys and values, ascending."""
    query = (
        select(unit_sources.c.unit_seq, episodes.c.metadata)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(episodes.c.user_id == user_id, episodes.c.metadata != "{}")
        .order_by(unit_sources.c.unit_seq)
    )
    rows = connection.execute(query.execution_options(yield_per=PAGE))
    return [seq for seq, text in rows if matches(decoded(text), wanted)]


def units_of_fitting(connection: Connection, scope: Scope, where: Callable[[Episode], bool]) -> tuple[int, ...]:
    """Return the row numbers of units from active messages in a scope that satisfy `where`, ascending."""
    query = _with_source().add_columns(unit_sources.c.unit_seq)
    query = query.join(unit_sources, unit_sources.c.episode_seq == episodes.c.seq).where(within(scope), live())
    rows = connection.execute(query.order_by(episodes.c.seq).execution_options(yield_per=PAGE)).mappings()
    fitting: set[int] = set()
    last, fits = -1, False
    for row in rows:
        if row["seq"] != last:
            last, fits = row["seq"], where(from_row(row))
        if fits:
            fitting.add(row["unit_seq"])
    return tuple(sorted(fitting))


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return True if metadata has all these keys with these values; a missing key does not match None."""
    return all(key in metadata and equal(metadata[key], value) for key, value in wanted.items())


def among(ids: Iterable[str]) -> ColumnElement[bool]:
    """Build the condition that an episode has one of these ids."""
    return episodes.c.id.in_(sorted(set(ids)))


def in_session(session: str) -> ColumnElement[bool]:
    """Build the condition that an episode belongs to the session with this name."""
    return episodes.c.session == session


def of_sources(beginning: str) -> ColumnElement[bool]:
    """Build the condition that a document's name begins with this prefix, ignoring case."""
    return streams.c.source.startswith(beginning, autoescape=True)


def decided(write: bool) -> ColumnElement[bool]:
    """Build the condition that the gate wrote (True) or deferred (False) an episode."""
    return episodes.c.write.is_(write)


def spoken_at() -> ColumnElement[int]:
    """Build the time at which an episode was said (microseconds): when it was recorded, if the caller gave none."""
    return func.coalesce(episodes.c.occurred_at, episodes.c.recorded_at)


def live(now: int | None = None) -> ColumnElement[bool]:
    """Build the condition that an episode is neither deleted nor archived, and has not expired at `now`
    (microseconds).
    """
    active = episodes.c.status == "active"
    return active if now is None else and_(active, func.coalesce(episodes.c.expires_at, now + 1) > now)


def not_read(connection: Connection, user_id: str, episode_ids: Collection[str]) -> set[str]:
    """Return the given episodes that are missing, hidden, or not read for facts since their text last changed."""
    missing = set(episode_ids)
    for some in pages(sorted(missing)):
        query = select(episodes.c.id).where(episodes.c.user_id == user_id, episodes.c.id.in_(some))
        query = query.where(episodes.c.status == "active", episodes.c.encoded)
        missing.difference_update(connection.execute(query).scalars())
    return missing


def never_encoded(connection: Connection, seqs: Collection[int]) -> set[int]:
    """Return the messages (row numbers) that the extract job has not read since they were added or edited."""
    found: set[int] = set()
    for some in pages(sorted(seqs)):
        query = select(episodes.c.seq).where(episodes.c.seq.in_(some), ~episodes.c.encoded)
        found.update(connection.execute(query).scalars())
    return found


def last_seq(connection: Connection) -> int:
    """Return the last stored episode's row number; 0 if the log is empty."""
    return int(connection.execute(select(func.coalesce(func.max(episodes.c.seq), 0))).scalar_one())


def last_recorded(connection: Connection) -> datetime | None:
    """Return the time at which the episode with the largest row number was stored; None if there is none."""
    query = select(episodes.c.recorded_at).order_by(episodes.c.seq.desc()).limit(1)
    return optional_from_micros(connection.execute(query).scalar())


def recalled() -> ColumnElement[bool]:
    """Build the condition that a counted search has found the episode."""
    return episodes.c.accesses > 0


def set_columns(connection: Connection, seq: int, **values: Any) -> None:
    """Set columns in one episode's row."""
    connection.execute(episodes.update().where(episodes.c.seq == seq).values(**values))


def observations(connection: Connection, stream_id: str) -> list[tuple[int, str, dict[str, Any]]]:
    """Return the row number, text and gate observation for each observed episode in a stream, in order."""
    query = select(episodes.c.seq, episodes.c.text, episodes.c.observation).where(
        episodes.c.stream_id == stream_id, episodes.c.observation.is_not(None)
    )
    rows = connection.execute(query.order_by(episodes.c.position))
    return [(row.seq, row.text, decoded(row.observation)) for row in rows]


def positions(connection: Connection, stream_id: str) -> dict[int, int]:
    """Return the position of each episode in a stream, by row number."""
    query = select(episodes.c.seq, episodes.c.position).where(episodes.c.stream_id == stream_id)
    return {row.seq: row.position for row in connection.execute(query)}


def said_before(connection: Connection, user_id: str, seq: int, hashes: Sequence[str]) -> bool:
    """Return True if the user's live memory contained all of these text hashes before an episode."""
    query = select(episodes.c.text_hash).where(
        episodes.c.user_id == user_id, episodes.c.text_hash.in_(hashes), episodes.c.seq < seq, live()
    )
    return bool(hashes) and set(hashes) <= set(connection.execute(query).scalars())


def row_of(connection: Connection, seq: int) -> Mapping[Any, Any]:
    """Return one row from the log."""
    return connection.execute(select(episodes).where(episodes.c.seq == seq)).mappings().one()


def require(connection: Connection, user_id: str, episode_id: str) -> tuple[int, Episode]:
    """Return the row number and record of the user's episode with this id. Raises `NotFoundError` if there is none."""
    query = _with_source().where(episodes.c.user_id == user_id, episodes.c.id == episode_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"user {user_id!r} has no memory with id {episode_id!r}; `nscma log` lists the ids")
    return row["seq"], from_row(row)


def _with_source() -> Select[Any]:
    return select(episodes, streams.c.source).join(streams, streams.c.id == episodes.c.stream_id)


def _read(connection: Connection, *clauses: ColumnElement[bool], limit: int | None = None) -> Iterator[Episode]:
    query = _with_source().where(*clauses).order_by(episodes.c.seq).limit(limit)
    with connection.execute(query.execution_options(yield_per=PAGE)) as rows:
        for row in rows.mappings():
            yield from_row(row)


def from_row(row: Mapping[Any, Any]) -> Episode:
    """Build an episode from a row joined with its stream's source."""
    return Episode(
        id=row["id"],
        scope=Scope(row["user_id"], row["agent_id"], row["run_id"]),
        stream_id=row["stream_id"],
        position=row["position"],
        role=row["role"],
        text=row["text"],
        recorded_at=from_micros(row["recorded_at"]),
        occurred_at=from_micros(
            row["recorded_at"] if row["occurred_at"] is None else row["occurred_at"], row["utc_offset"]
        ),
        name=row["name"],
        session=row["session"],
        source=row["source"],
        metadata=decoded(row["metadata"]),
        decision=decision_of(row),
        encoded=row["encoded"],
        importance=row["importance"],
        strength=row["strength"],
        accesses=row["accesses"],
        expires_at=None if row["expires_at"] is None else from_micros(row["expires_at"]),
        status=row["status"],
    )
