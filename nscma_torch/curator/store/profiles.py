"""The user profile: a few dated lines, each with its source facts. Sleep rewrites all of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date

from sqlalchemy import Connection, delete, select

from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import DerivedKind, ProfileLine, Scope
from nscma_torch.curator.store.profile_schema import profile
from nscma_torch.semantic.store import namespaces

DERIVED: tuple[DerivedKind, ...] = ("portrait", "insight")  # kinds of derived texts that follow the facts
_P = profile.c


def replace(connection: Connection, user_id: str, agent_id: str | None, lines: Sequence[ProfileLine]) -> None:
    """Replace the whole profile for a user and agent; lines are numbered in the given order.

    Raises `InvalidInputError` for a line without sources.
    """
    namespace = namespaces.ensure(connection, user_id, agent_id)
    connection.execute(delete(profile).where(_P.namespace == namespace))
    bare = [line.text for line in lines if not line.fact_ids]
    if bare:
        raise InvalidInputError(f"a profile line needs source facts; this line has none: {bare[0]!r}")
    rows = [
        {
            "namespace": namespace,
            "user_id": user_id,
            "number": number,
            "text": line.text,
            "day": line.day.isoformat(),
            "sources": json.dumps(line.fact_ids),
        }
        for number, line in enumerate(lines)
    ]
    if rows:
        connection.execute(profile.insert(), rows)


def lines(connection: Connection, user_id: str, agent_id: str | None) -> list[ProfileLine]:
    """Return the profile for a user and agent, in order; empty before the first sleep."""
    return of_namespace(connection, namespaces.namespace_id(user_id, agent_id))


def of_namespace(connection: Connection, namespace: str) -> list[ProfileLine]:
    """Return the profile in a namespace, in order."""
    rows = connection.execute(select(profile).where(_P.namespace == namespace).order_by(_P.number))
    return [
        ProfileLine(row.number, row.text, date.fromisoformat(row.day), tuple(decoded(row.sources, list)))
        for row in rows
    ]


def of_scope(connection: Connection, scope: Scope) -> list[ProfileLine]:
    """Return the profiles in a scope: the agent's, or all of the user's if the scope names no agent."""
    return [
        line for namespace in namespaces.of_scope(connection, scope) for line in of_namespace(connection, namespace)
    ]
