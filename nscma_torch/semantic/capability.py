"""The facts capability: statements made in messages, and the beliefs derived from them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from nscma_torch.core.capabilities import Capability, Erased, PerAgent
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.semantic.store import check_facts, digest_facts, erase_facts
from nscma_torch.semantic.store.fact_schema import (
    decisions,
    entities,
    fact_namespaces,
    fact_sources,
    facts,
    statements,
    unit_statements,
    unresolved,
)
from nscma_torch.semantic.store.namespaces import namespace_id


def _erase_episode(connection: Connection, episode_seq: int, _units: Sequence[int]) -> Erased:
    return erase_facts.delete_episode(connection, episode_seq)


CAPABILITY = Capability(
    tables=(fact_namespaces, entities, statements, unit_statements, unresolved, facts, fact_sources, decisions),
    texts={
        **erase_facts.TEXTS,
        statements: (*erase_facts.TEXTS[statements], "id"),  # a decision's `before` names ids
        fact_namespaces: ("agent_id",),
    },
    digest_units={
        "states": select(units.c.id, statements.c.id)
        .join(unit_statements, unit_statements.c.unit_seq == units.c.seq)
        .join(statements, statements.c.seq == unit_statements.c.statement_seq)
        .order_by(units.c.id, statements.c.id)
    },
    digest=digest_facts.lines,
    problems=check_facts.problems,
    erase_episode=_erase_episode,
    roots=(statements,),
    per_agent=PerAgent(fact_namespaces, namespace_id, erase_facts.delete_namespace),
)
