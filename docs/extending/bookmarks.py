# nscma_torch/features/bookmarks/bookmarks.py
"""Bookmarks: messages that a user marked."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, ForeignKey, Table, delete, select

from nscma_torch.core.database.dialects import Text
from nscma_torch.core.database.schema import metadata
from nscma_torch.episodic.log import episodes

bookmarks = Table(
    "bookmarks",
    metadata,
    Column("episode_seq", BigInteger, ForeignKey("episodes.seq"), primary_key=True, autoincrement=False),
    Column("user_id", Text, nullable=False, index=True),
    sqlite_with_rowid=False,
)
_B = bookmarks.c


def add(connection: Connection, user_id: str, message_id: str) -> None:
    """Mark a message. Raises `NotFoundError` for an unknown id."""
    seq, _ = episodes.require(connection, user_id, message_id)
    connection.execute(bookmarks.insert().values(episode_seq=seq, user_id=user_id))


def marked(connection: Connection, user_id: str) -> list[int]:
    """Return the row numbers of a user's marked messages."""
    return list(connection.execute(select(_B.episode_seq).where(_B.user_id == user_id)).scalars())


def remove(connection: Connection, episode_seq: int) -> int:
    """Delete the mark of a message; return how many there were."""
    return connection.execute(delete(bookmarks).where(_B.episode_seq == episode_seq)).rowcount
