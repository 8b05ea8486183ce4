"""The hierarchy capability: networks of nodes over units, with their summaries."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from nscma_torch.core.capabilities import Capability, Erased, PerAgent
from nscma_torch.core.database.database import pages
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.hierarchy.store import check_hierarchies, hierarchies
from nscma_torch.hierarchy.store.hierarchy_schema import hierarchies as hierarchies_table
from nscma_torch.hierarchy.store.hierarchy_schema import links, node_units, nodes, personas
from nscma_torch.hierarchy.store.leaves import leaves


def _erase_episode(connection: Connection, _episode_seq: int, own: Sequence[int]) -> Erased:
    erased = Erased(rebuilt=[hierarchy for hierarchy, _ in hierarchies.holding(connection, own)])
    for some in pages(hierarchies.above(connection, own)):
        erased.texts += connection.execute(select(units.c.text).where(units.c.seq.in_(some))).scalars()
    erased.rows.update(hierarchies.retire(connection, own))
    return erased


def _delete(connection: Connection, hierarchy: str) -> bool:
    hierarchies.reset(connection, hierarchy)
    return True


CAPABILITY = Capability(
    tables=(hierarchies_table, nodes, personas, links, node_units),
    digest_columns={
        hierarchies_table: ("id", "user_id", "agent_id"),
        nodes: ("hierarchy_id", "level", "number"),
        personas: ("hierarchy_id", "level", "id", "node", "label"),
        links: ("hierarchy_id", "level", "a", "b", "persona_a", "persona_b", "cut"),
    },
    digest_units={
        "said": select(units.c.id, node_units.c.hierarchy_id, node_units.c.level, node_units.c.number)
        .join(node_units, node_units.c.unit_seq == units.c.seq)
        .order_by(units.c.id)
    },
    problems=check_hierarchies.problems,
    message_ids=leaves,
    erase_episode=_erase_episode,
    per_agent=PerAgent(hierarchies_table, hierarchies.hierarchy_id, _delete),
)
