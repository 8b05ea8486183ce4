"""Deciding the log again under other rules: a dry run shows, `dry_run=False` replaces and leaves a record."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def filled_file(stored: Callable[..., Path], conversation: Any) -> Path:
    def fill(memory: Memory) -> None:
        list(memory.add_many(conversation(25, seed=5, long=False), user_id="ada", now=NOW))
        list(memory.add_many(conversation(5, seed=6, long=False), user_id="ada", run_id="r1", now=NOW))
        memory.flush()

    return stored(fill)


@pytest.fixture
def filled(filled_file: Path, open_memory: Open, tmp_path: Path) -> Memory:
    return open_memory(shutil.copy(filled_file, tmp_path))


def test_the_same_rules_change_nothing(filled: Memory) -> None:
    digest = filled.digest()
    assert filled.replay(user_id="ada") == (30, [])
    assert filled.replay(user_id="ada", dry_run=False) == (30, [])
    assert filled.digest() == digest


def test_a_dry_run_changes_nothing(filled: Memory) -> None:
    digest, deferred = filled.digest(), filled.log(user_id="ada", deferred=True)
    decided, changed = filled.replay(user_id="ada", gate={"rule": "everything"})
    assert decided == 30
    assert {item.episode.id for item in changed} == {episode.id for episode in deferred} != set()
    assert all(item.decision.write and not item.episode.decision.write for item in changed if item.episode.decision)
    assert filled.digest() == digest


def test_applying_replaces_the_decisions_and_queues_what_is_now_written(filled: Memory, open_memory: Open) -> None:
    log = filled.log(user_id="ada", deferred=True)
    deferred, unread = {episode.id for episode in log}, [episode for episode in log if not episode.encoded]
    _, changed = filled.replay(user_id="ada", gate={"rule": "everything"}, dry_run=False, now=NOW)
    assert {item.episode.id for item in changed} == deferred
    assert filled.log(user_id="ada", deferred=True) == []
    assert filled.stats().jobs_queued == len(unread) > 3
    filled.flush()
    assert all(episode.encoded for episode in filled.log(user_id="ada"))
    some = sorted(deferred)[0]
    events = filled.history(some, user_id="ada")
    assert [event.event for event in events] == ["ADD", "REDECIDE"]
    assert events[1].reason and events[1].at == NOW
    # the other way: what was extracted stays so
    filled.replay(user_id="ada", gate={"rule": "salience", "salience_threshold": 2.0}, dry_run=False)
    assert len(filled.log(user_id="ada", deferred=True)) == 30
    assert all(episode.encoded for episode in filled.log(user_id="ada"))
    assert filled.verify() == []


def test_what_is_deferred_before_it_was_read_leaves_the_queue(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory("queued.db", {"gate": {"rule": "everything"}}, surprise_model=light_surprise)
    memory.add("I live in Oslo.", user_id="ada", now=NOW)
    assert memory.stats().jobs_queued == 1
    memory.replay(user_id="ada", gate={"rule": "salience", "salience_threshold": 2.0}, dry_run=False)
    assert memory.stats().jobs_queued == 0
    memory.flush()
    assert memory.facts(user_id="ada") == []


def test_what_was_deferred_without_a_vector_has_one_once_it_is_read(open_memory: Open, light_surprise: Any) -> None:
    config = {"embedder": {"model": "hash", "deferred": False}, "gate": {"rule": "composition", "threshold": 1e6}}
    memory = open_memory("bare.db", config, surprise_model=light_surprise)
    memory.add("I live in Oslo.", user_id="ada", now=NOW)

    def similar() -> bool:
        (hit,) = memory.search("live in Oslo", user_id="ada", now=NOW, explain=True, kinds=("chunk",))
        return hit.parts["vector_score"] > 0

    assert not similar()
    memory.replay(user_id="ada", gate={"rule": "everything"}, dry_run=False)
    memory.flush()
    assert similar()


def test_a_replayed_store_equals_one_that_had_these_rules(filled: Memory, open_memory: Open, conversation: Any) -> None:
    other = open_memory("other.db", {"gate": {"rule": "paper", "lam": 0.5}})
    list(other.add_many(conversation(25, seed=5, long=False), user_id="ada", now=NOW))
    list(other.add_many(conversation(5, seed=6, long=False), user_id="ada", run_id="r1", now=NOW))
    filled.replay(user_id="ada", gate={"rule": "paper", "lam": 0.5}, dry_run=False)
    mine, theirs = ([e.decision for e in memory.log(user_id="ada")] for memory in (filled, other))
    assert mine == theirs


def test_nats_of_two_proxies_are_never_taken_together(
    open_memory: Open, light_surprise: Any, light_token_surprise: Any, conversation: Any
) -> None:
    """The first message after a change is judged, and remembered, without the surprise of those before it."""
    paper = {"gate": {"rule": "paper", "warmup": 3}}
    messages = conversation(12, seed=5, long=False)
    before = open_memory("one.db", paper, surprise_model=light_surprise)
    list(before.add_many(messages[:8], user_id="ada", now=NOW))
    after = open_memory("one.db", paper, surprise_model=light_token_surprise)
    list(after.add_many(messages[8:], user_id="ada", now=NOW))
    log = after.log(user_id="ada")
    kept = {episode.decision.parts["count"] for episode in log[8:] if episode.decision}
    assert max(episode.decision.parts["count"] for episode in log[:8] if episode.decision) > 3 >= max(kept)
    assert after.replay(user_id="ada") == (12, [])
    decisions = [episode.decision for episode in log]
    after.replay(user_id="ada", gate={"rule": "everything"}, dry_run=False)
    after.replay(user_id="ada", dry_run=False)
    assert [episode.decision for episode in after.log(user_id="ada")] == decisions
    assert before.replay(user_id="ada", gate={"rule": "memory", "warmup": 3})[0] == 12


def test_a_scope_narrows_it(filled: Memory) -> None:
    assert filled.replay(user_id="ada", run_id="r1", gate={"rule": "everything"})[0] == 5
    assert filled.replay(user_id="bob", gate={"rule": "everything"}) == (0, [])


def test_unknown_rules(filled: Memory) -> None:
    with pytest.raises(InvalidInputError, match=r"lamda.*lam"):
        filled.replay(user_id="ada", gate={"lamda": 1})
    with pytest.raises(InvalidInputError):
        filled.replay(user_id="ada", gate={"rule": "coin"})


def test_messages_without_a_decision_count_in_the_statistics_alone(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    memory.add("I live in Oslo.", user_id="ada", now=NOW, infer=False)
    memory.add("haha ok", user_id="ada", now=NOW)
    before = memory.digest()
    assert memory.replay(user_id="ada", dry_run=False, now=NOW) == (1, []) and memory.digest() == before
    decided, changed = memory.replay(user_id="ada", gate={"rule": "everything"}, dry_run=False, now=NOW)
    assert (decided, [one.episode.text for one in changed]) == (1, ["haha ok"])
    assert memory.log(user_id="ada")[0].decision is None and memory.stats().jobs_queued == 1
