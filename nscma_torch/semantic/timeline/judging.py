"""Decide the facts for a set of groups: by the rules for claims, by a model's operations, or by both.

A `Case` contains the groups' statements and turns them into claims; `judging_of` chooses the kind of case once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from sqlalchemy import Connection

from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import decisions, statements
from nscma_torch.semantic.store.decisions import NewDecision
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.claims import Rules
from nscma_torch.semantic.timeline.grouping import Group, closed, groups_of
from nscma_torch.semantic.timeline.implied_denials import partings
from nscma_torch.semantic.timeline.operations import Chosen, Operations, end, linked, operated_groups


@dataclass(frozen=True)
class Case:
    """The statements in some groups (`rows`), the statements in `beyond` that imply denials there, and the rules.

    `decided` contains the numbers of the statements that already have a decision.
    """

    rows: Sequence[StatementRow]
    beyond: Sequence[StatementRow]
    decided: Collection[int]
    schema: Schema
    rules: Rules

    @property
    def counting(self) -> Sequence[StatementRow]:
        """Return the statements that count."""
        return self.rows

    @property
    def waiting(self) -> frozenset[Key]:
        """Return the groups with statements that don't count until a model is asked about them."""
        return frozenset()

    @property
    def by_seq(self) -> dict[int, StatementRow]:
        """Return every statement that can become a claim, by row number."""
        return {row.seq: row for row in (*self.rows, *self.beyond)}

    def groups(self, keys: Collection[Key]) -> list[Group]:
        """Return these groups with their claims."""
        return self._ruled(self.counting, self.beyond, keys)

    def logged(self, decision: NewDecision) -> NewDecision:
        """Return the decision on a statement in the form in which it is logged."""
        return decision

    def _ruled(
        self, rows: Sequence[StatementRow], beyond: Sequence[StatementRow], keys: Collection[Key]
    ) -> list[Group]:
        parted = partings([*rows, *beyond], keys, self.schema)
        ordered = sorted([*rows, *parted], key=statements.said)
        return groups_of(ordered, self.schema, self.rules.correction_window, one_object=self.rules.one_object)


@dataclass(frozen=True)
class AdvisedCase(Case):
    """A case in which rules decide within each group, and a model's operations end facts in other groups
    (`curator.opposites`).
    """

    operations: Operations
    chosen: Mapping[int, Chosen]

    @cached_property
    def counting(self) -> Sequence[StatementRow]:
        return self._counting(self.rows)

    @property
    def waiting(self) -> frozenset[Key]:
        return frozenset(row.key for row in self.rows if self.operations.waits(row))

    @property
    def by_seq(self) -> dict[int, StatementRow]:
        return super().by_seq | self.operations.rows

    def groups(self, keys: Collection[Key]) -> list[Group]:
        found = self._before_endings(keys)
        end(found, self.operations.endings(), self.schema)
        return found

    def logged(self, decision: NewDecision) -> NewDecision:
        own = self._own(decision)
        if own.ends and decision.action == "NOOP":  # all that it does is to end facts of other groups
            return replace(decision, action="ARCHIVE", reason=own.reason, before=own.before)
        reason = f"{decision.reason}; {own.reason}" if own.ends or own.refused else decision.reason
        return replace(decision, reason=reason, before=own.before)

    def _counting(self, rows: Sequence[StatementRow]) -> list[StatementRow]:
        return [row for row in rows if not self.operations.waits(row)]

    def _before_endings(self, keys: Collection[Key]) -> list[Group]:
        return self._ruled(self.counting, self._counting(self.beyond), keys)

    def _own(self, decision: NewDecision) -> Chosen:
        """Return the operation chosen for the statement that a decision is about."""
        assert decision.statement_seq is not None
        return self.chosen[decision.statement_seq]


class OperatedCase(AdvisedCase):
    """A case in which a model's operations decide every conflict (`curator.rule`; mem0)."""

    def logged(self, decision: NewDecision) -> NewDecision:
        own = self._own(decision)
        return replace(decision, action=own.action, reason=own.reason, before=own.before)

    def _counting(self, rows: Sequence[StatementRow]) -> list[StatementRow]:
        return [row for row in super()._counting(rows) if not self.operations.of[row.seq].refused]

    def _before_endings(self, _keys: Collection[Key]) -> list[Group]:
        return operated_groups(self.counting, self.operations, self.schema)


class Judging(Protocol):
    """Builds cases for the groups in one namespace."""

    def tied(self, keys: Collection[Key]) -> set[Key]:
        """Return these groups, and the groups that are resolved with them."""

    def case(self, rows: Sequence[StatementRow], beyond: Sequence[StatementRow]) -> Case:
        """Build the case for the statements in some groups."""


@dataclass(frozen=True)
class _ByRules:
    connection: Connection
    schema: Schema
    rules: Rules

    def tied(self, keys: Collection[Key]) -> set[Key]:
        return closed(keys, self.schema)

    def case(self, rows: Sequence[StatementRow], beyond: Sequence[StatementRow]) -> Case:
        decided = decisions.decided(self.connection, {row.seq for row in rows})
        return Case(rows, beyond, decided, self.schema, self.rules)


@dataclass(frozen=True)
class _ByOperations:
    connection: Connection
    namespace: str
    schema: Schema
    rules: Rules
    chosen: Mapping[int, Chosen]
    kind: type[AdvisedCase]

    def tied(self, keys: Collection[Key]) -> set[Key]:
        own = closed(keys, self.schema)
        return closed(own | linked(self.connection, self.namespace, own, self.chosen), self.schema)

    def case(self, rows: Sequence[StatementRow], beyond: Sequence[StatementRow]) -> Case:
        decided = {row.seq for row in rows} - self.chosen.keys()
        operations = Operations(self.connection, self.namespace, [*rows, *beyond], self.chosen)
        return self.kind(rows, beyond, decided, self.schema, self.rules, operations, self.chosen)


def judging_of(
    connection: Connection, namespace: str, schema: Schema, rules: Rules, chosen: Mapping[int, Chosen]
) -> Judging:
    """Return the judging procedure for a namespace under these rules; `chosen` are operations that a model has just
    chosen.
    """
    if rules.asks_model:
        kind = OperatedCase if rules.by_model else AdvisedCase
        return _ByOperations(connection, namespace, schema, rules, chosen, kind)
    return _ByRules(connection, schema, rules)
