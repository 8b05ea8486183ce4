"""The curator's log: newest first, each decision with what undoing it needs."""

from __future__ import annotations

from dataclasses import replace

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.clock import from_micros
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Scope
from nscma_torch.semantic.store import decisions, namespaces
from nscma_torch.semantic.store.decisions import NewDecision
from nscma_torch.semantic.store.statement_groups import Key
from tests.helpers.telling import curate, day, heard, lives, micros, tell

LANE = namespaces.namespace_id("ada", None)


def log(memory: Memory, *new: NewDecision, at: int = 0) -> list[str]:
    with memory.components.database.write(ALL_USERS) as connection:
        return decisions.insert(connection, LANE, "ada", new, micros(at))


def test_the_log(memory: Memory) -> None:
    for n, place in enumerate(("Oslo", "Rome")):
        tell(memory, f"Ann lives in {place}.", lives("Ann", place), at=n)
        curate(memory, at=n)
    merge = NewDecision("MERGE", "Bob", "", "", "Robert", "the same birthday", None, before={"key": "鲍勃"})
    (merged,) = log(memory, merge, at=5)
    with memory.components.database.read(ALL_USERS) as connection:
        all_ = decisions.select_decisions(connection, Scope("ada"))
        assert [(d.action, d.object, d.at) for d in all_] == [
            ("MERGE", "Robert", day(5)), ("ADD", "Rome", day(1)), ("ADD", "Oslo", day(0)),
        ]  # fmt: skip
        assert all(len(d.fact_ids) == 1 for d in all_[1:])
        assert decisions.select_decisions(connection, Scope("ada"), limit=1) == all_[:1]
        assert decisions.select_decisions(connection, Scope("ada"), actions=["ADD"]) == all_[1:]
        assert decisions.select_decisions(connection, Scope("ada", "cook")) == []
        assert decisions.select_decisions(connection, Scope("bob")) == []
        row = decisions.find(connection, "ada", merged)
        assert row is not None and (row.before, row.record.reason) == ({"key": "鲍勃"}, "the same birthday")
        assert decisions.find(connection, "bob", merged) is None
        first = decisions.find(connection, "ada", all_[2].id)
        assert first is not None and first.key == Key("ann", "lives_in", "")
        assert [later.record.object for later in decisions.later(connection, first)] == ["Rome", "Robert"]
        seqs = [statement.seq for statement in heard(memory, first.key)]
        assert decisions.decided(connection, [*seqs, 999]) == set(seqs)
    assert memory.verify() == []


def test_undone_decisions_stay_in_the_log(memory: Memory) -> None:
    tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo"))
    curate(memory)
    with memory.components.database.write(ALL_USERS) as connection:
        (decision,) = decisions.select_decisions(connection, Scope("ada"))
        row = decisions.find(connection, "ada", decision.id)
        assert row is not None
        decisions.mark_undone(connection, row.seq)
        assert decisions.select_decisions(connection, Scope("ada")) == [replace(decision, undone=True)]
        assert decisions.select_decisions(connection, Scope("ada"), undone=False) == []
        assert decisions.decided(connection, [row.statement_seq or 0]) == {row.statement_seq}


def test_the_same_decision_twice_has_two_ids(memory: Memory) -> None:
    tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo"))
    decay = NewDecision("ARCHIVE", "ann", "lives_in", "", "Oslo", "long not recalled", None)
    ids = [*log(memory, decay, decay), *log(memory, decay)]
    assert len(set(ids)) == 3
    with memory.components.database.read(ALL_USERS) as connection:
        assert [d.at for d in decisions.select_decisions(connection, Scope("ada"))] == [from_micros(micros(0))] * 3
