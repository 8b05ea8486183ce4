"""Integrity checks of ownership: no row refers to a row of another user, and ids made of an owner name that owner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, get_args

from sqlalchemy import Connection, Select, func, or_, select

from nscma_torch.core.database.schema import episodes, jobs, streams
from nscma_torch.core.database.tables import all_tables
from nscma_torch.core.records import OF_ONE_MESSAGE, ROLES, Scope, Status, UnitKind
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.episodic.log.streams import stream_id_of
from nscma_torch.hierarchy.store.hierarchies import hierarchy_id
from nscma_torch.hierarchy.store.hierarchy_schema import hierarchies, node_units
from nscma_torch.semantic.store.fact_schema import fact_namespaces
from nscma_torch.semantic.store.namespaces import namespace_id

_E, _U, _S = episodes.c, units.c, streams.c
_SCOPE = ("user_id", "agent_id", "run_id")
_Rows = Callable[[Select[Any], Any], Any]


def problems(connection: Connection, users: Collection[str] | None = None) -> list[str]:
    """The problems in the rows of all users, or of some, a sentence each."""

    def rows(query: Select[Any], owner: Any) -> Any:
        return connection.execute(query if users is None else query.where(owner.in_(users)))

    return [*_references(rows), *_streams(rows), *_scopes(rows), *_lanes(rows), *_values(rows)]


def _references(rows: _Rows) -> Iterator[str]:
    """Every foreign key leads to a row of the same user."""
    for table in all_tables().sorted_tables:
        if "user_id" not in table.c:
            continue
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
            target: Any = key.column.table.alias()
            if "user_id" not in target.c or key.column.name == "user_id":
                continue
            count = select(func.count()).select_from(table).join(target, target.c[key.column.name] == key.parent)
            n = rows(count.where(target.c.user_id != table.c.user_id), table.c.user_id).scalar_one()
            if n:
                yield f"{n} rows of {table.name} refer to {key.column.table.name} of another user"


def _streams(rows: _Rows) -> Iterator[str]:
    for row in rows(select(_S.id, *(_S[name] for name in _SCOPE), _S.source), _S.user_id):
        if row.id != stream_id_of(Scope(row.user_id, row.agent_id, row.run_id), row.source):
            yield f"stream {row.id} has not the id of its scope and source"


def _scopes(rows: _Rows) -> Iterator[str]:
    """Messages have their stream's scope, units of one message have that message's, summaries their hierarchy's."""
    strange = or_(*(_E[name].is_distinct_from(_S[name]) for name in _SCOPE))
    for (message,) in rows(select(_E.id).join(streams, _S.id == _E.stream_id).where(strange), _E.user_id):
        yield f"message {message} has another scope than its stream"
    strange = or_(*(_U[name].is_distinct_from(_E[name]) for name in (*_SCOPE, "stream_id")))
    made = select(_U.id).join(unit_sources, unit_sources.c.unit_seq == _U.seq)
    made = made.join(episodes, _E.seq == unit_sources.c.episode_seq)
    for (unit,) in rows(made.where(_U.kind.in_([*sorted(OF_ONE_MESSAGE), "summary"]), strange), _U.user_id):
        yield f"unit {unit} has another scope or stream than its message"
    of_node = select(_U.id).join(node_units, node_units.c.unit_seq == _U.seq)
    of_node = of_node.join(hierarchies, hierarchies.c.id == node_units.c.hierarchy_id).where(_U.kind == "summary")
    strange = or_(_U.stream_id != hierarchies.c.id, _U.agent_id.is_distinct_from(hierarchies.c.agent_id))
    for (unit,) in rows(of_node.where(strange), _U.user_id):
        yield f"summary {unit} belongs to another hierarchy than its node"


def _lanes(rows: _Rows) -> Iterator[str]:
    """Jobs work on a stream, a hierarchy or the facts of their own user, who has said something there."""
    known: dict[str, set[str]] = {}
    for table in (hierarchies, fact_namespaces):
        for key, owner in rows(select(table.c.id, table.c.user_id), table.c.user_id):
            known.setdefault(owner, set()).add(key)
    for row in rows(select(_S.id, _S.user_id, _S.agent_id), _S.user_id):
        made = (row.id, hierarchy_id(row.user_id, row.agent_id), namespace_id(row.user_id, row.agent_id))
        known.setdefault(row.user_id, set()).update(made)
    for row in rows(select(jobs.c.seq, jobs.c.user_id, jobs.c.lane), jobs.c.user_id):
        if row.lane not in known.get(row.user_id, ()):
            yield f"job {row.seq} of user {row.user_id!r} works on something that is not that user's"


def _values(rows: _Rows) -> Iterator[str]:
    """Columns hold one of the values that they are declared to take."""
    for table, name, known in (
        (episodes, "role", ROLES),
        (episodes, "status", get_args(Status)),
        (units, "status", get_args(Status)),
        (units, "kind", get_args(UnitKind)),
        (jobs, "state", ("queued", "failed")),
    ):
        strange = table.c[name].not_in(known)
        for value in rows(select(table.c[name]).where(strange).distinct(), table.c.user_id).scalars():
            yield f"{table.name}.{name} is {value!r}, not one of {', '.join(known)}"
