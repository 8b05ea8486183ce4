"""Derives texts from messages at sleep: what is due is read, put to the language tasks, and stored with its sources.

No transaction is open while the tasks work. Where a message was changed, hidden or erased meanwhile, what they wrote is
dropped, and the next sleep derives it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlalchemy import Connection

from nscma_torch.errors import EngineUnavailableError, JobError, NscmaError, StoreBusyError
from nscma_torch.hierarchy.summaries import UnitMaker
from nscma_torch.records import Scope, SourcedLine, Unit
from nscma_torch.storage import derived_texts, fingerprint, namespaces, streams
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.database import Database
from nscma_torch.storage.derived_texts import NewText, Part


@dataclass(frozen=True, slots=True)
class Due:
    """A part that is to be derived: the messages of each group, as units, and the hash of them all.

    A message's unit has the message's id; `rows` are the row numbers by id.
    """

    part: Part
    basis: str
    groups: tuple[tuple[Unit, ...], ...]
    rows: Mapping[str, int]


class Deriver(Protocol):
    """Derives one kind of text; its file says how."""

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[Due]:
        """The parts of a namespace whose time has come."""

    def write(self, groups: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
        """The lines of each group, by the language tasks."""

    def chosen(self, lines: Sequence[NewText]) -> Sequence[NewText]:
        """Those of the lines of a part that are kept, in their order."""


class Derivations:
    """All kinds that the configuration switches on.

    Args:
        units: makes the units by which texts are found.
    """

    def __init__(self, database: Database, units: Callable[[], UnitMaker], derivers: Sequence[Deriver]) -> None:
        self._database = database
        self._units = units
        self._derivers = derivers

    def count_due(self, connection: Connection, user_id: str, now: datetime) -> int:
        """How many parts are due."""
        own = namespaces.of_user(connection, user_id) if self._derivers else ()
        return sum(len(deriver.due(connection, namespace, now)) for deriver in self._derivers for namespace in own)

    def run(self, user_id: str, now: datetime) -> tuple[int, list[str]]:
        """Derive what is due of a user: how many texts were written, changed or dropped, and what failed."""
        changed = 0
        failures: list[str] = []
        if not self._derivers:
            return changed, failures
        with self._database.write() as connection:
            own = namespaces.of_user(connection, user_id)
        for deriver in self._derivers:
            for namespace in own:
                try:
                    changed += self._derive(deriver, namespace, user_id, now)
                except NscmaError as error:
                    failures.append(f"{type(error).__name__}: {error}")
                    if isinstance(error, EngineUnavailableError):  # the others would wait as long, for nothing
                        return changed, failures
        return changed, failures

    def _derive(self, deriver: Deriver, namespace: str, user_id: str, now: datetime) -> int:
        """Derive one kind of one namespace. Raises what the tasks raise; the store is then as it was."""
        with self._database.read() as connection:
            scope = namespaces.owner(connection, namespace)
            due = list(deriver.due(connection, namespace, now))
            epoch = streams.version(connection, user_id)[1]
        groups = [group for one in due for group in one.groups]
        written = deriver.write(groups) if groups else []
        if len(written) != len(groups):
            raise JobError(
                f"{len(groups)} groups of messages were put to the language tasks, which answered {len(written)}"
            )
        answers = iter(written)
        changed = 0
        for one in due:
            lines = [_new(line, group, one.rows) for group in one.groups for line in next(answers)]
            changed += self._store(one, list(deriver.chosen(lines)), scope, epoch, now)
        return changed

    def _store(self, due: Due, texts: list[NewText], scope: Scope, epoch: int, now: datetime) -> int:
        origins = [derived_texts.origin(due.part, scope, number, text) for number, text in enumerate(texts)]
        maker = self._units()
        made = maker.units(due.part.kind, [text.text for text in texts], origins) if texts else []
        with self._database.write() as connection:
            if streams.version(connection, scope.user_id)[1] != epoch:
                raise StoreBusyError("messages were changed while texts were derived from them; sleep again")
            if texts:
                fingerprint.bind(connection, maker.fingerprint)
            changed = derived_texts.replace(connection, due.part, texts, made, basis=due.basis, at=to_micros(now))
            if changed:
                streams.touch_user(connection, scope.user_id)
        return changed


def _new(line: SourcedLine, group: Sequence[Unit], rows: Mapping[str, int]) -> NewText:
    """The line as it is stored. Raises `JobError` for one without text, source or confidence."""
    places = sorted(set(line.sources))
    if not (line.text.strip() and places and places[0] >= 0 and places[-1] < len(group) and 0 < line.confidence <= 1):
        raise JobError(
            f"the language tasks wrote a line without a text, a source among the {len(group)} messages, or a "
            f"confidence in (0, 1]: {line!r}"
        )
    cited = [group[place] for place in places]
    times = [to_micros(unit.occurred_at) for unit in cited]
    seen = frozenset(rows[unit.id] for unit in group)
    return NewText(
        line.text.strip(), line.confidence, frozenset(rows[unit.id] for unit in cited), seen, min(times), max(times)
    )
