"""Who speaks to whom."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from nscma_torch.storage.schema import episodes

_TO_WHOM = {"user": "assistant", "assistant": "user"}  # for those without names, before anybody answered


def listener_of(connection: Connection, episode_seq: int) -> str:
    """Whom an episode's "you" means: who spoke last before it, but for its own speaker; "" where nobody can tell."""
    own = connection.execute(
        select(episodes.c.stream_id, episodes.c.position, episodes.c.role, episodes.c.name).where(
            episodes.c.seq == episode_seq
        )
    ).one()
    speaker = func.coalesce(episodes.c.name, episodes.c.role)
    query = (
        select(speaker)
        .where(
            episodes.c.stream_id == own.stream_id,
            episodes.c.position < own.position,
            speaker != (own.name or own.role),
            episodes.c.role.in_(_TO_WHOM),
        )
        .order_by(episodes.c.position.desc())
        .limit(1)
    )
    found = connection.execute(query).scalar()
    return str(found) if found is not None else "" if own.name else _TO_WHOM.get(own.role, "")


def name_of_user(connection: Connection, user_id: str) -> str:
    """The name that all of a user's own messages carry, or "user"."""
    query = select(episodes.c.name).distinct().where(episodes.c.user_id == user_id, episodes.c.role == "user").limit(2)
    names = list(connection.execute(query).scalars())
    return str(names[0]) if len(names) == 1 and names[0] else "user"
