"""Remove a message from search, and restore a forgotten message or fact to it."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from nscma_torch.core.records import Episode
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes
from nscma_torch.semantic.store import decisions, fact_units, namespaces, statement_groups, statements
from nscma_torch.semantic.store.decisions import DecisionRow, NewDecision

FORGOTTEN = "forgotten"  # key of a decision's `before`: FACT, or the id of an episode
FACT = "fact"


def archive_message(connection: Connection, seq: int, episode: Episode, reason: str, at: int) -> None:
    """Remove a message's units from search, with a decision that `undo` reverts; the message itself stays."""
    user_id = episode.scope.user_id
    units.set_status(connection, units.seqs_of_episode(connection, seq), "archived")
    namespace = namespaces.ensure(connection, user_id, episode.scope.agent_id)
    made = NewDecision("ARCHIVE", "", "", "", "", reason, None, (), {FORGOTTEN: episode.id})
    decisions.insert(connection, namespace, user_id, [made], at)


def bring_back(connection: Connection, decision: DecisionRow) -> Collection[str]:
    """Undo a decision to forget: restore the message, or mark the fact's group and return the fact's id for
    `settle`.
    """
    what = decision.before[FORGOTTEN]
    if what == FACT:
        statement_groups.mark(connection, decision.namespace, [decision.key])
        return decision.record.fact_ids
    seq, episode = episodes.require(connection, decision.user_id, what)
    if episode.status == "active":
        units.set_status(connection, units.seqs_of_episode(connection, seq), "active")
        fact_units.follow(connection, statements.of_episodes(connection, [seq]).get(seq, ()))
    return ()
