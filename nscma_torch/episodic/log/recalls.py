"""Queue the recalls of messages that searches found, with their times if recorded."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from nscma_torch.core.database import dialects
from nscma_torch.core.database.database import pages
from nscma_torch.core.database.schema import episodes, recalls
from nscma_torch.episodic.log import history


def note_recalls(
    connection: Connection, user_id: str, counts: Mapping[str, int], times: Mapping[str, int] | None = None
) -> None:
    """Queue recalls by episode id for the next count, negative ones to subtract; unknown ids are skipped.

    `times`: each one's last recall (microseconds), if recorded.
    """
    insert = dialects.insert(connection, recalls)
    more = {"count": recalls.c.count + insert.excluded.count}
    for some in pages(sorted(counts)):
        query = select(episodes.c.seq, episodes.c.id).where(episodes.c.user_id == user_id, episodes.c.id.in_(some))
        found = connection.execute(query.order_by(episodes.c.seq)).all()
        rows = [{"episode_seq": seq, "user_id": user_id, "count": counts[id]} for seq, id in found]
        history.note_recalls(connection, user_id, {seq: times[id] for seq, id in found if times and id in times})
        if rows:
            connection.execute(insert.on_conflict_do_update(index_elements=[recalls.c.episode_seq], set_=more), rows)
