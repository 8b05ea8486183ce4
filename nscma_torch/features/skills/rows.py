"""Procedural memory: named skills with their trigger, steps and outcomes, in the spirit of Voyager.

Search finds a skill through its units of kind "skill", which contain its name and trigger; the units' stream is the
skill's id.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Connection, case, func, select

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import next_seq
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Scope
from nscma_torch.core.skill import Skill
from nscma_torch.curator.store import derived_texts
from nscma_torch.curator.store.derived_schema import derived_sources
from nscma_torch.curator.store.derived_schema import derived_texts as derived_rows
from nscma_torch.curator.store.derived_texts import Part
from nscma_torch.episodic.index import units as unit_rows
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.features.skills.skill_schema import skills
from nscma_torch.semantic.store import namespaces
from nscma_torch.text.names import name_key

_K = skills.c


def skill_id(namespace: str, name: str) -> str:
    """Return the id of the skill with this name; case and spacing are ignored."""
    return derive_id("skill", namespace, name_key(name))


def origin(scope: Scope, name: str, at: int) -> dict[str, Any]:
    """Build the origin of a skill's units, which takes the place of an episode's row; call it before `put`."""
    key = skill_id(namespaces.namespace_id(scope.user_id, scope.agent_id), name)
    return unit_rows.origin_alone(key, scope, at)


def put(
    connection: Connection,
    scope: Scope,
    name: str,
    trigger: str,
    steps: Sequence[str],
    new: Sequence[NewUnit],
    at: int,
    *,
    behind: Collection[int] = (),
) -> Skill:
    """Store a skill with its units; if it exists, update its trigger and steps but keep its outcomes.

    `behind` contains the row numbers of its source messages; deleting any of them deletes the skill. It is empty for a
    skill written by the user. Call `touch_user` first, in the same transaction.
    """
    namespace = namespaces.ensure(connection, scope.user_id, scope.agent_id)
    key = skill_id(namespace, name)
    derived_texts.forget(connection, key)
    values: dict[str, Any] = {"name": name, "trigger": trigger, "steps": json.dumps(list(steps), ensure_ascii=False)}
    values |= {"updated_at": at, "status": "active"}
    _remove_units(connection, key)
    if not connection.execute(skills.update().where(_K.id == key).values(**values)).rowcount:
        owner = {"seq": next_seq(connection, skills.name), "id": key, "namespace": namespace, "user_id": scope.user_id}
        connection.execute(skills.insert().values(**owner, **values, successes=0, failures=0, recorded_at=at))
    unit_rows.insert(connection, new)
    stored = require(connection, scope.user_id, key)
    if behind:
        derived_texts.note_skill(connection, Part(namespace, "skill", key), stored.text, behind, at)
    return stored


def is_kept(connection: Connection, scope: Scope, name: str) -> bool:
    """Return True if the user wrote or archived a skill with this name, which a derived skill must not replace."""
    key = skill_id(namespaces.namespace_id(scope.user_id, scope.agent_id), name)
    known = find(connection, scope.user_id, key)
    return known is not None and (known.status == "archived" or not derived_texts.is_noted(connection, key))


def require(connection: Connection, user_id: str, key: str) -> Skill:
    """Return the user's skill with this id. Raises `NotFoundError` if there is none."""
    skill = find(connection, user_id, key)
    if skill is None:
        raise NotFoundError(f"user {user_id!r} has no skill with id {key!r}; `nscma skills --archived` lists the ids")
    return skill


def find(connection: Connection, user_id: str, key: str) -> Skill | None:
    """Return the user's skill with this id, if any."""
    row = connection.execute(select(skills).where(_K.user_id == user_id, _K.id == key)).mappings().first()
    return None if row is None else _from_row(row, namespaces.owner(connection, row["namespace"]))


def texts(connection: Connection, user_id: str, key: str) -> list[str]:
    """Return every stored text of a skill, from its row and its units. Raises `NotFoundError` for an unknown id."""
    require(connection, user_id, key)
    of_row = connection.execute(select(_K.name, _K.trigger, _K.steps).where(_K.id == key)).one()
    return [*of_row, *unit_rows.texts(connection, _units(connection, key)).values()]


def select_skills(connection: Connection, scope: Scope, *, archived: bool = False) -> list[Skill]:
    """Return the skills in a scope, in the order they were added; `archived` includes archived skills."""
    found = []
    for namespace in namespaces.of_scope(connection, scope):
        own = namespaces.owner(connection, namespace)
        query = select(skills).where(_K.namespace == namespace)
        if not archived:
            query = query.where(_K.status == "active")
        found += [(row["seq"], _from_row(row, own)) for row in connection.execute(query).mappings()]
    return [skill for _, skill in sorted(found, key=lambda item: item[0])]


def note_outcome(
    connection: Connection, user_id: str, key: str, *, success: bool, at: int, withdrawn: bool = False
) -> Skill:
    """Count one use of a skill, or subtract one that was counted. Raises `NotFoundError` for an unknown id."""
    column = _K.successes if success else _K.failures
    count = case((column > 0, column - 1), else_=0) if withdrawn else column + 1
    changes = {column.name: count, "updated_at": at}
    connection.execute(skills.update().where(_K.user_id == user_id, _K.id == key).values(changes))
    return require(connection, user_id, key)


def set_status(connection: Connection, user_id: str, key: str, status: Literal["active", "archived"], at: int) -> Skill:
    """Archive a skill to hide it from search, or restore it. Call `touch_user` in the same transaction."""
    found = skills.update().where(_K.user_id == user_id, _K.id == key)
    connection.execute(found.values(status=status, updated_at=at))
    skill = require(connection, user_id, key)
    unit_rows.set_status(connection, _units(connection, key), status)
    return skill


def written_after(connection: Connection, reply: int) -> list[str]:
    """Return the ids of active skills written after feedback on a reply (row number), which is their last source."""
    citing = select(derived_sources.c.derived_seq).where(derived_sources.c.episode_seq == reply)
    query = select(_K.id).join(derived_rows, derived_rows.c.id == _K.id)
    query = query.join(derived_sources, derived_sources.c.derived_seq == derived_rows.c.seq)
    query = query.where(_K.status == "active", derived_rows.c.kind == "skill", derived_rows.c.seq.in_(citing))
    query = query.group_by(_K.id).having(func.max(derived_sources.c.episode_seq) == reply)
    return list(connection.execute(query).scalars())


def remove(connection: Connection, key: str) -> dict[str, int]:
    """Delete a skill with its units; return the number of deleted rows by table. Call `touch_user` as well."""
    rows = _remove_units(connection, key) | derived_texts.forget(connection, key)
    return rows | {skills.name: connection.execute(skills.delete().where(_K.id == key)).rowcount}


def _units(connection: Connection, key: str) -> list[int]:
    query = select(units.c.seq).where(units.c.stream_id == key, units.c.kind == "skill")
    return list(connection.execute(query).scalars())


def _remove_units(connection: Connection, key: str) -> dict[str, int]:
    return unit_rows.remove(connection, _units(connection, key))


def _from_row(row: Mapping[Any, Any], scope: Scope) -> Skill:
    return Skill(
        id=row["id"],
        scope=scope,
        name=row["name"],
        trigger=row["trigger"],
        steps=tuple(decoded(row["steps"], list)),
        successes=row["successes"],
        failures=row["failures"],
        recorded_at=from_micros(row["recorded_at"]),
        updated_at=from_micros(row["updated_at"]),
        status=row["status"],
    )


def units_of(connection: Connection, user_id: str) -> list[tuple[int, str]]:
    """Return the row number and skill id of each active unit of the user's skills."""
    query = select(units.c.seq, units.c.stream_id).where(units.c.user_id == user_id, units.c.kind == "skill")
    return [(row.seq, row.stream_id) for row in connection.execute(query.where(units.c.status == "active"))]
