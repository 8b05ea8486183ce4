"""Resolves "you" in a message and "I" in a question."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, func, select

from nscma_torch.reading.pronouns import FIRST_PERSON, SECOND_PERSON
from nscma_torch.storage.schema import episodes

_ANYBODY = FIRST_PERSON | SECOND_PERSON | {"user", "default", "assistant", "system"}
_TO_WHOM = {"user": "assistant", "assistant": "user"}  # for those without names, before anybody answered


def listener_of(connection: Connection, episode_seq: int) -> str:
    """The name that an episode's "you" means: the last other speaker, else the other role; "" if it has a name."""
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


class Asker(NamedTuple):
    """The user of a memory, who asks it.

    `name` is that of the entity that "I" means: the one that all of the user's own messages carry, or "user". `named`
    is the only name that any of them carries, "" for none or several. `by_id` is the user's id, where it is a word: a
    name only if nothing else names the user, and nobody else is known by it.
    """

    name: str
    named: str
    by_id: str


def asker_of(connection: Connection, user_id: str) -> Asker:
    """The asker of a user's questions, whom "I" means."""
    query = select(episodes.c.name).distinct().where(episodes.c.user_id == user_id, episodes.c.role == "user").limit(3)
    names = list(connection.execute(query).scalars())
    some = [str(name) for name in names if name]
    named = some[0] if len(some) == 1 and len(names) < 3 else ""
    return Asker(named if len(names) == 1 and named else "user", named, "" if some else word_of_id(user_id))


def word_of_id(user_id: str) -> str:
    """A user's id as a name, "" where it is no word: "ana", but not "user-17", nor a word for anybody."""
    return user_id if user_id.isalpha() and user_id.casefold() not in _ANYBODY else ""
