"""The rows of hierarchies: saved by difference, compared by version, and taken out with all that saw them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import torch
from sqlalchemy import Connection, func, select

from nscma_torch.api.memory import Memory
from nscma_torch.core.database import schema
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.jobs import jobs
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import LevelRows, Stored
from nscma_torch.hierarchy.store.leaves import leaves

NOW = datetime(2024, 9, 1, tzinfo=UTC)
#   level 0: chunks 0-4; clusters 10 = {0, 1}, 11 = {1, 2, 3}; 4 stands alone as 12
#   level 1: nodes 10, 11; cluster 20 = {10, 11};  level 2: node 20
BASE = LevelRows(
    frozenset(range(5)),
    frozenset({(0, 0, 10), (1, 1, 10), (5, 1, 11), (2, 2, 11), (3, 3, 11), (4, 4, 12)}),
    frozenset({(0, 1, 0.5, 0, 1, False), (1, 2, 0.25, 5, 2, False), (1, 3, 0.75, 5, 3, True)}),
    13,
)
MIDDLE = LevelRows(
    frozenset({10, 11}), frozenset({(0, 10, 20), (1, 11, 20)}), frozenset({(10, 11, 1.0, 0, 1, False)}), 21
)
TOP = LevelRows(frozenset({20}), frozenset({(0, 20, 0)}), frozenset(), 1)
LEVELS = (BASE, MIDDLE, TOP)


@pytest.fixture
def connection(memory: Memory) -> Iterator[Connection]:
    for i in range(5):
        memory.add(f"chunk number {i}", user_id="ada", infer=False, now=NOW)
    memory.add("of another user", user_id="bob", infer=False, now=NOW)
    with memory.components.database.write(ALL_USERS) as connection:
        yield connection


def empty(agent: str | None = None, user: str = "ada") -> Stored:
    return Stored(hierarchies.hierarchy_id(user, agent), user, agent, 0, ())


def summary(connection: Connection, stored: Stored, level: int, number: int, text: str) -> int:
    origin = {
        "id": f"{stored.id} {level} {number}", "seq": None, "user_id": stored.user_id, "agent_id": stored.agent_id,
        "run_id": None, "stream_id": stored.id, "position": level, "session": None, "role": "memory", "name": None,
        "occurred_at": 0, "recorded_at": 0, "expires_at": None, "importance": 0.0, "status": "active",
    }  # fmt: skip
    seq = units.insert(connection, [NewUnit("summary", text, origin, 0, len(text), (), None)])[0]
    hierarchies.attach(connection, stored, {(level, number): [seq]})
    return seq


@pytest.fixture
def stored(connection: Connection) -> Stored:
    """The hierarchy above, with a summary at each node."""
    hierarchies.save(connection, empty(), LEVELS)
    stored = hierarchies.load(connection, "ada", None)
    hierarchies.attach(connection, stored, {(0, number): [number + 1] for number in range(5)})
    for level, number in ((1, 10), (1, 11), (2, 20)):
        summary(connection, stored, level, number, f"summary {level} {number}")
    return stored


def count(connection: Connection, table: str) -> int:
    return connection.execute(select(func.count()).select_from(schema.metadata.tables[table])).scalar_one()


def nodes_with(connection: Connection, stored: Stored) -> set[tuple[int, int]]:
    return set(hierarchies.units_of(connection, stored.id))


def test_nothing_is_stored_under_version_zero(connection: Connection) -> None:
    assert hierarchies.load(connection, "ada", None) == empty()
    assert hierarchies.version_of(connection, empty().id) == 0
    assert hierarchies.all_of(connection, "ada") == []


def test_a_hierarchy_comes_back_as_it_was_saved(connection: Connection) -> None:
    hierarchies.save(connection, empty(), LEVELS)
    loaded = hierarchies.load(connection, "ada", None)
    assert loaded.levels == LEVELS
    assert (loaded.id, loaded.user_id, loaded.agent_id) == (empty().id, "ada", None)
    assert loaded.version == hierarchies.version_of(connection, loaded.id) > 0
    assert all(type(cut) is bool for *_, cut in loaded.levels[0].links)


def test_every_float32_weight_comes_back(connection: Connection) -> None:
    weights = [*torch.rand(50, generator=torch.Generator().manual_seed(0)).tolist(), 2.0**-126, 1.0, 1 / 3]
    links = frozenset(
        (i, 1000, float(torch.tensor(w, dtype=torch.float32)), i, 1000, False) for i, w in enumerate(weights)
    )
    hierarchies.save(connection, empty(), [replace(BASE, links=links)])
    assert hierarchies.load(connection, "ada", None).levels[0].links == links


@pytest.mark.sqlite_file("it counts the rows that SQLite changes")
def test_each_save_is_a_new_version_and_writes_the_difference(connection: Connection) -> None:
    hierarchies.save(connection, empty(), LEVELS)
    first = hierarchies.load(connection, "ada", None)
    changed = replace(
        BASE,
        nodes=BASE.nodes - {4} | {13},
        personas=BASE.personas - {(4, 4, 12), (2, 2, 11)} | {(13, 13, 10), (2, 2, 10)},
        links=BASE.links - {(0, 1, 0.5, 0, 1, False)} | {(0, 1, 0.5, 0, 5, True), (2, 13, 0.5, 2, 13, False)},
        next_id=14,
    )
    changes = connection.connection.driver_connection.total_changes
    hierarchies.save(connection, first, [changed, MIDDLE, TOP])
    assert (
        connection.connection.driver_connection.total_changes - changes == 2 + 2 + 4 + 3
    )  # the counter and the hierarchy; nodes; personas; links
    second = hierarchies.load(connection, "ada", None)
    assert second.levels == (changed, MIDDLE, TOP)
    assert second.version > first.version
    hierarchies.save(connection, second, [changed])
    third = hierarchies.load(connection, "ada", None)
    assert third.levels == (changed,) and third.version > second.version
    assert count(connection, "nodes") == 5
    hierarchies.save(connection, third, [])
    assert hierarchies.load(connection, "ada", None).levels == ()


def test_hierarchies_do_not_mix(connection: Connection) -> None:
    others = [empty("cook"), empty(None, "bob"), empty("ada")]
    for other in (empty(), *others):
        hierarchies.save(connection, other, LEVELS)
    hierarchies.save(connection, hierarchies.load(connection, "ada", None), [TOP])
    for other in others:
        assert hierarchies.load(connection, other.user_id, other.agent_id).levels == LEVELS
    assert {agent for _, agent in hierarchies.all_of(connection, "ada")} == {None, "cook", "ada"}
    assert len({*(stored.id for stored in (empty(), *others))}) == 4
    hierarchies.reset(connection, empty("cook").id)
    assert hierarchies.load(connection, "ada", "cook") == empty("cook")
    assert hierarchies.load(connection, "bob", None).levels == LEVELS


def test_above_are_all_that_may_hold_its_text(connection: Connection, stored: Stored) -> None:
    of_node = hierarchies.units_of(connection, stored.id)

    def over(chunk: int) -> set[tuple[int, int]]:
        found = hierarchies.above(connection, of_node[0, chunk])
        return {key for key, seqs in of_node.items() if seqs[0] in found}

    assert over(0) == {(1, 10), (2, 20)}
    assert over(1) == {(1, 10), (1, 11), (2, 20)}
    assert over(3) == {(1, 11), (2, 20)}
    assert over(4) == set()
    assert hierarchies.above(connection, [6]) == hierarchies.above(connection, []) == []
    assert hierarchies.above(connection, of_node[1, 10]) == sorted(of_node[1, 10] + of_node[2, 20])


def test_what_is_retired_takes_its_summaries_along(connection: Connection, stored: Stored) -> None:
    hierarchies.draft(connection, stored, {"k": "a draft"})
    rows = hierarchies.retire(connection, [1])
    assert nodes_with(connection, stored) == {(0, 1), (0, 2), (0, 3), (0, 4), (1, 11)}
    assert (rows["node_units"], rows["units"], rows["drafts"]) == (3, 2, 1)
    assert count(connection, "nodes") == 8, "the nodes go with the next integration"
    assert hierarchies.version_of(connection, stored.id) > stored.version
    batch = jobs.next_batch(connection, {"integrate": 10})
    assert [(job.kind, job.lane, job.user_id, job.episode_seq) for job in batch] == [
        ("integrate", stored.id, "ada", None)
    ]
    hierarchies.retire(connection, [4])
    assert nodes_with(connection, stored) == {(0, 1), (0, 2), (0, 4)}
    assert len(jobs.next_batch(connection, {"integrate": 10})) == 1, "one job for the lane"


def test_what_is_in_no_hierarchy_retires_without_work(connection: Connection, stored: Stored) -> None:
    rows = hierarchies.retire(connection, [6])
    assert sum(rows.values()) == 0
    assert hierarchies.version_of(connection, stored.id) == stored.version
    assert jobs.states(connection) == {}


def test_the_leaves_of_a_summary_are_its_provenance(connection: Connection, stored: Stored, memory: Memory) -> None:
    ids = [row[0] for row in connection.exec_driver_sql("SELECT id FROM episodes ORDER BY seq")]
    of_node = hierarchies.units_of(connection, stored.id)
    seqs = [of_node[key][0] for key in ((1, 10), (1, 11), (2, 20))]
    loaded = units.load(connection, "ada", seqs)
    assert [loaded[seq].episode_ids for seq in seqs] == [tuple(ids[:2]), tuple(ids[1:4]), tuple(ids[:4])]
    assert units.load(connection, "bob", seqs) == {} and leaves(connection, "bob", seqs) == {}
    hierarchies.retire(connection, [2])
    assert leaves(connection, "ada", seqs) == {}


def test_dropped_summaries_leave_their_nodes(connection: Connection, stored: Stored) -> None:
    of_node = hierarchies.units_of(connection, stored.id)
    rows = hierarchies.drop_summaries(connection, of_node[1, 11])
    assert rows["units"] == rows["node_units"] == 1
    assert nodes_with(connection, stored) == set(of_node) - {(1, 11)}
    assert hierarchies.load(connection, "ada", None).levels == LEVELS


def test_a_reset_leaves_the_chunks(connection: Connection, stored: Stored) -> None:
    hierarchies.draft(connection, stored, {"k": "a draft"})
    hierarchies.reset(connection, stored.id)
    assert units.count(connection) == {"chunk": 6}
    tables = ("hierarchies", "nodes", "node_units", "personas", "links", "drafts")
    assert [count(connection, table) for table in tables] == [0] * 6
    hierarchies.reset(connection, stored.id)


def test_a_rebuild_queues_what_was_encoded(connection: Connection, stored: Stored) -> None:
    connection.exec_driver_sql("UPDATE episodes SET encoded = true WHERE seq IN (1, 2, 3, 6)")
    connection.exec_driver_sql("UPDATE episodes SET status = 'deleted' WHERE seq = 2")
    connection.exec_driver_sql("UPDATE episodes SET agent_id = 'cook' WHERE seq = 3")
    assert hierarchies.rebuild(connection, "ada", None) == 1
    assert [(job.lane, job.episode_seq) for job in jobs.next_batch(connection, {"integrate": 9})] == [(stored.id, 1)]
    assert hierarchies.rebuild(connection, "ada", "cook") == 1
    assert hierarchies.rebuild(connection, "ada", "nobody") == 0
    assert jobs.states(connection) == {"queued": 2}


def test_a_version_is_never_given_twice(connection: Connection, stored: Stored) -> None:
    """Whoever holds a hierarchy by its version must notice that it was forgotten and built anew meanwhile."""
    hierarchies.reset(connection, stored.id)
    hierarchies.save(connection, empty(), [TOP])
    assert hierarchies.version_of(connection, stored.id) != stored.version


def test_drafts_are_found_by_their_key(connection: Connection, stored: Stored) -> None:
    hierarchies.draft(connection, stored, {"one": "first", "two": "second"})
    hierarchies.draft(connection, stored, {"two": "another", "three": "third"})
    found = hierarchies.found_drafts(connection, stored.id, ["one", "two", "four"])
    assert found == {"one": "first", "two": "second"}
    assert hierarchies.found_drafts(connection, empty("cook").id, ["one"]) == {}
    assert hierarchies.found_drafts(connection, stored.id, [str(i) for i in range(40_000)]) == {}
    assert hierarchies.forget_drafts(connection, stored.id) == 3
    assert hierarchies.forget_drafts(connection, stored.id) == 0


def test_episodes_wait_in_the_lane_of_their_hierarchy(connection: Connection) -> None:
    rows: list[dict[Any, Any]] = [
        {"user_id": "ada", "agent_id": None, "seq": 2},
        {"user_id": "ada", "agent_id": "cook", "seq": 3},
        {"user_id": "ada", "agent_id": None, "seq": 1},
        {"user_id": "bob", "agent_id": None, "seq": 6},
    ]
    rows = [{**row, "expires_at": None} for row in rows]
    expiring = {"user_id": "ada", "agent_id": None, "seq": 5, "expires_at": 1}
    hierarchies.enqueue(connection, [*rows, expiring])
    hierarchies.enqueue(connection, rows[:2])
    queued = connection.exec_driver_sql("SELECT user_id, lane, episode_seq FROM jobs ORDER BY episode_seq").all()
    lanes = {(u, a): hierarchies.hierarchy_id(u, a) for u, a in (("ada", None), ("ada", "cook"), ("bob", None))}
    assert [tuple(row) for row in queued] == [
        ("ada", lanes["ada", None], 1), ("ada", lanes["ada", None], 2), ("ada", lanes["ada", "cook"], 3),
        ("bob", lanes["bob", None], 6),
    ]  # fmt: skip
    assert len(set(lanes.values())) == 3
