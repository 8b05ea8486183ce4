"""Namespaces for facts: each user and agent have one, kept separate from the others."""

from __future__ import annotations

from sqlalchemy import Connection, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import Scope
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.semantic.store.fact_schema import fact_namespaces


def namespace_id(user_id: str, agent_id: str | None) -> str:
    """Return the namespace id for a user and agent, whether stored or not."""
    return derive_id("facts", user_id, agent_id)


def ensure(connection: Connection, user_id: str, agent_id: str | None) -> str:
    """Return the namespace for a user and agent, storing it if new. The user must already be stored: see
    `streams.touch_user`.
    """
    namespace = namespace_id(user_id, agent_id)
    if connection.execute(select(fact_namespaces.c.id).where(fact_namespaces.c.id == namespace)).first() is None:
        connection.execute(fact_namespaces.insert().values(id=namespace, user_id=user_id, agent_id=agent_id))
    return namespace


def of_scope(connection: Connection, scope: Scope) -> list[str]:
    """Return the stored namespaces in a scope: the agent's namespace, or all of the user's if the scope names
    no agent.
    """
    query = (
        select(fact_namespaces.c.id).where(fact_namespaces.c.user_id == scope.user_id).order_by(fact_namespaces.c.id)
    )
    if scope.agent_id is not None:
        query = query.where(fact_namespaces.c.agent_id == scope.agent_id)
    return list(connection.execute(query).scalars())


def owner(connection: Connection, namespace: str) -> Scope:
    """Return the user and agent that a stored namespace belongs to."""
    row = connection.execute(select(fact_namespaces).where(fact_namespaces.c.id == namespace)).one()
    return Scope(row.user_id, row.agent_id)


def of_user(connection: Connection, user_id: str) -> list[str]:
    """Return the namespaces for all agents that a user has talked to, storing new ones."""
    query = select(episodes.c.agent_id).where(episodes.c.user_id == user_id).distinct()
    return sorted(ensure(connection, user_id, agent_id) for agent_id in connection.execute(query).scalars().all())
