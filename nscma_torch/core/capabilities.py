"""The registry of a store's capabilities: their tables and their part in whole-store operations.

Each capability is a module named `capability` that defines `CAPABILITY` and is listed in `MODULES`. Digest, check,
erasure, export and import loop over `capabilities()`. Capabilities in `features` are optional: deleting the folder
removes the capability.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from sqlalchemy import ColumnElement, Connection, MetaData, Select, Table, select

from nscma_torch.core.database.schema import metadata
from nscma_torch.core.errors import ConfigError

#: In the order that references between tables need. The digest hashes in this order, too.
MODULES = (
    "nscma_torch.episodic.capability",
    "nscma_torch.standing.capability",
    "nscma_torch.hierarchy.capability",
    "nscma_torch.semantic.capability",
    "nscma_torch.features.skills.capability",
    "nscma_torch.curator.capability",
    "nscma_torch.features.records.capability",
)


@dataclass(frozen=True, slots=True)
class RowQueries:
    """Run queries on the rows of the given users, or of all users if None.

    `single` lists the relations that have only one object at a time.
    """

    connection: Connection
    users: Collection[str] | None = None
    single: Collection[str] = ()

    def __call__(self, query: Select[Any], owner: ColumnElement[str]) -> Any:
        """Run a query; `owner` is the column that contains the user id."""
        return self.connection.execute(query if self.users is None else query.where(owner.in_(self.users)))


def strange_values(rows: RowQueries, table: Table, name: str, known: Sequence[str]) -> Iterator[str]:
    """Yield a message for each value in a column that isn't one of the known values."""
    strange = table.c[name].not_in(known)
    for value in rows(select(table.c[name]).where(strange).distinct(), table.c.user_id).scalars():
        yield f"{table.name}.{name} is {value!r}, not one of {', '.join(known)}"


@dataclass(slots=True)
class Erased:
    """Result of a deletion: rows deleted per table, their texts and ids, and the data to derive again."""

    rows: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)

    def add(self, other: Erased) -> None:
        """Add the results of another deletion."""
        self.rows.update(other.rows)
        self.texts += other.texts
        self.ids += other.ids
        self.rebuilt += other.rebuilt


@dataclass(frozen=True, slots=True)
class PerAgent:
    """State that a capability keeps for each user and agent: one row in `table`, with `id`, `user_id` and `agent_id`.

    The id is also the lane of its jobs. `delete` deletes the state with an id and returns True, unless part of it
    doesn't depend on the agent's messages.
    """

    table: Table
    id_of: Callable[[str, str | None], str]
    delete: Callable[[Connection, str], bool]


def _nothing(*_: Any) -> Iterator[Any]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Capability:
    """A capability's tables and its part in whole-store operations.

    Args:
        tables: exported tables, referenced tables first.
        name: name to pass to `capability`; set only if other capabilities may use this one when it is installed.
        rows: module of functions on its rows, which implements an interface from `core.optional_parts`.
        build: creates its service.
        local: tables that are not exported.
        texts: columns that contain users' texts or names; an erasure searches the files for their values.
        digest_columns: columns to hash, by table.
        digest_units: ordered joins of units with their owners, keyed by name.
        digest: further lines to hash, in order.
        problems: returns one sentence for each inconsistent row.
        message_ids: returns the ids of the messages from which a user's units (given by row number) were derived, if
            this capability owns the units.
        erase_episode: deletes data derived from a message (given by row number) and from its units; the rows for the
            message and the units themselves are deleted later. Called for each capability in order.
        erase_conclusions: deletes data based on the facts or derived texts with these ids in a namespace, or mentioning
            a pattern.
        roots: tables whose rows keep a namespace for facts alive.
        retire: deletes data derived from messages (given by row number) that are about to be changed or read again.
        per_agent: state kept for each user and agent.
    """

    tables: tuple[Table, ...]
    name: str = ""
    rows: Any = None
    build: Callable[..., Any] = _nothing
    local: tuple[Table, ...] = ()
    texts: Mapping[Table, Sequence[str]] = field(default_factory=dict)
    digest_columns: Mapping[Table, Sequence[str]] = field(default_factory=dict)
    digest_units: Mapping[str, Select[Any]] = field(default_factory=dict)
    digest: Callable[[RowQueries], Iterable[tuple[Any, ...]]] = _nothing
    problems: Callable[[RowQueries], Iterable[str]] = _nothing
    message_ids: Callable[[Connection, str, Sequence[int]], Mapping[int, list[str]]] | None = None
    erase_episode: Callable[[Connection, int, Sequence[int]], Erased] | None = None
    erase_conclusions: Callable[[Connection, str, Collection[str], re.Pattern[str] | None], Erased] | None = None
    roots: tuple[Table, ...] = ()
    per_agent: PerAgent | None = None
    retire: Callable[[Connection, Sequence[int]], object] | None = None


@cache
def capabilities() -> tuple[Capability, ...]:
    """Return all capabilities, in the order of `MODULES`."""
    found = (_loaded(module) for module in MODULES)
    return tuple(one for one in found if one is not None)


def _loaded(module: str) -> Capability | None:
    """Load a capability; return None if it belongs to `features` and its folder was removed."""
    try:
        loaded: Capability = import_module(module).CAPABILITY
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith("nscma_torch.features.") or not module.startswith(error.name):
            raise
        return None
    return loaded


def installed(name: str) -> Capability | None:
    """Return the capability with this name, or None if it was removed."""
    return next((one for one in capabilities() if one.name == name), None)


def capability(name: str) -> Capability:
    """Return the capability with this name. Raises `ConfigError` if it was removed."""
    found = installed(name)
    if found is None:
        raise ConfigError(f"{name} are not installed: nscma_torch/features/{name} was removed; restore that folder")
    return found


def retire(connection: Connection, episode_seqs: Sequence[int]) -> None:
    """Delete data that removable capabilities derived from messages that are about to be changed or read again."""
    for one in capabilities():
        if one.retire is not None:
            one.retire(connection, episode_seqs)


def all_tables() -> MetaData:
    """Return the tables of all capabilities."""
    capabilities()
    return metadata


def tables_with(column: str) -> list[Table]:
    """Return all tables that have this column, in an order in which their rows can be deleted."""
    found = [table for capability in capabilities() for table in (*capability.tables, *capability.local)]
    return [table for table in reversed(found) if column in table.c]
