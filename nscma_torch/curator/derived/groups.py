"""Group the messages that texts are derived from, by day, person or session. Group keys contain no names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from sqlalchemy import Connection

from nscma_torch.core.database.clock import from_micros
from nscma_torch.curator.store.derived_sources import Heard, heard
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.text.names import name_key


def by_day(
    connection: Connection, namespace: str, now: datetime, *, roles: Sequence[str], apart: bool = False
) -> dict[str, list[Heard]]:
    """Return the messages from each completed UTC day; with `apart`, separately for each person."""
    days: dict[str, list[Heard]] = {}
    for one in heard(connection, namespace, now, roles=roles):
        day = day_of(one)
        if day < now.date() and not one.echo:
            part = f"{day.isoformat()}:{_person_key(one.name)}" if apart else day.isoformat()
            days.setdefault(part, []).append(one)
    return dict(sorted(days.items()))


def by_person(said: Sequence[Heard]) -> dict[str, list[Heard]]:
    """Return each person's messages, by key, in order of arrival."""
    found: dict[str, list[Heard]] = {}
    for one in said:
        found.setdefault(_person_key(one.name), []).append(one)
    return found


def sitting_key(stream_id: str, session: str | None, day: date) -> str:
    """Return a sitting's key; a sitting is a session, or a day of a conversation without sessions."""
    return derive_id("sitting", stream_id, session or day)


def day_of(message: Heard) -> date:
    """Return a message's UTC day."""
    return from_micros(message.at).date()


def _person_key(name: str | None) -> str:
    """Return a person's key; all messages without a name share one key."""
    return derive_id("speaker", name_key(name or ""))
