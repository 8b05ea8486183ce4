"""Derived texts (insights, daily summaries, reflections and others), each with its sources.

Sources are messages, or derived texts with the messages behind them, so a changed message affects every text above it
at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, delete, func, select

from nscma_torch.core.capabilities import capabilities
from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import next_seq, next_seqs, pages
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.derived_kinds import DERIVED_KINDS
from nscma_torch.core.records import DerivedKind, Scope
from nscma_torch.curator.store.derived_schema import (
    derivations,
    derived_links,
    derived_omissions,
    derived_sources,
    derived_texts,
)
from nscma_torch.episodic.index import units as unit_rows
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.semantic.store import namespaces

_T, _S, _L, _D, _O = derived_texts.c, derived_sources.c, derived_links.c, derivations.c, derived_omissions.c


@dataclass(frozen=True, slots=True)
class DerivedText:
    """A derived text, with the ids of its source messages in order of arrival.

    `since` and `until` are the times of the first and last of these messages; `confidence` is in (0, 1]. `part` is the
    part it was derived from, or "" for all of the user's messages to the agent. `derived_ids` are the ids of the
    derived texts that it cites; their source messages are then included.
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
    derived_ids: tuple[str, ...] = ()


class Part(NamedTuple):
    """A unit of derivation: one kind of text for one part of a namespace.

    For a reflection, the part is a stretch of messages: see `stretch_part`.
    """

    namespace: str
    kind: DerivedKind
    part: str = ""


class Run(NamedTuple):
    """The last derivation of a part: the hash of its sources, and its time (microseconds)."""

    basis: str
    made_at: int


class Rows(NamedTuple):
    """Row numbers of messages and of derived texts."""

    messages: frozenset[int]
    texts: frozenset[int] = frozenset()

    def __or__(self, other: Rows) -> Rows:
        return Rows(self.messages | other.messages, self.texts | other.texts)


class NewText(NamedTuple):
    """A text to store: its citations, and all sources that were visible when it was written.

    `since` and `until` are in microseconds; `importance`, in [0, 1], applies to its units. If `said_by` is set to the
    id of an equivalent text from another part, this text is not stored, and its part is derived again once the other
    text is deleted.
    """

    text: str
    confidence: float
    cited: Rows
    seen: Rows
    since: int
    until: int
    importance: float = 0.0
    said_by: str = ""


class Changed(NamedTuple):
    """Result of `replace`: the number of the part's texts that changed, and the number of texts removed from other
    parts.
    """

    texts: int
    above: int = 0


# How important the units of a text are, within a query of texts.
importance_of_units = select(func.max(units.c.importance)).where(units.c.stream_id == _T.id).scalar_subquery()


def text_id(part: Part, number: int) -> str:
    """Return a text's id, derived from its part and number; a skill is its own part, so its text has the skill's id."""
    return derive_id("derived", *part, number) if part.kind in DERIVED_KINDS else part.part


def stretch_part(first: str, last: str) -> str:
    """Name a stretch of messages by the ids of its first and last message."""
    return f"{first}:{last}"


def stretch_ends(part: str) -> tuple[str, str]:
    """Return the ids of the first and last message, given a stretch's name."""
    first, _, last = part.partition(":")
    return first, last


def origin(part: Part, scope: Scope, number: int, new: NewText) -> dict[str, Any]:
    """Build the origin for a text's units, used instead of an episode's row, before the text is stored."""
    return {**unit_rows.origin_alone(text_id(part, number), scope, new.until), "importance": new.importance}


def replace(
    connection: Connection,
    part: Part,
    texts: Sequence[NewText],
    made: Sequence[Sequence[NewUnit]],
    *,
    basis: str,
    at: int,
    omitted_for: Collection[str] = (),
) -> Changed:
    """Replace all of a part's texts, each with its units; `Changed.texts` also counts removed texts.

    `omitted_for` contains the ids of texts that made some of this part's texts redundant. If anything changes, derived
    texts based on the old texts are deleted so that they are derived again; then call `touch_user` in the same
    transaction.
    """
    user_id = namespaces.owner(connection, part.namespace).user_id
    before = _contents(connection, part)
    after = [
        (new.text, round(new.confidence, 6), round(new.importance, 6), new.cited, new.cited | new.seen) for new in texts
    ]
    if before == after:
        note_run(connection, part, basis=basis, at=at, omitted_for=omitted_for)
        return Changed(0)
    gone = _remove(connection, connection.execute(select(_T.seq).where(_of(part))).scalars())
    note_run(connection, part, basis=basis, at=at, omitted_for=omitted_for)
    seqs = next_seqs(connection, derived_texts.name, len(texts))
    for number, (seq, new, own) in enumerate(zip(seqs, texts, made, strict=True)):
        row = {"seq": seq, "id": text_id(part, number), **part._asdict(), "number": number}
        what = {"text": new.text, "confidence": new.confidence, "since": new.since, "until": new.until}
        connection.execute(derived_texts.insert().values(**row, **what, user_id=user_id, made_at=at))
        own_row = {"derived_seq": seq, "user_id": user_id}
        seen = new.cited | new.seen
        rows = [{**own_row, "episode_seq": seq, "cited": seq in new.cited.messages} for seq in sorted(seen.messages)]
        connection.execute(derived_sources.insert(), rows)
        links = [{**own_row, "source_seq": seq, "cited": seq in new.cited.texts} for seq in sorted(seen.texts)]
        if links:
            connection.execute(derived_links.insert(), links)
        unit_rows.insert(connection, own)
    changed = sum(one not in before for one in after) + max(0, len(before) - len(after))
    return Changed(changed, gone.get(derived_texts.name, 0) - len(before))


def note_run(connection: Connection, part: Part, *, basis: str, at: int, omitted_for: Collection[str] = ()) -> None:
    """Record that a part was derived, and the ids of the texts that made some of its own redundant."""
    _forget_run(connection, part)
    own = {**part._asdict(), "user_id": namespaces.owner(connection, part.namespace).user_id}
    connection.execute(derivations.insert().values(**own, basis=basis, made_at=at))
    for some in pages(sorted(omitted_for)):
        saying = connection.execute(select(_T.seq).where(_T.id.in_(some))).scalars().all()
        if saying:
            connection.execute(derived_omissions.insert(), [{**own, "source_seq": seq} for seq in saying])


def _forget_run(connection: Connection, part: Part) -> dict[str, int]:
    """Delete the record of a part's run, so that the part is derived again. Returns the number of deleted rows by
    table.
    """
    return {
        table.name: connection.execute(
            delete(table).where(
                table.c.namespace == part.namespace, table.c.kind == part.kind, table.c.part == part.part
            )
        ).rowcount
        for table in (derived_omissions, derivations)
    }


def runs(connection: Connection, namespace: str, kind: DerivedKind) -> dict[str, Run]:
    """Return the last run for each part of a kind, by part."""
    query = select(_D.part, _D.basis, _D.made_at).where(_D.namespace == namespace, _D.kind == kind)
    return {part: Run(basis, made_at) for part, basis, made_at in connection.execute(query)}


def of_scope(connection: Connection, scope: Scope, kind: DerivedKind) -> list[DerivedText]:
    """Return the texts of a kind in a scope, in order: the agent's texts, or all of the user's if the scope names no
    agent.
    """
    found = []
    for namespace in namespaces.of_scope(connection, scope):
        own = namespaces.owner(connection, namespace)
        rows = connection.execute(
            select(derived_texts).where(_T.namespace == namespace, _T.kind == kind).order_by(_T.part, _T.number)
        ).all()
        seqs = [row.seq for row in rows]
        sources, below = cited_messages(connection, seqs), _texts_below(connection, seqs)
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
                derived_ids=tuple(below.get(row.seq, ())),
            )
            for row in rows
        ]
    return found


def note_skill(connection: Connection, part: Part, text: str, behind: Collection[int], at: int) -> None:
    """Record the source messages of a skill; the part is the skill's id, and its units are already stored.

    The skill is deleted when any of these messages is.
    """
    user_id = namespaces.owner(connection, part.namespace).user_id
    said_at = func.coalesce(episodes.c.occurred_at, episodes.c.recorded_at)
    times = connection.execute(select(said_at).where(episodes.c.seq.in_(sorted(behind)))).scalars().all()
    row = {"seq": next_seq(connection, derived_texts.name), "id": part.part, **part._asdict(), "number": 0}
    what = {"text": text, "confidence": 1.0, "since": min(times), "until": max(times)}
    connection.execute(derived_texts.insert().values(**row, **what, user_id=user_id, made_at=at))
    sources = [{"derived_seq": row["seq"], "episode_seq": seq, "user_id": user_id} for seq in sorted(behind)]
    connection.execute(derived_sources.insert(), [{**source, "cited": True} for source in sources])


def is_noted(connection: Connection, key: str) -> bool:
    """Return True if a derived text with this id is recorded."""
    return connection.execute(select(_T.seq).where(_T.id == key)).first() is not None


def forget(connection: Connection, key: str) -> dict[str, int]:
    """Delete the records of a text by id, leaving its units; return the number of deleted rows by table."""
    seqs = list(connection.execute(select(_T.seq).where(_T.id == key)).scalars())
    of_seq = ((derived_sources, _S.derived_seq), (derived_texts, _T.seq))
    return {table.name: connection.execute(delete(table).where(seq.in_(seqs))).rowcount for table, seq in of_seq}


def retire(connection: Connection, episode_seqs: Collection[int]) -> dict[str, int]:
    """Delete every text that was written with one of these messages visible; call it before the messages are changed,
    hidden or deleted.

    The next sleep derives their parts again. Returns the number of deleted rows by table. Call `touch_user` as well.
    """
    seqs: set[int] = set()
    for some in pages(sorted(episode_seqs)):
        seqs.update(connection.execute(select(_S.derived_seq).where(_S.episode_seq.in_(some))).scalars())
    counts = Counter(_forget_stretches(connection, episode_seqs))
    counts.update(_remove(connection, seqs))
    return dict(counts)


def _forget_stretches(connection: Connection, episode_seqs: Collection[int]) -> dict[str, int]:
    """Delete the runs for stretches that begin or end with one of these messages, including runs without texts."""
    ends: set[str] = set()
    users: set[str] = set()
    for some in pages(sorted(episode_seqs)):
        for row in connection.execute(select(episodes.c.id, episodes.c.user_id).where(episodes.c.seq.in_(some))):
            ends.add(row.id)
            users.add(row.user_id)
    deleted = 0
    for user_id in sorted(users):
        of_user = (_D.user_id == user_id) & _D.part.contains(":")
        parts = connection.execute(select(_D.part).where(of_user).distinct()).scalars()
        for some_parts in pages([part for part in parts if not ends.isdisjoint(stretch_ends(part))]):
            deleted += connection.execute(delete(derivations).where(of_user, _D.part.in_(some_parts))).rowcount
    return {derivations.name: deleted} if deleted else {}


def resting_texts(connection: Connection, episode_seq: int) -> list[str]:
    """Return the texts that were written with a message visible."""
    query = select(_T.text).join(derived_sources, _S.derived_seq == _T.seq).where(_S.episode_seq == episode_seq)
    return list(connection.execute(query).scalars())


def message_ids(connection: Connection, user_id: str, seqs: Sequence[int]) -> dict[int, list[str]]:
    """Return the ids of the messages cited by the texts that these units (row numbers) belong to, in order of
    arrival.
    """
    query = select(units.c.seq, episodes.c.id).join(derived_texts, _T.id == units.c.stream_id)
    query = query.join(derived_sources, _S.derived_seq == _T.seq).join(episodes, episodes.c.seq == _S.episode_seq)
    query = query.where(units.c.user_id == user_id, _S.cited).order_by(units.c.seq, episodes.c.seq)
    found: dict[int, list[str]] = {}
    for some in pages(seqs):
        for seq, episode_id in connection.execute(query.where(units.c.seq.in_(some))):
            found.setdefault(seq, []).append(episode_id)
    return found


def in_view_of(connection: Connection, ids: Sequence[str]) -> list[str]:
    """Return the ids of all messages that were visible when these texts (ids) were written, in order of arrival."""
    query = select(episodes.c.id, episodes.c.seq).join(derived_sources, _S.episode_seq == episodes.c.seq)
    query = query.join(derived_texts, _T.seq == _S.derived_seq).distinct().order_by(episodes.c.seq)
    return list(connection.execute(query.where(_T.id.in_(ids))).scalars())


def _of(part: Part) -> ColumnElement[bool]:
    return (_T.namespace == part.namespace) & (_T.kind == part.kind) & (_T.part == part.part)


def _contents(connection: Connection, part: Part) -> list[tuple[str, float, float, Rows, Rows]]:
    """Return a part's contents, in order.

    For each text: its wording, confidence, importance, citations, and the visible sources.
    """
    query = select(_T.seq, _T.text, _T.confidence, importance_of_units.label("importance"))
    rows = connection.execute(query.where(_of(part)).order_by(_T.number)).all()
    seqs = [row.seq for row in rows]
    messages = messages_below(connection, seqs)
    texts = _below(connection, select(_L.derived_seq, _L.source_seq, _L.cited), _L.derived_seq, seqs)
    found = []
    for row in rows:
        cited, seen = map(Rows, messages[row.seq], texts[row.seq])
        found.append((row.text, round(row.confidence, 6), round(row.importance or 0.0, 6), cited, seen))
    return found


def messages_below(connection: Connection, seqs: Sequence[int]) -> dict[int, tuple[frozenset[int], frozenset[int]]]:
    """Return, for each text (row number), the row numbers of the messages that it cites and of all visible messages."""
    return _below(connection, select(_S.derived_seq, _S.episode_seq, _S.cited), _S.derived_seq, seqs)


def _below(
    connection: Connection, query: Select[Any], above: ColumnElement[int], seqs: Sequence[int]
) -> dict[int, tuple[frozenset[int], frozenset[int]]]:
    """Return, for each text, the row numbers of the sources that it cites and of all sources that were visible when it
    was written.
    """
    cited: dict[int, set[int]] = {seq: set() for seq in seqs}
    seen: dict[int, set[int]] = {seq: set() for seq in seqs}
    for some in pages(seqs):
        for seq, source, is_cited in connection.execute(query.where(above.in_(some))):
            seen[seq].add(source)
            if is_cited:
                cited[seq].add(source)
    return {seq: (frozenset(cited[seq]), frozenset(seen[seq])) for seq in seqs}


def cited_messages(connection: Connection, seqs: Sequence[int]) -> Mapping[int, list[str]]:
    """Return the ids of the messages that each text (row number) cites, in order of arrival."""
    found: dict[int, list[str]] = {}
    query = select(_S.derived_seq, episodes.c.id).join(episodes, episodes.c.seq == _S.episode_seq)
    for some in pages(seqs):
        own = query.where(_S.cited, _S.derived_seq.in_(some)).order_by(_S.derived_seq, episodes.c.seq)
        for seq, episode_id in connection.execute(own):
            found.setdefault(seq, []).append(episode_id)
    return found


def _texts_below(connection: Connection, seqs: Sequence[int]) -> Mapping[int, list[str]]:
    """Return the ids of the derived texts that each text (row number) cites, in the order they were derived."""
    found: dict[int, list[str]] = {}
    query = select(_L.derived_seq, _T.id).join(derived_texts, _T.seq == _L.source_seq)
    for some in pages(seqs):
        own = query.where(_L.cited, _L.derived_seq.in_(some)).order_by(_L.derived_seq, _T.seq)
        for seq, text in connection.execute(own):
            found.setdefault(seq, []).append(text)
    return found


def _remove(connection: Connection, seqs: Iterable[int]) -> dict[str, int]:
    """Delete texts with their units, and all texts based on them.

    Their parts are derived again, as are parts in which a deleted text had made other texts redundant. Returns the
    number of deleted rows by table.
    """
    gone: set[int] = set()
    new = set(seqs)
    while new:
        gone |= new
        above = (select(_L.derived_seq).where(_L.source_seq.in_(some)) for some in pages(sorted(new)))
        new = {seq for query in above for seq in connection.execute(query).scalars()} - gone
    counts: Counter[str] = Counter()
    every = list(pages(sorted(gone)))
    for some in every:
        rows = connection.execute(select(_T.id, _T.namespace, _T.kind, _T.part).where(_T.seq.in_(some))).all()
        own = [seq for page in pages([row.id for row in rows]) for seq in connection.execute(_units_of(page)).scalars()]
        counts.update(unit_rows.remove(connection, own) if own else {})
        learned = [row.id for row in rows if row.kind not in DERIVED_KINDS]
        for capability in capabilities() if learned else ():
            if capability.erase_conclusions is not None:
                for namespace in sorted({row.namespace for row in rows}):
                    counts.update(capability.erase_conclusions(connection, namespace, learned, None).rows)
        omitting = select(_O.namespace, _O.kind, _O.part).where(_O.source_seq.in_(some))
        own_parts = (Part(row.namespace, row.kind, row.part) for row in rows)
        for part in {*own_parts, *map(Part._make, connection.execute(omitting))}:
            counts.update(_forget_run(connection, part))
    for table, column in ((derived_links, _L.derived_seq), (derived_sources, _S.derived_seq), (derived_texts, _T.seq)):
        for some in every:
            counts[table.name] += connection.execute(delete(table).where(column.in_(some))).rowcount
    return dict(counts)


def _units_of(ids: Sequence[str]) -> Any:
    return select(units.c.seq).where(units.c.stream_id.in_(ids))
