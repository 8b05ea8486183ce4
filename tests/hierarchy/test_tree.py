"""The hierarchy as records: chunks first, members by id, and what waits for its summary."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Node
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.hierarchy.store.hierarchies import LevelRows, Stored
from nscma_torch.hierarchy.store.tree import tree

NOW = datetime(2024, 9, 1, tzinfo=UTC)


def level(nodes: set[int], personas: set[tuple[int, int, int]], next_id: int = 99) -> LevelRows:
    return LevelRows(frozenset(nodes), frozenset(personas), frozenset(), next_id)


LEVELS = (
    level({0, 1, 2, 3}, {(0, 0, 10), (1, 1, 10), (4, 1, 11), (5, 1, 11), (2, 2, 11), (3, 3, 12)}),
    level({10, 11}, {(0, 10, 20), (1, 11, 20)}),
    level({20}, {(0, 20, 0)}),
)


@pytest.fixture
def connection(memory: Memory) -> Iterator[Connection]:
    for i in range(4):
        memory.add(f"chunk number {i}", user_id="ada", infer=False, now=NOW)
    with memory.components.database.write(ALL_USERS) as connection:
        stored = Stored(hierarchies.hierarchy_id("ada", None), "ada", None, 0, ())
        hierarchies.save(connection, stored, LEVELS)
        hierarchies.attach(connection, stored, {(0, number): [number + 1] for number in range(4)})
        for key, texts in {(1, 10): ["ten"], (1, 11): ["eleven", "and more"], (2, 20): ["twenty"]}.items():
            origin = {
                "id": f"node {key}", "seq": None, "user_id": "ada", "agent_id": None, "run_id": None,
                "stream_id": stored.id, "position": key[0], "session": None, "role": "memory", "name": None,
                "occurred_at": 0, "recorded_at": 0, "expires_at": None, "importance": 0.0, "status": "active",
            }  # fmt: skip
            new = [NewUnit("summary", text, origin, i, i + 1, (), None) for i, text in enumerate(texts)]
            hierarchies.attach(connection, stored, {key: units.insert(connection, new)})
        yield connection


def shown(nodes: list[Node]) -> list[tuple[int, str, bool]]:
    return [(node.level, node.text, node.stale) for node in nodes]


def test_chunks_come_first_then_level_by_level(connection: Connection) -> None:
    nodes = tree(connection, "ada", None)
    assert shown(nodes) == [
        *((0, f"chunk number {i}", False) for i in range(4)),
        (1, "ten", False), (1, "eleven\nand more", False), (2, "twenty", False),
    ]  # fmt: skip


def test_members_and_provenance(connection: Connection) -> None:
    episodes = [row[0] for row in connection.exec_driver_sql("SELECT id FROM episodes ORDER BY seq")]
    chunks = [row[0] for row in connection.exec_driver_sql("SELECT id FROM units WHERE kind = 'chunk' ORDER BY seq")]
    nodes = tree(connection, "ada", None)
    assert [node.id for node in nodes[:4]] == chunks
    assert [node.members for node in nodes] == [
        (), (), (), (), tuple(chunks[:2]), tuple(chunks[1:3]), (nodes[4].id, nodes[5].id)
    ]  # fmt: skip
    assert [node.episode_ids for node in nodes[:4]] == [(i,) for i in episodes]
    assert [node.episode_ids for node in nodes[4:]] == [tuple(episodes[:2]), tuple(episodes[1:3]), tuple(episodes[:3])]
    assert len({node.id for node in nodes}) == 7


def test_a_node_keeps_its_id_when_its_text_changes(connection: Connection) -> None:
    before = {node.id for node in tree(connection, "ada", None)}
    connection.exec_driver_sql("UPDATE units SET text = 'other' WHERE text = 'ten'")
    assert {node.id for node in tree(connection, "ada", None)} == before


def test_what_lost_its_text_is_stale_and_a_deleted_chunk_is_gone(connection: Connection) -> None:
    hierarchies.retire(connection, [1])
    nodes = tree(connection, "ada", None)
    assert shown(nodes) == [
        *((0, f"chunk number {i}", False) for i in (1, 2, 3)),
        (1, "", True), (1, "eleven\nand more", False), (2, "", True),
    ]  # fmt: skip
    assert nodes[3].members == (nodes[0].id,)
    assert len(nodes[5].episode_ids) == 2
    hierarchies.retire(connection, [2, 3])
    assert shown(tree(connection, "ada", None)) == [
        (0, "chunk number 3", False),
        (1, "", True),
        (1, "", True),
        (2, "", True),
    ]


def test_others_have_none(connection: Connection) -> None:
    assert tree(connection, "bob", None) == tree(connection, "ada", "cook") == []
