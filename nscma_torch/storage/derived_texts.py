"""Texts that sleep derives from messages: insights and their like, each with the messages that it rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, select

from nscma_torch.records import DerivedKind, Scope
from nscma_torch.storage import namespaces
from nscma_torch.storage import units as unit_rows
from nscma_torch.storage.clock import from_micros
from nscma_torch.storage.database import next_seq, pages
from nscma_torch.storage.derived_schema import derivations, derived_sources, derived_texts
from nscma_torch.storage.schema import episodes, units
from nscma_torch.storage.streams import derive_id
from nscma_torch.storage.units import NewUnit

_T, _S, _D = derived_texts.c, derived_sources.c, derivations.c


@dataclass(frozen=True, slots=True)
class DerivedText:
    """A text that sleep derived, with the ids of the messages that it rests on, in the order they came.

    `since` and `until` are when the first and the last of them were said; `confidence` is in (0, 1]. `part` is what it
    was derived of: "" for all that the user said to the agent.
    """

    id: str
    scope: Scope
    kind: DerivedKind
    text: str
    confidence: float
    since: datetime
    until: datetime
    episode_ids: tuple[str, ...]
    part: str = ""


class Part(NamedTuple):
    """What is derived at once: a kind, of a part of a namespace."""

    namespace: str
    kind: DerivedKind
    part: str = ""


class Run(NamedTuple):
    """The last derivation of a part: the hash of what it was derived from, and when (microseconds)."""

    basis: str
    made_at: int


class NewText(NamedTuple):
    """A text about to be stored: row numbers of the messages that it cites, and of all that were in view when it was
    written; `since` and `until` are microseconds.
    """

    text: str
    confidence: float
    cited: frozenset[int]
    seen: frozenset[int]
    since: int
    until: int


def text_id(part: Part, number: int) -> str:
    """Id of a text by its place."""
    return derive_id("derived", *part, number)


def origin(part: Part, scope: Scope, number: int, new: NewText) -> dict[str, Any]:
    """The origin of a text's units, in place of an episode's row; it is made before the text is stored."""
    return unit_rows.origin_alone(text_id(part, number), scope, new.until)


def replace(
    connection: Connection,
    part: Part,
    texts: Sequence[NewText],
    made: Sequence[Sequence[NewUnit]],
    *,
    basis: str,
    at: int,
) -> int:
    """Set all texts of a part, each with its units; returns how many are not the ones before, gone ones too.

    Call `touch_user` in the same transaction where it returns more than 0.
    """
    user_id = namespaces.owner(connection, part.namespace).user_id
    before = _contents(connection, part)
    after = [(new.text, round(new.confidence, 6), new.cited, new.cited | new.seen) for new in texts]
    note_run(connection, part, basis=basis, at=at)
    if before == after:
        return 0
    _delete(connection, _of(part))
    first = next_seq(connection, derived_texts.name, len(texts)) if texts else 0
    for number, (new, own) in enumerate(zip(texts, made, strict=True)):
        row = {"seq": first + number, "id": text_id(part, number), **part._asdict(), "number": number}
        what = {"text": new.text, "confidence": new.confidence, "since": new.since, "until": new.until}
        connection.execute(derived_texts.insert().values(**row, **what, user_id=user_id, made_at=at))
        own_row = {"derived_seq": first + number, "user_id": user_id}
        rows = [{**own_row, "episode_seq": seq, "cited": seq in new.cited} for seq in sorted(new.cited | new.seen)]
        connection.execute(derived_sources.insert(), rows)
        unit_rows.insert(connection, own)
    return sum(one not in before for one in after) + max(0, len(before) - len(after))


def note_run(connection: Connection, part: Part, *, basis: str, at: int) -> None:
    """Note that a part was derived."""
    own = (_D.namespace == part.namespace, _D.kind == part.kind, _D.part == part.part)
    connection.execute(delete(derivations).where(*own))
    user_id = namespaces.owner(connection, part.namespace).user_id
    connection.execute(derivations.insert().values(**part._asdict(), user_id=user_id, basis=basis, made_at=at))


def runs(connection: Connection, namespace: str, kind: DerivedKind) -> dict[str, Run]:
    """The last derivation of each part of a kind, by part."""
    query = select(_D.part, _D.basis, _D.made_at).where(_D.namespace == namespace, _D.kind == kind)
    return {part: Run(basis, made_at) for part, basis, made_at in connection.execute(query)}


def of_scope(connection: Connection, scope: Scope, kind: DerivedKind) -> list[DerivedText]:
    """The texts of a kind of a scope: of the agent, or of all of the user's where it names none; in their order."""
    found = []
    for namespace in namespaces.of_scope(connection, scope):
        own = namespaces.owner(connection, namespace)
        rows = connection.execute(
            select(derived_texts).where(_T.namespace == namespace, _T.kind == kind).order_by(_T.part, _T.number)
        ).all()
        sources = _sources(connection, [row.seq for row in rows])
        found += [
            DerivedText(
                id=row.id,
                scope=own,
                kind=row.kind,
                text=row.text,
                confidence=row.confidence,
                since=from_micros(row.since),
                until=from_micros(row.until),
                episode_ids=tuple(sources.get(row.seq, ())),
                part=row.part,
            )
            for row in rows
        ]
    return found


def retire(connection: Connection, episode_seqs: Collection[int]) -> dict[str, int]:
    """Delete every text that one of these messages was in view of, before they are changed, hidden or deleted.

    Their parts are derived again by the next sleep. Returns the deleted rows by table. Call `touch_user` as well.
    """
    parts: set[Part] = set()
    counts: dict[str, int] = {}
    resting = select(_T.seq, _T.namespace, _T.kind, _T.part).join(derived_sources, _S.derived_seq == _T.seq)
    seqs: set[int] = set()
    for some in pages(sorted(episode_seqs)):
        for row in connection.execute(resting.where(_S.episode_seq.in_(some))):
            seqs.add(row.seq)
            parts.add(Part(row.namespace, row.kind, row.part))
    for some in pages(sorted(seqs)):
        for name, n in _delete(connection, _T.seq.in_(some)).items():
            counts[name] = counts.get(name, 0) + n
    for part in sorted(parts):
        own = (_D.namespace == part.namespace, _D.kind == part.kind, _D.part == part.part)
        gone = connection.execute(delete(derivations).where(*own)).rowcount
        counts[derivations.name] = counts.get(derivations.name, 0) + gone
    return counts


def resting_texts(connection: Connection, episode_seq: int) -> list[str]:
    """The texts that a message was in view of."""
    query = select(_T.text).join(derived_sources, _S.derived_seq == _T.seq).where(_S.episode_seq == episode_seq)
    return list(connection.execute(query).scalars())


def in_view_of(connection: Connection, texts: Sequence[DerivedText]) -> list[str]:
    """Ids of all messages that were in view when these texts were written, in the order they came."""
    query = select(episodes.c.id, episodes.c.seq).join(derived_sources, _S.episode_seq == episodes.c.seq)
    query = query.join(derived_texts, _T.seq == _S.derived_seq).distinct().order_by(episodes.c.seq)
    return list(connection.execute(query.where(_T.id.in_([text.id for text in texts]))).scalars())


def delete_user(connection: Connection, user_id: str) -> dict[str, int]:
    """Delete a user's rows, but for units; returns the deleted rows by table."""
    tables = (derived_sources, derived_texts, derivations)
    return {t.name: connection.execute(delete(t).where(t.c.user_id == user_id)).rowcount for t in tables}


def _of(part: Part) -> ColumnElement[bool]:
    return (_T.namespace == part.namespace) & (_T.kind == part.kind) & (_T.part == part.part)


def _contents(connection: Connection, part: Part) -> list[tuple[str, float, frozenset[int], frozenset[int]]]:
    """What a part holds, in order."""
    rows = connection.execute(select(_T.seq, _T.text, _T.confidence).where(_of(part)).order_by(_T.number)).all()
    cited: dict[int, set[int]] = {row.seq: set() for row in rows}
    seen: dict[int, set[int]] = {row.seq: set() for row in rows}
    for some in pages(list(seen)):
        for row in connection.execute(select(derived_sources).where(_S.derived_seq.in_(some))):
            seen[row.derived_seq].add(row.episode_seq)
            if row.cited:
                cited[row.derived_seq].add(row.episode_seq)
    return [(row.text, round(row.confidence, 6), frozenset(cited[row.seq]), frozenset(seen[row.seq])) for row in rows]


def _sources(connection: Connection, seqs: Sequence[int]) -> Mapping[int, list[str]]:
    """Ids of the messages that each text (row number) cites, in the order they came."""
    found: dict[int, list[str]] = {}
    query = select(_S.derived_seq, episodes.c.id).join(episodes, episodes.c.seq == _S.episode_seq)
    for some in pages(seqs):
        own = query.where(_S.cited, _S.derived_seq.in_(some)).order_by(_S.derived_seq, episodes.c.seq)
        for seq, episode_id in connection.execute(own):
            found.setdefault(seq, []).append(episode_id)
    return found


def _delete(connection: Connection, which: ColumnElement[bool]) -> dict[str, int]:
    """Delete texts with their units; returns the deleted rows by table."""
    rows = connection.execute(select(_T.seq, _T.id).where(which)).all()
    ids = [row.id for row in rows]
    own = [seq for some in pages(ids) for seq in connection.execute(_units_of(some)).scalars()]
    counts = unit_rows.remove(connection, own) if own else {}
    for some in pages([row.seq for row in rows]):
        for table, column in ((derived_sources, _S.derived_seq), (derived_texts, _T.seq)):
            gone = connection.execute(delete(table).where(column.in_(some))).rowcount
            counts[table.name] = counts.get(table.name, 0) + gone
    return counts


def _units_of(ids: Sequence[str]) -> Any:
    return select(units.c.seq).where(units.c.stream_id.in_(ids))
