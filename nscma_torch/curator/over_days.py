"""Derive texts from daily ones: a summary of all days, or a portrait of each person.

MemoryBank (by notes): a global summary of the daily ones, and a global portrait of the user from the daily insights.
Both are rewritten whenever the daily lines change.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.core.records import DerivedKind
from nscma_torch.curator.derivation import Due, Groups
from nscma_torch.curator.sourced_texts import LineTask, first_of_each_wording, written
from nscma_torch.curator.store import derived_texts
from nscma_torch.curator.store.derived_sources import Source, texts
from nscma_torch.curator.store.derived_texts import NewText, Part
from nscma_torch.episodic.log.streams import derive_id


class OverDays:
    """Derives texts of one kind from those of all days.

    Args:
        of: the kind that `EachDay` derives; if its parts are named by person, each person has a part here.
        task: writes the lines of groups of these, oldest first.
    """

    in_turn = False

    def __init__(self, kind: DerivedKind, of: DerivedKind, task: LineTask) -> None:
        self._kind = kind
        self._of = of
        self._task = task

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:  # noqa: ARG002
        """Return a part for all days, or for each person, whose daily lines changed since the last time."""
        found: dict[str, list[Source]] = {}
        for source in texts(connection, namespace, self._of):
            found.setdefault(source.part.partition(":")[2], []).append(source)
        runs = derived_texts.runs(connection, namespace, self._kind)
        due = []
        for part in sorted(found):
            lines = found[part]
            basis = derive_id(self._kind, *(text for line in lines for text in (line.unit.id, line.unit.text)))
            last = runs.get(part)
            if last is None or last.basis != basis:
                due.append(Due(Part(namespace, self._kind, part), basis, lambda _, lines=lines: [lines]))  # type: ignore[misc]
        return due

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write the lines over all days."""
        return [first_of_each_wording(own) for own in written(self._task, parts)]
