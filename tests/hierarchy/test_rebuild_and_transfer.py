"""A hierarchy built anew by `rebuild` or `reembed`, or carried to another store by `export` and `import_`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.hierarchy.lively import (
    NOW,
    Failing,
    Open,
    said,
    summaries,
    text_of,
)


def test_a_rebuild_is_one_batch_of_all(open_lively: Open, assert_whole: Any) -> None:
    memory, fresh = open_lively(), open_lively("fresh.db")
    for first in range(0, 32, 8):
        list(memory.add_many(said(range(first, first + 8)), user_id="ada", now=NOW))
        memory.flush()
    list(fresh.add_many(said(range(32)), user_id="ada", now=NOW))
    fresh.flush()
    assert memory.digest() != fresh.digest(), "batches arrive where one batch does not"
    assert memory.rebuild(user_id="ada") == 32
    assert memory.tree(user_id="ada") == [] and summaries(memory) == []
    memory.flush()
    assert_whole(memory)
    assert memory.digest() == fresh.digest()
    assert memory.rebuild(user_id="ada", agent_id="nobody") == 0
    memory.flush()
    assert memory.digest() == fresh.digest()


def test_a_rebuild_takes_failed_messages_along(open_lively: Open, assert_whole: Any) -> None:
    """It queues everything that was ever encoded, and so what no integration has taken in so far."""
    tasks = Failing("raises")
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    list(memory.add_many(said(range(12)), user_id="ada"))
    memory.flush()
    assert memory.stats().jobs_failed == 12
    tasks.stuck = False
    assert memory.rebuild(user_id="ada") == 12
    memory.flush()
    assert_whole(memory)


def test_a_rebuild_for_a_stranger_makes_nobody(open_lively: Open) -> None:
    memory = open_lively()
    memory.add(text_of(0), user_id="ada")
    memory.flush()
    before = memory.digest(), memory.stats().users
    assert memory.rebuild(user_id="stranger") == 0
    memory.flush()
    assert (memory.digest(), memory.stats().users) == before


def test_what_one_agent_heard_is_rebuilt_alone(open_lively: Open, assert_whole: Any) -> None:
    """All of an agent's messages were deleted, and their taking out is still queued when the hierarchy is forgotten."""
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(10)), user_id="ada", agent_id="cook")]
    memory.flush()
    for memory_id in ids:
        memory.delete(memory_id, user_id="ada")
    assert memory.rebuild(user_id="ada", agent_id="cook") == 0
    memory.flush()
    with memory.components.database.read(ALL_USERS) as connection:
        assert {agent for _, agent in hierarchies.all_of(connection, "ada")} <= {"cook"}
    assert memory.verify() == []


def test_reembedding_builds_anew(open_lively: Open, assert_whole: Any) -> None:
    class Other(HashEmbedder):
        @property
        def fingerprint(self) -> str:
            return "other"

        def embed(self, texts: Sequence[str]) -> Any:
            return super().embed(texts).roll(7, dims=1)

    memory = open_lively()
    list(memory.add_many(said(range(20)), user_id="ada"))
    memory.add(text_of(99), user_id="ada", infer=False)
    memory.flush()
    texts = [node.text for node in memory.tree(user_id="ada")]
    memory.close()
    again = open_lively(embedder=Other())
    assert again.reembed() > 20
    assert again.tree(user_id="ada") == []
    again.flush()
    assert_whole(again)
    assert sorted(node.text for node in again.tree(user_id="ada")) == sorted(texts), "a rotation keeps all cosines"


def test_export_and_import_carry_the_hierarchy(open_lively: Open, assert_whole: Any) -> None:
    full, empty = open_lively("full.db"), open_lively("empty.db")
    list(full.add_many(said(range(16)), user_id="ada", now=NOW))
    list(full.add_many(said(range(40, 48)), user_id="bob", agent_id="cook", now=NOW))
    full.flush()
    list(full.add_many(said(range(60, 64)), user_id="ada", now=NOW))  # still queued
    empty.add("Somebody else was here before.", user_id="cleo")
    empty.flush()
    for user in ("ada", "bob"):
        empty.import_(full.export(user_id=user))
        assert empty.digest(user_id=user) == full.digest(user_id=user)
    assert empty.verify() == []
    assert [n.text for n in empty.tree(user_id="ada")] == [n.text for n in full.tree(user_id="ada")]
    for memory in (full, empty):
        memory.delete(memory.log(user_id="ada")[3].id, user_id="ada")
        list(memory.add_many(said(range(70, 76)), user_id="ada", now=NOW))
        memory.flush()
        assert_whole(memory)
    assert empty.digest(user_id="ada") == full.digest(user_id="ada")
    assert_whole(empty, "bob", "cook")
