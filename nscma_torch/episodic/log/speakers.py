"""Resolve "you" in messages and "I" in questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from nscma_torch.core.database.schema import episodes
from nscma_torch.text.names import name_key
from nscma_torch.text.pronouns import FIRST_PERSON, SECOND_PERSON

_ANYBODY = FIRST_PERSON | SECOND_PERSON | {"user", "default", "assistant", "system"}
_TO_WHOM = {"user": "assistant", "assistant": "user"}  # for those without names, before anybody answered


def listener_of(connection: Connection, episode_seq: int) -> str:
    """Return the name that "you" means in an episode: the last other speaker before it. If there is none, return the
    other role, or "" if the episode's speaker has a name.
    """
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


def addressed_to(connection: Connection, seqs: Collection[int]) -> list[int]:
    """Return the row numbers of the episodes in which "you" means the speaker of one of these: see `listener_of`."""
    speaker = func.coalesce(episodes.c.name, episodes.c.role).label("speaker")
    columns = (episodes.c.seq, episodes.c.stream_id, episodes.c.position, episodes.c.role, speaker)
    found: set[int] = set()
    named = (episodes.c.seq.in_(list(seqs)), episodes.c.name.is_not(None), episodes.c.role.in_(_TO_WHOM))
    for own in connection.execute(select(*columns).where(*named)).all():
        later = select(*columns).where(episodes.c.stream_id == own.stream_id, episodes.c.position > own.position)
        between: set[str] = set()
        for row in connection.execute(later.order_by(episodes.c.position)):
            if row.speaker != own.speaker and between <= {row.speaker}:
                found.add(row.seq)
            if row.role in _TO_WHOM:
                between.add(row.speaker)
            if own.speaker in between or len(between) > 1:
                break
    return sorted(found - set(seqs))


class Asker(NamedTuple):
    """The user of a memory, who asks it questions. The memory is theirs; other people can speak in it under names.

    `name` is the entity that "I" means: "user" for messages without a name, or the name shared by all of the user's own
    messages. `named` is the user's name as given in messages, or "" if unknown. `by_id` is the user's id if it is a
    word; it is used as a name only if nothing else names the user and no other speaker has that name.
    """

    name: str
    named: str
    by_id: str


def asker_of(connection: Connection, user_id: str) -> Asker:
    """Return the person who asks a user's questions, whom "I" means."""
    query = select(episodes.c.name).distinct().where(episodes.c.user_id == user_id, episodes.c.role == "user")
    return asker_among(connection.execute(query).scalars(), user_id)


def asker_among(names: Iterable[str | None], user_id: str) -> Asker:
    """Find the asker among the names used with the role "user"; None or "" stands for no name.

    A name is the user's own if all messages have it, or if it equals the user's id. If some messages have no name, any
    other name belongs to another speaker; only a fact ("my name is Ana") can state that it is the user's.
    """
    spoken = set(names)
    unnamed = not spoken.isdisjoint({None, ""})
    by_key = {name_key(name): name for name in sorted(filter(None, spoken), reverse=True)}
    word = word_of_id(user_id)
    own = by_key.get(name_key(word), "") if word else ""
    if not own and not unnamed and len(by_key) == 1:
        (own,) = by_key.values()
    return Asker("user" if unnamed or not own else own, own, "" if own else word)


def word_of_id(user_id: str) -> str:
    """Return a user's id if it can serve as a name ("ana"), or "" if it can't ("user-17", or a generic word)."""
    return user_id if user_id.isalpha() and user_id.casefold() not in _ANYBODY else ""
