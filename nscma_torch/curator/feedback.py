"""Feedback on messages: a helpful message counts as recalled several times, and an unhelpful one loses importance."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.core.database.clock import to_micros
from nscma_torch.curator.promotion import importance
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes, history, recalls, streams

_RECALLS = 3  # how often a message that helped counts as recalled
_LESS = 0.5  # factor on the importance of one that did not


def take_feedback(
    connection: Connection, user_id: str, episode_id: str, *, helpful: bool, at: datetime, timed: bool = False
) -> None:
    """Record whether a message helped, both in its importance or recalls and in its history. Raises `NotFoundError` for
    an unknown id.

    At the next flush or sleep, a helpful message counts as recalled several times; with `timed`, it also counts as
    recalled now. The importance of an unhelpful message is halved.
    """
    seq, episode = episodes.require(connection, user_id, episode_id)
    reason = history.HELPFUL if helpful else history.NOT_HELPFUL
    history.note(connection, user_id=user_id, episode_seq=seq, event=history.FEEDBACK, at=to_micros(at), reason=reason)
    if helpful:
        times = {episode_id: to_micros(at)} if timed else {}
        recalls.note_recalls(connection, user_id, {episode_id: _RECALLS}, times)
    else:
        _weigh(connection, user_id, seq, episode.importance * _LESS)


def withdraw_feedback(
    connection: Connection, user_id: str, episode_id: str, *, helpful: bool, at: datetime, promotion: float
) -> None:
    """Withdraw earlier feedback, and record this in the message's history. Raises `NotFoundError` for an unknown id.

    The recalls it added are subtracted, as is the importance that they added (`promotion` is the share added per
    recall); a halved importance is doubled, up to 1. The time of the last recall is unchanged.
    """
    seq, episode = episodes.require(connection, user_id, episode_id)
    reason = history.WITHDRAWN[history.HELPFUL if helpful else history.NOT_HELPFUL]
    history.note(connection, user_id=user_id, episode_seq=seq, event=history.FEEDBACK, at=to_micros(at), reason=reason)
    if not helpful:
        _weigh(connection, user_id, seq, min(1.0, episode.importance / _LESS))
        return
    recalls.note_recalls(connection, user_id, {episode_id: -_RECALLS})
    left = max(0, episode.accesses + recalls.recalls_queued(connection, seq))
    promoted = round(episode.strength - 1.0)
    if promoted > left:
        episodes.set_columns(connection, seq, strength=1.0 + left)
        _weigh(connection, user_id, seq, importance(episode.importance, left - promoted, promotion))


def _weigh(connection: Connection, user_id: str, seq: int, weight: float) -> None:
    episodes.set_columns(connection, seq, importance=weight)
    units.set_importance(connection, units.seqs_of_episode(connection, seq), weight)
    streams.touch_user(connection, user_id)
