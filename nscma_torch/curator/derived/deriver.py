"""Interface for a kind of derived text, and the inputs that its file gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection

from nscma_torch.core.config import Config
from nscma_torch.core.database.database import Database
from nscma_torch.core.derived_kinds import DERIVED_KINDS
from nscma_torch.core.protocols import Embedder, LineTasks, ReadBack, required
from nscma_torch.core.records import DerivedKind, Scope, Unit, UnitKind
from nscma_torch.curator.derived.sourced_texts import Groups, LineTask, first_of_each_wording, written
from nscma_torch.curator.store import derived_sources, derived_texts
from nscma_torch.curator.store.derived_sources import Heard, basis_of
from nscma_torch.curator.store.derived_texts import NewText, Part
from nscma_torch.semantic.store import namespaces

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class DuePart:
    """A part to derive, the hash of its sources, and a function that reads them."""

    part: Part
    basis: str
    read: Callable[[Connection], Groups]


class Deriver(Protocol):
    """Derives one kind of text."""

    @property
    def in_turn(self) -> bool:
        """Return True if a part depends on texts from earlier parts, so that parts must be derived one after
        another.
        """

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[DuePart]:
        """Return the parts due in a namespace, in order."""

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write each part's texts with the language tasks. No transaction is open."""


@dataclass(frozen=True, slots=True)
class DeriverContext:
    """Arguments for every kind's `deriver`.

    Args:
        tasks: the language tasks.
        rate: rates the importance of units from 1 to 10; None to use the importance of their sources.
        search: returns the ids of the best units for a question, best first; limited by kind, scope, time and number.
        read_back: creates a function that asks the memory a question.
    """

    config: Config
    database: Database
    tasks: object
    device: Callable[[], torch.device]
    embedder: Callable[[], Embedder]
    rate: Callable[[Sequence[Unit]], list[int]] | None
    search: Callable[[str, Scope, datetime, tuple[UnitKind, ...], int], list[str]]
    read_back: Callable[[], ReadBack]

    def tasks_with(self, protocol: type, kind: DerivedKind) -> Any:
        """Return the language tasks. Raises `ConfigError` if they don't implement the protocol that a kind needs."""
        return required(self.tasks, protocol, DERIVED_KINDS[kind])

    def line_task(self, kind: DerivedKind, words: int | None = None) -> LineTask:
        """Return the task that writes lines for a kind, in about `words` words."""
        tasks: LineTasks = self.tasks_with(LineTasks, kind)
        return partial(tasks.lines, kind, words=words)


@dataclass(frozen=True, slots=True)
class MessageDeriver:
    """Derives lines from each group of messages.

    Args:
        groups: returns groups of messages by part name, given a connection, a namespace and the time.
    """

    kind: DerivedKind
    groups: Callable[[Connection, str, datetime], Mapping[str, Sequence[Heard]]]
    task: LineTask
    in_turn = False

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[DuePart]:
        """Return a part for each group of messages that changed since the last run."""
        return of_messages(connection, namespace, self.kind, self.groups(connection, namespace, now))

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write the lines for each group."""
        return [first_of_each_wording(texts) for texts in written(self.task, parts)]


def of_messages(
    connection: Connection, namespace: str, kind: DerivedKind, groups: Mapping[str, Sequence[Heard]]
) -> list[DuePart]:
    """Return a due part for each group of messages that is new or changed, by name."""
    runs = derived_texts.runs(connection, namespace, kind)
    due = []
    for name, said in groups.items():
        basis, last = basis_of(said), runs.get(name)
        if last is None or last.basis != basis:
            due.append(DuePart(Part(namespace, kind, name), basis, partial(_messages, namespace, said)))
    return due


def _messages(namespace: str, said: Sequence[Heard], connection: Connection) -> Groups:
    user_id = namespaces.owner(connection, namespace).user_id
    return [derived_sources.messages(connection, user_id, [one.seq for one in said])]
