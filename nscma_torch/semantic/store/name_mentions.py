"""Find the messages whose statements mention a name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from sqlalchemy import Connection, and_, func, or_, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.semantic.store.fact_schema import statements
from nscma_torch.text.names import name_key

_S = statements.c
_MOST = 60  # mentions that are looked at, the latest


class Mention(NamedTuple):
    """A mention of an entity by name, in message number `seq` by `speaker`."""

    seq: int
    entity: str
    text: str
    speaker: str


Mentions = Callable[[str, int], list[Mention]]  # of a name, in messages before one


def mentions(connection: Connection, namespace: str, name: str, before: int, without: Collection[int]) -> list[Mention]:
    """Find mentions of a name, with or without a role after it, in visible messages before message number `before`.

    Mentions are returned in message order; messages numbered in `without` are skipped.
    """
    key = name_key(name)
    found: set[Mention] = set()
    for column, written in ((_S.subject, _S.subject_name), (_S.object_key, _S.object)):
        named = or_(column == key, and_(column >= f"{key} (", column < f"{key} )"))
        query = (
            select(_S.episode_seq, written.label("entity"), episodes.c.text, _S.speaker)
            .join(episodes, episodes.c.seq == _S.episode_seq)
            .where(_S.namespace == namespace, named, _S.episode_seq < before)
            .where(~_S.withdrawn, ~_S.superseded, episodes.c.status == "active")
            .order_by(_S.episode_seq.desc(), func.length(written))
            .limit(_MOST)
        )
        rows = (Mention(*row) for row in connection.execute(query))
        found.update(one for one in rows if one.seq not in without and one.entity)
    return sorted(found)


def entities_of(connection: Connection, episode_seq: int, name: str) -> frozenset[str]:
    """Return the keys of the entities in a message's statements that have this name, with or without a role
    after it.
    """
    key = name_key(name)
    query = select(_S.subject, _S.object_key).where(_S.episode_seq == episode_seq, ~_S.superseded)
    found = {one for row in connection.execute(query) for one in row}
    return frozenset(one for one in found if one == key or one.startswith(f"{key} ("))
