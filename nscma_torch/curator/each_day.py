"""Derive texts from each day's messages: a summary, or insights into each person.

MemoryBank (by notes): a summary of each day's conversation, and daily insights into the user's personality. Ours: a day
is a UTC day; it is processed once it is over, and again whenever its messages change.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.records import DerivedKind
from nscma_torch.curator.derivation import Due, Groups, of_messages
from nscma_torch.curator.people import person_key
from nscma_torch.curator.sourced_texts import LineTask, first_of_each_wording, written
from nscma_torch.curator.store.derived_sources import Heard, heard
from nscma_torch.curator.store.derived_texts import NewText


class EachDay:
    """Derives daily texts of one kind.

    Args:
        task: writes the lines of days.
        roles: the roles whose messages count.
        apart: process each person's messages separately, in parts named by day and person.
    """

    in_turn = False

    def __init__(self, kind: DerivedKind, task: LineTask, *, roles: Sequence[str], apart: bool = False) -> None:
        self._kind = kind
        self._task = task
        self._roles = roles
        self._apart = apart

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:
        """Return a part for each completed day, or person and day, that is new or changed."""
        days: dict[str, list[Heard]] = {}
        for one in heard(connection, namespace, now, roles=self._roles):
            day = from_micros(one.at).date()
            if day < now.date() and not one.echo:
                part = f"{day.isoformat()}:{person_key(one.name)}" if self._apart else day.isoformat()
                days.setdefault(part, []).append(one)
        return of_messages(connection, namespace, self._kind, dict(sorted(days.items())))

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write the lines of each day."""
        return [first_of_each_wording(texts) for texts in written(self._task, parts)]
