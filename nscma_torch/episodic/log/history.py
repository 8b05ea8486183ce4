"""The log of changes to each message after it was added."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, ScalarSelect, func, select

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import next_seq
from nscma_torch.core.database.schema import episodes, history
from nscma_torch.core.records import HistoryEvent
from nscma_torch.episodic.index.unit_schema import unit_sources, units

RECALL = "RECALL"
FEEDBACK = "FEEDBACK"
HELPFUL, NOT_HELPFUL = "helpful", "not helpful"  # reasons of feedback
WITHDRAWN = {HELPFUL: "helpful, withdrawn", NOT_HELPFUL: "not helpful, withdrawn"}


def note(
    connection: Connection,
    *,
    user_id: str,
    episode_seq: int,
    event: str,
    at: int,
    old_text: str | None = None,
    new_text: str | None = None,
    reason: str | None = None,
) -> None:
    """Record one change, in the same transaction as the change."""
    connection.execute(
        history.insert().values(
            seq=next_seq(connection, "history"),
            user_id=user_id,
            episode_seq=episode_seq,
            event=event,
            at=at,
            old_text=old_text,
            new_text=new_text,
            reason=reason,
        )
    )


def note_recalls(connection: Connection, user_id: str, recalled: Mapping[int, int]) -> None:
    """Record the time of the last recall (microseconds) for messages by row number, replacing an earlier one."""
    for episode_seq, at in sorted(recalled.items()):
        own = (history.c.episode_seq == episode_seq, history.c.event == RECALL)
        before = connection.execute(select(history.c.at).where(*own)).scalar()
        if before is not None and before >= at:
            continue
        connection.execute(history.delete().where(*own))
        note(connection, user_id=user_id, episode_seq=episode_seq, event=RECALL, at=at)


def last_recalls(connection: Connection, user_id: str) -> dict[str, datetime]:
    """Return the time of the last recorded recall for each message, by id."""
    query = select(episodes.c.id, history.c.at).join(episodes, episodes.c.seq == history.c.episode_seq)
    query = query.where(history.c.user_id == user_id, history.c.event == RECALL)
    return {row.id: from_micros(row.at) for row in connection.execute(query)}


def last_updates(connection: Connection, user_id: str) -> dict[str, datetime]:
    """Return the time of the last update for each message that was updated, by id."""
    query = select(episodes.c.id, func.max(history.c.at).label("at"))
    query = query.join(episodes, episodes.c.seq == history.c.episode_seq).group_by(episodes.c.id)
    rows = connection.execute(query.where(history.c.user_id == user_id, history.c.event == "UPDATE"))
    return {row.id: from_micros(row.at) for row in rows}


def last_recall_of_unit() -> ScalarSelect[int]:
    """Build the column with the last recall (microseconds) of the message that a row in `units` comes from, or NULL."""
    told = unit_sources.join(history, history.c.episode_seq == unit_sources.c.episode_seq)
    last = select(func.max(history.c.at)).select_from(told)
    return last.where(unit_sources.c.unit_seq == units.c.seq, history.c.event == RECALL).scalar_subquery()


def unit_recalls_after(connection: Connection, user_id: str, seq: int) -> tuple[dict[int, int], int]:
    """Return a user's recalls recorded after log entry `seq`, and the number of the last entry.

    The recalls are times in microseconds, by row number, for each unit that comes from a single message.
    """
    told = history.join(unit_sources, unit_sources.c.episode_seq == history.c.episode_seq)
    query = select(unit_sources.c.unit_seq, history.c.at).select_from(told)
    query = query.where(history.c.seq > seq, history.c.user_id == user_id, history.c.event == RECALL)
    found = {row.unit_seq: row.at for row in connection.execute(query)}
    return found, connection.execute(select(func.max(history.c.seq))).scalar() or 0


def of_episode(connection: Connection, user_id: str, episode_id: str) -> list[HistoryEvent]:
    """Return all events for the user's episode, oldest first, starting with its ADD; empty for an unknown episode."""
    query = select(episodes.c.seq, episodes.c.text, episodes.c.recorded_at).where(
        episodes.c.user_id == user_id, episodes.c.id == episode_id
    )
    episode = connection.execute(query).first()
    if episode is None:
        return []
    rows = connection.execute(select(history).where(history.c.episode_seq == episode.seq).order_by(history.c.seq)).all()
    first_text = next((row.old_text for row in rows if row.event == "UPDATE"), episode.text)
    return [
        HistoryEvent(episode_id, "ADD", from_micros(episode.recorded_at), new_text=first_text),
        *(HistoryEvent(episode_id, r.event, from_micros(r.at), r.old_text, r.new_text, r.reason) for r in rows),
    ]
