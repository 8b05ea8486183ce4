"""Apply a model's operations on statements (mem0: ADD, UPDATE, DELETE, NOOP) to facts, using logged decisions.

UPDATE and DELETE end the facts that they name, as of the time the statement applies: UPDATE because the new fact
replaces them, DELETE because the statement contradicts them. Nothing is deleted: ended facts are archived, and undoing
the decision restores them. A fact is identified by its supporting statements, because their ids are the same in every
store with the same input. If the named fact is newer, although it was read first, the new statement's fact ends
instead.

For a note (a whole sentence, mem0's memory) UPDATE can supply a merged text, and DELETE stores nothing new;
`semantic.store.fact_units` describes what search then finds.

With `rule = "model"` each pair of relation and object is a separate group (`operated_groups`), which only an operation
can end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from nscma_torch.core.records import Action
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import decisions, statements
from nscma_torch.semantic.store.decisions import MERGED_TEXT, NAMED_FACTS, OPERATION, REFUSED, STORES, DecisionRow
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.grouping import Group, begin_of, claim_of, object_of

_JUDGE = "judge"  # key of `before`: the judge that chose
_ENDING = ("UPDATE", "DELETE")
_LOGGED: Mapping[str, Action] = {"ADD": "ADD", "UPDATE": "UPDATE", "DELETE": "ARCHIVE", "NOOP": "NOOP", REFUSED: "NOOP"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """An operation on a statement; `named` contains the ids of the supporting statements for each fact that it names.

    `name` is an `Operation`, or `REFUSED` with the reason. `stores` is True if the statement itself is kept, and None
    if the operation doesn't decide that. `text` is the merged text of an UPDATE.
    """

    name: str
    named: tuple[tuple[str, ...], ...] = ()
    judge: str = ""
    reason: str = ""
    stores: bool | None = None
    text: str = ""

    @classmethod
    def of(cls, decision: DecisionRow) -> Chosen:
        """Return the operation that a decision records."""
        before = decision.before
        named = tuple(tuple(ids) for ids in before.get(NAMED_FACTS, ()))
        stores, text = before.get(STORES), before.get(MERGED_TEXT, "")
        return cls(before[OPERATION], named, before[_JUDGE], decision.record.reason, stores, text)

    @property
    def before(self) -> dict[str, object]:
        """Return the operation in the form stored in its decision."""
        named = {NAMED_FACTS: [list(ids) for ids in self.named]} if self.named else {}
        stores = {} if self.stores is None else {STORES: self.stores}
        text = {MERGED_TEXT: self.text} if self.text else {}
        return {OPERATION: self.name, _JUDGE: self.judge, **named, **stores, **text}

    @property
    def action(self) -> Action:
        """Return the action logged for this operation."""
        return _LOGGED[self.name]

    @property
    def refused(self) -> bool:
        """Return True if the model's choice was unusable."""
        return self.name == REFUSED

    @property
    def ends(self) -> bool:
        """Return True if the operation ends the facts that it names."""
        return self.name in _ENDING


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a statement's validity from `time` (microseconds) on, caused by another statement."""

    ended: StatementRow
    by: StatementRow
    time: int


class Operations:
    """The operations on some groups: stored ones, and those just chosen (`new`, by statement)."""

    def __init__(
        self, connection: Connection, namespace: str, rows: Sequence[StatementRow], new: Mapping[int, Chosen]
    ) -> None:
        stored = decisions.operations(connection, [row.seq for row in rows])
        self.of: dict[int, Chosen] = {**{seq: Chosen.of(row) for seq, row in stored.items()}, **new}
        found = _naming(connection, namespace, new)
        wanted = {one for chosen in found.values() for ids in chosen.named for one in ids}
        numbers = statements.seqs_of(connection, namespace, wanted)
        own = {row.seq for row in rows}
        near = {
            seq: chosen
            for seq, chosen in found.items()
            if seq in own or any(numbers.get(one) in own for ids in chosen.named for one in ids)
        }
        named = {one for chosen in near.values() for ids in chosen.named for one in ids}
        self.by_id = {row.id: row for row in statements.by_ids(connection, namespace, named)}
        self.by_seq = {row.seq: row for row in statements.by_seqs(connection, namespace, near)}
        self._near = near

    @property
    def rows(self) -> dict[int, StatementRow]:
        """Return, by row number, the statements that these operations were chosen for or that they name."""
        return {row.seq: row for row in (*self.by_id.values(), *self.by_seq.values())}

    def waits(self, row: StatementRow) -> bool:
        """Return True if no operation has been chosen for a statement yet."""
        return row.seq not in self.of

    def is_repeated(self, row: StatementRow) -> bool:
        """Return True if a statement was found to add nothing and the fact that it repeats still counts."""
        chosen = self.of.get(row.seq)
        if chosen is None or chosen.name != "NOOP":
            return False
        return not chosen.named or any(one in self.by_id for ids in chosen.named for one in ids)

    def only_deletes(self, row: StatementRow) -> bool:
        """Return True if a note only deletes other notes (it is not stored itself) and at least one of those still has
        an effect.
        """
        chosen = self.of.get(row.seq)
        if chosen is None or chosen.name != "DELETE" or chosen.stores is not False:
            return False
        return any(one in self.by_id for ids in chosen.named for one in ids)

    def endings(self) -> list[Ending]:
        """Return the endings that these operations cause, in the order the operations were chosen."""
        found = []
        for seq, chosen in self._near.items():
            row = self.by_seq.get(seq)
            for ids in chosen.named if row is not None and chosen.ends else ():
                behind = sorted((self.by_id[one] for one in ids if one in self.by_id), key=statements.said)
                if row is None or not behind or row in behind:
                    continue
                late = statements.said(row) < statements.said(behind[0])
                ended, by = (row, behind[0]) if late and not chosen.text else (behind[0], row)
                found.append(Ending(ended, by, max(_applies(ended), _applies(by))))
        return found


def linked(connection: Connection, namespace: str, keys: Collection[Key], new: Mapping[int, Chosen]) -> set[Key]:
    """Return the groups that operations link to these: the groups of their statements and of the facts they named.

    Undone operations are included, because the facts they ended hold again.
    """
    found: set[Key] = set()
    naming = _naming(connection, namespace, new, undone=True)
    numbers = statements.seqs_of(
        connection, namespace, {one for own in naming.values() for ids in own.named for one in ids}
    )
    groups = statements.groups_of(connection, namespace, [*naming, *numbers.values()])
    for seq, chosen in naming.items():
        tied = [groups.get(seq), *(groups.get(numbers.get(one, 0)) for ids in chosen.named for one in ids)]
        own = {key for key in tied if key is not None}
        if not own.isdisjoint(keys):
            found |= own
    return found


def _naming(
    connection: Connection, namespace: str, new: Mapping[int, Chosen], *, undone: bool = False
) -> dict[int, Chosen]:
    """Return the operations in a namespace that name facts, by statement, in the order they were chosen."""
    rows = decisions.naming_facts(connection, namespace)
    stored = {row.statement_seq: Chosen.of(row) for row in rows if undone or not row.record.undone}
    found = {seq: chosen for seq, chosen in stored.items() if seq is not None}
    return {**found, **{seq: chosen for seq, chosen in new.items() if chosen.named}}


def _applies(row: StatementRow) -> int:
    """Return the world time from which a statement applies."""
    begins = begin_of(row)
    return row.said_at if begins is None else begins


def operated_groups(rows: Iterable[StatementRow], operations: Operations, schema: Schema) -> list[Group]:
    """Return the groups for statements in the order said: one for each pair of relation and object.

    A denial makes no claim itself: its operation ends the denied fact. A note that only deletes makes none either.
    """
    found: dict[tuple[str, str, str, str], Group] = {}
    for row in rows:
        value = object_of(row)
        if row.negated or not value or operations.only_deletes(row):
            continue
        claim = replace(claim_of(row, schema, row.relation, False), decisive=False)
        key = (row.subject, row.relation, row.topic, value)
        group = found.setdefault(key, Group(row.subject, (row.relation,), row.topic, value))
        group.claims.append(replace(claim, repeats=operations.is_repeated(row)))
    return list(found.values())


def end(groups: Iterable[Group], endings: Sequence[Ending], schema: Schema) -> None:
    """Add claims to the groups that end their values, as given by `endings`."""
    for group in groups:
        for claim in list(group.claims):
            for one in endings:
                if one.ended.seq == claim.seq and claim.value and not claim.negated:
                    denial = claim_of(one.by, schema, claim.value, True)
                    denial = replace(denial, begins=one.time, past=False, ends=None, decisive=True)
                    if denial.said < claim.said:  # merged with what was said later
                        denial = replace(denial, moved_to=(one.time, claim.said_at, claim.order + 1, denial.seq))
                    group.claims.append(denial)
