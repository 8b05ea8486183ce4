"""Integrity checks of derived ids: no row takes the id that a later row, perhaps of another user, will get."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from sqlalchemy import Connection, Select, select

from nscma_torch.core.database.schema import episodes, history
from nscma_torch.core.records import OF_ONE_MESSAGE
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.episodic.index.units import node_key, unit_id
from nscma_torch.episodic.log.episodes import id_of, set_columns
from nscma_torch.features.skills.rows import skill_id
from nscma_torch.semantic.store.fact_schema import skills, statements
from nscma_torch.semantic.store.statements import id_of_columns

_E, _H, _K, _S, _U = episodes.c, history.c, skills.c, statements.c, units.c
_Rows = Callable[[Select[Any], Any], Any]


def problems(connection: Connection, users: Collection[str] | None = None) -> list[str]:
    """The rows of all users, or of some, that have another id than their content gives, a sentence each."""

    def rows(query: Select[Any], owner: Any) -> Any:
        return connection.execute(query if users is None else query.where(owner.in_(users)))

    return [*_messages(rows), *_units(rows), *_statements(rows), *_skills(rows)]


def mend_messages(connection: Connection, user_id: str) -> None:
    """Give the messages of a user whose text or history was lost the ids that follow from what is left."""
    for row, wanted in _other_ids(lambda query, owner: connection.execute(query.where(owner == user_id))):
        set_columns(connection, row.seq, id=wanted)


def _messages(rows: _Rows) -> Iterator[str]:
    yield from (f"message {row.id} has not the id of its place and first text" for row, _ in _other_ids(rows))


def _other_ids(rows: _Rows) -> list[tuple[Any, str]]:
    """The messages that have another id than they should, and that id. It stays when the text is updated."""
    updates = select(_H.episode_seq, _H.old_text).where(_H.event == "UPDATE", _H.old_text.is_not(None))
    first = {row.episode_seq: row.old_text for row in rows(updates.order_by(_H.seq.desc()), _H.user_id)}
    said = rows(select(_E.seq, _E.id, _E.stream_id, _E.position, _E.role, _E.name, _E.text), _E.user_id)
    found = (
        (row, id_of(row.stream_id, row.position, row.role, row.name, first.get(row.seq, row.text))) for row in said
    )
    return [(row, wanted) for row, wanted in found if row.id != wanted]


def _units(rows: _Rows) -> Iterator[str]:
    """A unit is made of a message that it rests on; others are made of the node, skill or text of their stream."""
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
    yield from (f"unit {key} has not the id of its origin and text" for key, is_so in strange.items() if is_so)


def _statements(rows: _Rows) -> Iterator[str]:
    query = select(statements, _E.id.label("message")).join(episodes, _E.seq == _S.episode_seq)
    for row in rows(query, _S.user_id).mappings():
        if row["id"] != id_of_columns(row["message"], row):
            yield f"statement {row['id']} has not the id of its message and words"


def _skills(rows: _Rows) -> Iterator[str]:
    for row in rows(select(_K.id, _K.namespace, _K.name), _K.user_id):
        if row.id != skill_id(row.namespace, row.name):
            yield f"skill {row.id} has not the id of its name"
