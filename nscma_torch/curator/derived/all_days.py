"""Derive lines that cover all days from each day's lines: a global summary, or a portrait of each person.

MemoryBank, according to the notes, derives a global summary from the daily summaries, and a global portrait of the user
from the daily insights. Both are rewritten whenever the daily lines change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.core.records import DerivedKind
from nscma_torch.curator.derived.deriver import DuePart
from nscma_torch.curator.derived.sourced_texts import Groups, LineTask, first_of_each_wording, written
from nscma_torch.curator.store import derived_texts
from nscma_torch.curator.store.derived_sources import Source, texts
from nscma_torch.curator.store.derived_texts import NewText, Part
from nscma_torch.episodic.log.streams import derive_id


@dataclass(frozen=True, slots=True)
class AllDaysDeriver:
    """Derives texts of one kind from the daily texts of all days.

    Args:
        of: the kind derived daily; if its parts are named after persons, each person has a part here.
        task: writes lines for groups of daily texts, oldest first.
    """

    kind: DerivedKind
    of: DerivedKind
    task: LineTask
    in_turn = False

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[DuePart]:  # noqa: ARG002
        """Return one part for all days, or one for each person, if the daily lines changed since the last run."""
        found: dict[str, list[Source]] = {}
        for source in texts(connection, namespace, self.of):
            found.setdefault(source.part.partition(":")[2], []).append(source)
        runs = derived_texts.runs(connection, namespace, self.kind)
        due = []
        for part in sorted(found):
            lines = found[part]
            basis = derive_id(self.kind, *(text for line in lines for text in (line.unit.id, line.unit.text)))
            last = runs.get(part)
            if last is None or last.basis != basis:
                due.append(DuePart(Part(namespace, self.kind, part), basis, lambda _, lines=lines: [lines]))  # type: ignore[misc]
        return due

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write the lines that cover all days."""
        return [first_of_each_wording(own) for own in written(self.task, parts)]
