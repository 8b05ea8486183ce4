"""Find the fact groups that messages mention in their statements."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.semantic.store import entities
from nscma_torch.semantic.store.fact_schema import statements
from nscma_torch.semantic.store.statement_groups import Key

_S, _E = statements.c, episodes.c


def groups_told(connection: Connection, user_id: str, episode_ids: Sequence[str]) -> dict[Key, int]:
    """Return the user's fact groups that these messages make statements about, with the position of the first such
    message.
    """
    places = {episode_id: place for place, episode_id in reversed(list(enumerate(episode_ids)))}
    own = select(_E.seq, _E.id, _E.user_id).where(_E.id.in_(sorted(places)))  # by the ids alone: few rows, whoever's
    said = {row.seq: row.id for row in connection.execute(own) if row.user_id == user_id}
    query = select(_S.episode_seq, _S.namespace, _S.subject, _S.relation, _S.topic)
    rows = connection.execute(query.where(_S.episode_seq.in_(sorted(said)))).all()
    into = {namespace: entities.canonical(connection, namespace) for namespace in {row.namespace for row in rows}}
    found: dict[Key, int] = {}
    for row in rows:
        key = Key(into[row.namespace].get(row.subject, row.subject), row.relation, row.topic)
        found[key] = min(places[said[row.episode_seq]], found.get(key, len(places)))
    return found
