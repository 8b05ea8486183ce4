"""Find the messages that `retention.days` no longer allows to be stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, func, or_, select

from nscma_torch.core.config import DELETED
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.schema import episodes, history

_E, _H = episodes.c, history.c


def due(connection: Connection, user_id: str, days: Mapping[str, int], now: datetime) -> list[str]:
    """Return the ids of the user's messages to erase, oldest first.

    Args:
        days: by role, the days after which a message is erased since it was stored; for "deleted", since it was
            hidden by `delete`, a request, or a new version of its file.
    """
    before = {kind: to_micros(now - timedelta(days=count)) for kind, count in days.items()}
    old = [and_(_E.role == role, _E.recorded_at < at) for role, at in before.items() if role != DELETED]
    if DELETED in before:
        hidden = (
            select(func.max(_H.at)).where(_H.episode_seq == _E.seq, _H.event == "DELETE").correlate(episodes)
        ).scalar_subquery()
        old.append(and_(_E.status == "deleted", hidden < before[DELETED]))
    query = select(_E.id).where(_E.user_id == user_id, or_(*old)).order_by(_E.seq)
    return list(connection.execute(query).scalars()) if old else []
