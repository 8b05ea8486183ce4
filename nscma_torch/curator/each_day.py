"""Derives from the messages of each day: its summary, or what it shows of each person.

MemoryBank (by notes): a summary of each day's conversation, and daily insights into the user's personality. Ours: a day
is one of UTC, it is read once it is over, and again whenever its messages are others than those that were read.
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
    """Derives texts of one kind.

    Args:
        task: writes the lines of days.
        roles: whose messages count.
        apart: whether the messages of each person are taken by themselves; parts are then named by day and person.
    """

    in_turn = False

    def __init__(self, kind: DerivedKind, task: LineTask, *, roles: Sequence[str], apart: bool = False) -> None:
        self._kind = kind
        self._task = task
        self._roles = roles
        self._apart = apart

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:
        """A part for each day, or person and day, that is over and not read as it is."""
        days: dict[str, list[Heard]] = {}
        for one in heard(connection, namespace, now, roles=self._roles):
            day = from_micros(one.at).date()
            if day < now.date() and not one.echo:
                part = f"{day.isoformat()}:{person_key(one.name)}" if self._apart else day.isoformat()
                days.setdefault(part, []).append(one)
        return of_messages(connection, namespace, self._kind, dict(sorted(days.items())))

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """The lines of each day."""
        return [first_of_each_wording(texts) for texts in written(self._task, parts)]
