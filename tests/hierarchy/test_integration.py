"""Integration of batches: whatever was done before, the hierarchy is whole, and the same for the same input."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import Message
from nscma_torch.hierarchy.store import hierarchies
from tests.hierarchy.lively import (
    NOW,
    Open,
    assert_silent,
    said,
    text_of,
)


@pytest.mark.parametrize(
    "hierarchy", [{}, {"overlapping": False}, {"batch_size": 7}], ids=["", "whole", "small batches"]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 15))])
def test_any_history(seed: int, hierarchy: dict[str, Any], open_lively: Open, assert_whole: Any) -> None:
    rng = random.Random(seed)
    memory = open_lively(hierarchy=hierarchy)
    number_of: dict[str, int] = {}
    alive, hidden = set[str](), set[str]()
    gone, next_number = set[int](), 0

    def fresh(n: int) -> list[int]:
        nonlocal next_number
        next_number += n
        return list(range(next_number - n, next_number))

    for step in range(9):
        action = rng.choice(("add", "add", "delete", "restore", "update", "erase", "flush")) if step else "add"
        some = sorted(alive)
        if action == "add":
            numbers = fresh(20 if not step else rng.randint(1, 6))
            added = list(memory.add_many(said(numbers), user_id="ada"))
            number_of |= {a.id: i for a, i in zip(added, numbers, strict=True)}
            alive |= {a.id for a in added}
        elif action == "flush":
            memory.flush()
            assert_whole(memory)
        elif action == "restore":
            for memory_id in rng.sample(sorted(hidden), min(len(hidden), 2)):
                memory.restore(memory_id, user_id="ada")
                gone.discard(number_of[memory_id])
                alive.add(memory_id)
                hidden.discard(memory_id)
        else:
            for memory_id in rng.sample(some, 1 if action == "erase" else 3):
                gone.add(number_of[memory_id])
                if action == "delete":
                    memory.delete(memory_id, user_id="ada")
                    hidden.add(memory_id)
                    alive.discard(memory_id)
                elif action == "erase":
                    assert memory.erase(user_id="ada", memory_id=memory_id).found == 0
                    alive.discard(memory_id)
                else:
                    number_of[memory_id] = fresh(1)[0]
                    memory.update(memory_id, text_of(number_of[memory_id]), user_id="ada")
        assert_silent(memory, gone)
        assert memory.verify() == []
        if rng.random() < 0.4:
            memory.flush()
            assert_whole(memory)
            assert_silent(memory, gone)
    memory.flush()
    assert_whole(memory)
    assert {i for node in memory.tree(user_id="ada") if not node.level for i in node.episode_ids} == alive


def test_cutting_the_input_into_calls_changes_nothing(open_lively: Open) -> None:
    messages = [
        Message("user", text_of(i), NOW, session=f"s{i // 9}", source="a.md" if i % 4 == 3 else None) for i in range(30)
    ]
    digests = set()
    for name, batch, worker in (("one", 1, 32), ("seven", 7, 32), ("all", 64, 32), ("worker", 64, 3)):
        config = {"limits": {"max_batch": batch}, "worker": {"batch_size": worker}}
        memory = open_lively(f"{name}.db", config=config)
        if name == "one":
            for message in messages:
                memory.add(message, user_id="ada", now=NOW)
        else:
            list(memory.add_many(messages, user_id="ada", now=NOW))
        memory.flush()
        assert max(node.level for node in memory.tree(user_id="ada")) >= 2
        digests.add(memory.digest())
    assert len(digests) == 1


def test_a_long_document_goes_in_whole(open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively()
    sections = [Message("document", " ".join(text_of(i) for i in range(30 * s, 30 * s + 30)), NOW, source="book.txt")
                for s in range(3)]  # fmt: skip
    list(memory.add_many(sections, user_id="ada"))
    memory.flush()
    assert_whole(memory)
    chunks = [node for node in memory.tree(user_id="ada") if not node.level]
    assert len(chunks) > 3, "a section has several chunks, each a node"
    section = memory.log(user_id="ada")[1].id
    memory.delete(section, user_id="ada")
    assert_silent(memory, range(30, 60))
    memory.flush()
    assert_whole(memory)
    assert {i for node in memory.tree(user_id="ada") for i in node.episode_ids}.isdisjoint({section})


def test_a_batch_may_be_larger_than_a_statement(open_lively: Open) -> None:
    """More jobs than SQLite takes values in one statement."""
    memory = open_lively(hierarchy={"batch_size": 40_000, "enabled": True})
    memory.add(text_of(0), user_id="ada", now=NOW)
    memory.flush()
    key = hierarchies.hierarchy_id("ada", None)
    with memory.components.database.write(ALL_USERS) as connection:
        rows = connection.execute(select(episodes)).mappings().all()
        hierarchies.enqueue(connection, rows)
        copy = (
            "INSERT INTO episodes SELECT seq + n, id || n, user_id, agent_id, run_id, stream_id, position + n, role, "
        )
        copy += (
            "name, session, text, text_hash, metadata, NULL, occurred_at, recorded_at, expires_at, 'deleted', write, "
        )
        copy += "decision, observation, encoded, importance, strength, accesses, utc_offset FROM episodes, "
        copy += "(WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 33000) SELECT n FROM c)"
        connection.exec_driver_sql(copy)
        connection.exec_driver_sql(
            f"INSERT INTO jobs SELECT seq + 10, 'ada', 'integrate', '{key}', seq, 'queued', 0, NULL FROM episodes"
            " WHERE seq > 1"
        )
    memory.flush()
    assert memory.stats().jobs_queued == 0
