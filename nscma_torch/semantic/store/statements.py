"""Statements made in messages, from which facts are derived. They are withdrawn or superseded; only erasing deletes
them.

A statement counts while its message is active and still states it (otherwise it is superseded), and while the decision
that added it isn't undone (otherwise it is withdrawn).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, select

from nscma_torch.core.database.clock import optional_micros
from nscma_torch.core.database.database import next_seqs, pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Statement
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.reading.first_person import USER
from nscma_torch.semantic.store import entities, namespaces, statement_groups
from nscma_torch.semantic.store.fact_schema import statements
from nscma_torch.semantic.store.statement_groups import CURATE, Key, clear, unresolved
from nscma_torch.text.names import name_key

_S = statements.c
__all__ = [
    "CURATE",
    "Key",
    "StatementRow",
    "any_superseded",
    "by_ids",
    "by_seqs",
    "clear",
    "concerned",
    "groups_of",
    "mark",
    "of_episodes",
    "of_keys",
    "of_relation",
    "replace",
    "said",
    "seqs_of",
    "unresolved",
    "withdraw",
]


@dataclass(frozen=True, slots=True)
class StatementRow:
    """A statement that counts, with its keys after merges and times in microseconds.

    `role` and `position` (in the stream) come from its message, which was stored at `stored_at`. It is `first_hand` if
    its speaker has the role "user" and speaks of themselves, also in a note of their own.
    """

    seq: int
    id: str
    subject: str
    relation: str
    topic: str
    object: str
    object_key: str
    replaces: str
    replaces_key: str
    negated: bool
    correction: bool
    past: bool
    valid_from: int | None
    valid_to: int | None
    said_at: int
    episode_seq: int
    start: int
    speaker: str
    confidence: float
    role: str
    position: int
    stored_at: int
    begun_by: int | None = None
    first_hand: bool = False

    @property
    def key(self) -> Key:
        """Return the statement's group."""
        return Key(self.subject, self.relation, self.topic)


def replace(connection: Connection, episode_row: Mapping[Any, Any], new: Sequence[Statement]) -> list[int]:
    """Replace an episode's statements, mark the groups of new and dropped statements, and queue the job that resolves
    them.

    Dropped statements are kept as superseded. If a repeated statement has other dates, spelling or confidence, its row
    is updated. An episode with an expiration date gets no statements, because facts would outlive it.

    Returns the row number of each statement, in order; empty for an episode with an expiration date.

    Raises:
        InvalidInputError: a statement has no subject or relation, or its span or confidence is out of range.
    """
    episode_seq = episode_row["seq"]
    wanted: dict[str, dict[str, Any]] = {}
    ids: list[str] = []
    if new and episode_row["expires_at"] is None:
        namespace = namespaces.ensure(connection, episode_row["user_id"], episode_row["agent_id"])
        for statement in new:
            row = _row(statement, episode_row, namespace)
            wanted.setdefault(row["id"], row)
            ids.append(row["id"])
    query = select(statements).where(_S.episode_seq == episode_seq)
    known = {row["id"]: row for row in connection.execute(query).mappings()}
    back = [row["seq"] for key, row in known.items() if key in wanted and row["superseded"]]
    gone = [row["seq"] for key, row in known.items() if key not in wanted and not row["superseded"]]
    _set(connection, back, superseded=False)
    _set(connection, gone, superseded=True)
    for key in wanted.keys() & known.keys():
        told = {name: value for name, value in wanted[key].items() if name not in _DECIDED}
        if any(known[key][name] != value for name, value in told.items()):
            connection.execute(statements.update().where(_S.id == key).values(**told))
            back.append(known[key]["seq"])
    come = [row for key, row in wanted.items() if key not in known]
    added: dict[str, int] = {}
    if come:
        seqs = next_seqs(connection, statements.name, len(come))
        added = {row["id"]: seq for row, seq in zip(come, seqs, strict=True)}
        connection.execute(statements.insert(), [{"seq": added[row["id"]], **row} for row in come])
    _touch(connection, [*back, *gone, *added.values()])
    return [added[key] if key in added else known[key]["seq"] for key in ids]


_DECIDED = frozenset({"withdrawn", "superseded"})  # columns with a statement's later status


def mark(connection: Connection, episode_seqs: Iterable[int]) -> None:
    """Mark the groups of these episodes' statements, after the episodes were hidden or restored."""
    _touch(connection, [seq for seqs in of_episodes(connection, episode_seqs).values() for seq in seqs])


def of_episodes(connection: Connection, episode_seqs: Iterable[int]) -> dict[int, list[int]]:
    """Return the row numbers of each episode's statements, including superseded and withdrawn ones."""
    found: dict[int, list[int]] = {}
    for some in pages(sorted(set(episode_seqs))):
        query = select(_S.episode_seq, _S.seq).where(_S.episode_seq.in_(some)).order_by(_S.episode_seq, _S.seq)
        for episode_seq, seq in connection.execute(query):
            found.setdefault(episode_seq, []).append(seq)
    return found


def any_superseded(connection: Connection, episode_seq: int) -> bool:
    """Return True if a message once made a statement that it no longer makes after an edit or rereading."""
    query = select(_S.seq).where(_S.episode_seq == episode_seq, _S.superseded).limit(1)
    return connection.execute(query).first() is not None


def withdraw(connection: Connection, seqs: Collection[int], withdrawn: bool) -> None:
    """Withdraw or restore statements; mark their groups and queue the job that resolves them."""
    _set(connection, seqs, withdrawn=withdrawn)
    _touch(connection, seqs)


def of_keys(connection: Connection, namespace: str, keys: Collection[Key]) -> list[StatementRow]:
    """Return the statements in these groups that count, ordered by (said_at, episode, position in its text)."""
    if not keys:
        return []
    into = entities.canonical(connection, namespace)
    merged: dict[str, list[str]] = {}
    for key, target in into.items():
        merged.setdefault(target, []).append(key)
    wanted = {key.subject for key in keys if key.subject not in into}
    subjects = sorted({one for subject in wanted for one in (subject, *merged.get(subject, ()))})
    query = _counting(namespace).where(_S.relation.in_({key.relation for key in keys}))
    found: list[StatementRow] = []
    chosen = set(keys)
    for some in pages(subjects):
        for row in connection.execute(query.where(_S.subject.in_(some))).mappings():
            statement = _merged(row, into)
            if statement.key in chosen:
                found.append(statement)
    return sorted(found, key=said)


def by_ids(connection: Connection, namespace: str, ids: Collection[str]) -> list[StatementRow]:
    """Return the statements with these ids that count, in the order of `of_keys`."""
    return _chosen(connection, namespace, _S.id, ids)


def by_seqs(connection: Connection, namespace: str, seqs: Collection[int]) -> list[StatementRow]:
    """Return the statements with these row numbers that count, in the order of `of_keys`."""
    return _chosen(connection, namespace, _S.seq, seqs)


def _chosen(connection: Connection, namespace: str, column: Column[Any], values: Collection[Any]) -> list[StatementRow]:
    into = entities.canonical(connection, namespace) if values else {}
    found: list[StatementRow] = []
    for some in pages(sorted(set(values))):
        rows = connection.execute(_counting(namespace).where(column.in_(some))).mappings()
        found += [_merged(row, into) for row in rows]
    return sorted(found, key=said)


def groups_of(connection: Connection, namespace: str, seqs: Collection[int]) -> dict[int, Key]:
    """Return each statement's group by row number, including superseded and withdrawn statements."""
    into = entities.canonical(connection, namespace) if seqs else {}
    found: dict[int, Key] = {}
    for some in pages(sorted(set(seqs))):
        query = select(_S.seq, _S.subject, _S.relation, _S.topic).where(_S.seq.in_(some))
        for seq, subject, relation, topic in connection.execute(query):
            found[seq] = Key(into.get(subject, subject), relation, topic)
    return found


def seqs_of(connection: Connection, namespace: str, ids: Collection[str]) -> dict[str, int]:
    """Return the row numbers of these statements by id, including superseded and withdrawn ones."""
    found: dict[str, int] = {}
    for some in pages(sorted(set(ids))):
        query = select(_S.id, _S.seq).where(_S.namespace == namespace, _S.id.in_(some))
        found.update((row.id, row.seq) for row in connection.execute(query))
    return found


def of_relation(connection: Connection, namespace: str, relation: str) -> list[StatementRow]:
    """Return the statements with a relation that count, in the order of `of_keys`, with the keys before merges."""
    rows = connection.execute(_counting(namespace).where(_S.relation == relation)).mappings()
    return sorted((StatementRow(**row) for row in rows), key=said)


def _merged(row: Mapping[Any, Any], into: Mapping[str, str]) -> StatementRow:
    """Return a row with its keys replaced by those of the merged entities."""
    own = {name: into.get(row[name], row[name]) for name in ("subject", "object_key", "replaces_key")}
    return StatementRow(**{**row, **own}, first_hand=_is_first_hand(row, into))


def _is_first_hand(row: Mapping[Any, Any], into: Mapping[str, str]) -> bool:
    subject: str = row["subject"]
    if row["role"] == "document":
        return subject == USER  # of a note of one's own: other documents state nothing of the user
    speaker = name_key(row["speaker"])
    return row["role"] == "user" and into.get(speaker, speaker) == into.get(subject, subject)


def _counting(namespace: str) -> Select[Any]:
    query = select(*_COLUMNS).join(episodes, episodes.c.seq == _S.episode_seq)
    return query.where(_S.namespace == namespace, counting())


def counting() -> ColumnElement[bool]:
    """Build the condition that a statement, joined with its message, counts as evidence."""
    return and_(~_S.withdrawn, ~_S.superseded, episodes.c.status == "active", episodes.c.expires_at.is_(None))


def said(row: StatementRow) -> tuple[int, int, int, int]:
    """Sort key for the order in which statements were made."""
    return row.said_at, row.episode_seq, row.start, row.seq


_OF_MESSAGE = (episodes.c.role, episodes.c.position, episodes.c.recorded_at.label("stored_at"))
_OF_ID = (
    *("start", "end", "subject", "relation", "topic", "object_key"),
    *("replaces_key", "negated", "correction", "past"),
)
_COLUMNS = [*(_S[field.name] for field in fields(StatementRow) if field.name in _S), *_OF_MESSAGE]


def id_of_columns(episode_id: str, row: Mapping[Any, Any]) -> str:
    """Return a statement's id, derived from its message, its position in the message and its content."""
    return derive_id("statement", episode_id, *(row[name] for name in _OF_ID))


def _row(statement: Statement, episode: Mapping[Any, Any], namespace: str) -> dict[str, Any]:
    """Build the columns for a new statement, except its number."""
    subject, value, replaced = (name_key(text) for text in (statement.subject, statement.object, statement.replaces))
    text = episode["text"]
    if not (subject and statement.relation):
        raise InvalidInputError("a statement has no subject or relation; correct the result of `extract`")
    if not 0 <= statement.start <= statement.end <= len(text):
        place = f"{statement.start}:{statement.end} of {len(text)} characters"
        raise InvalidInputError(f"a statement has the invalid span {place}; correct the result of `extract`")
    if not 0 < statement.confidence <= 1:
        raise InvalidInputError(f"a statement's confidence is {statement.confidence}, it must be in (0, 1]")
    row = {
        "namespace": namespace,
        "user_id": episode["user_id"],
        "episode_seq": episode["seq"],
        "start": statement.start,
        "end": statement.end,
        "subject": subject,
        "subject_name": statement.subject,
        "relation": statement.relation,
        "topic": statement.topic,
        "object": statement.object,
        "object_key": value,
        "replaces": statement.replaces,
        "replaces_key": replaced,
        "negated": statement.negated,
        "correction": statement.correction,
        "past": statement.past,
        "valid_from": optional_micros(statement.valid_from),
        "valid_to": optional_micros(statement.valid_to),
        "begun_by": optional_micros(statement.begun_by),
        "said_at": episode["recorded_at"] if episode["occurred_at"] is None else episode["occurred_at"],
        "speaker": episode["name"] or episode["role"],
        "confidence": statement.confidence,
        "withdrawn": False,
        "superseded": False,
    }
    return {"id": id_of_columns(episode["id"], row), **row}


def _set(connection: Connection, seqs: Collection[int], **values: bool) -> None:
    for some in pages(sorted(seqs)):
        connection.execute(statements.update().where(_S.seq.in_(some)).values(**values))


def _touch(connection: Connection, seqs: Iterable[int]) -> None:
    """Update the names of the entities in these statements, and mark their groups."""
    for namespace, (keys, mentioned) in concerned(connection, seqs).items():
        entities.refresh(connection, namespace, mentioned)
        statement_groups.mark(connection, namespace, keys)


def concerned(connection: Connection, seqs: Iterable[int]) -> dict[str, tuple[set[Key], set[str]]]:
    """Return, for each namespace, the groups of these statements and the entities that they mention."""
    found: dict[str, tuple[set[Key], set[str]]] = {}
    into: dict[str, dict[str, str]] = {}
    for some in pages(sorted(set(seqs))):
        query = select(_S.namespace, _S.subject, _S.relation, _S.topic, _S.object_key).where(_S.seq.in_(some))
        for namespace, subject, relation, topic, value in connection.execute(query):
            if namespace not in into:
                into[namespace] = entities.canonical(connection, namespace)
            keys, mentioned = found.setdefault(namespace, (set(), set()))
            keys.add(Key(into[namespace].get(subject, subject), relation, topic))
            mentioned |= {subject, value}
    return found
