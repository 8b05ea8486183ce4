"""Find what rests on a message: it goes if the message is erased, or stays because others say it too."""

from __future__ import annotations

from sqlalchemy import Connection

from nscma_torch.core.records import Scope
from nscma_torch.curator.store import derived_texts
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes, turns
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.semantic.store import fact_pages
from nscma_torch.server.view.schemas import RestingOut


def resting(connection: Connection, user_id: str, message_id: str) -> RestingOut:
    """Return what rests on a user's message. Raises `NotFoundError` for an unknown id."""
    episodes.require(connection, user_id, message_id)
    replies = turns.quoting(connection, user_id, [message_id])
    going = {message_id, *replies}
    facts = fact_pages.of_messages(connection, Scope(user_id), going)
    seqs = episodes.seqs_of(connection, user_id, going)
    own = [unit for seq in seqs for unit in units.seqs_of_episode(connection, seq)]
    written = sum(len(derived_texts.resting_texts(connection, seq)) for seq in seqs)
    return RestingOut(
        gone=[fact for fact in facts if going.issuperset(fact.episode_ids)],
        kept=[fact for fact in facts if not going.issuperset(fact.episode_ids)],
        replies=replies,
        texts=written + len(hierarchies.above(connection, own)),
    )
