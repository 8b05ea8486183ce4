"""Other processes that edit, erase, rebuild or integrate while a hierarchy is worked on or held in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.episodic.index import units
from nscma_torch.hierarchy import summaries
from tests.hierarchy.lively import (
    NOW,
    Open,
    Tasks,
    assert_silent,
    said,
    text_of,
)

EDITS: dict[str, Callable[[Memory, list[str]], object]] = {
    "update": lambda m, ids: m.update(ids[2], text_of(500), user_id="ada"),
    "update of an old one": lambda m, ids: m.update(ids[-2], text_of(500), user_id="ada"),
    "delete": lambda m, ids: m.delete(ids[2], user_id="ada"),
    "delete of a new one": lambda m, ids: m.delete(ids[-2], user_id="ada"),
    "delete all": lambda m, _: m.delete_all(user_id="ada"),
    "erase": lambda m, ids: m.erase(user_id="ada", memory_id=ids[2]),
    "erase of a new one": lambda m, ids: m.erase(user_id="ada", memory_id=ids[-2]),
    "erase the user": lambda m, _: m.erase(user_id="ada"),
    "delete and restore": lambda m, ids: (m.delete(ids[2], user_id="ada"), m.restore(ids[2], user_id="ada")),
    "add": lambda m, _: m.add(text_of(600), user_id="ada"),
    "rebuild": lambda m, _: m.rebuild(user_id="ada"),
    "erase the user, who returns": lambda m, _: (
        m.erase(user_id="ada"),
        list(m.add_many(said(range(700, 715)), user_id="ada")),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "again"),
    [*((edit, True) for edit in EDITS), *((edit, False) for edit in ("update", "erase", "add", "rebuild"))],
)
def test_an_edit_during_an_integration(edit: str, again: bool, open_lively: Open, assert_whole: Any) -> None:
    editing = open_lively()
    done: list[int] = []

    def change(call: int) -> None:
        if not done:
            done.append(call)
            EDITS[edit](editing, ids)

    tasks = Tasks()
    memory = open_lively(tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(16)), user_id="ada")]
    if again:
        memory.flush()
        ids += [a.id for a in memory.add_many(said(range(16, 24)), user_id="ada")]
    texts = {e.id: e.text for e in memory.log(user_id="ada")}
    tasks.before = change
    memory.flush()
    assert done
    assert_whole(memory)
    now = {e.id: e.text for e in memory.log(user_id="ada") if e.status == "active"}
    outdated = [i for i, memory_id in enumerate(ids) if now.get(memory_id) != texts[memory_id]]
    assert_silent(memory, outdated)
    nodes = memory.tree(user_id="ada")
    assert {i for node in nodes if not node.level for i in node.episode_ids} == set(now)
    reader = open_lively()
    assert reader.tree(user_id="ada") == nodes


def test_another_process_may_rebuild_between_two_batches(open_lively: Open, assert_whole: Any) -> None:
    """A hierarchy that was forgotten and built anew is another one, whatever its version number."""
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(25)), user_id="ada")]
    memory.flush()
    other = open_lively()
    for memory_id in ids[:10]:
        other.delete(memory_id, user_id="ada")
    other.rebuild(user_id="ada")
    other.flush()
    assert_whole(other)
    list(memory.add_many(said(range(30, 40)), user_id="ada"))
    memory.flush()
    assert_whole(memory)
    assert_silent(memory, range(10))


def test_a_user_may_be_erased_by_another_process_and_return(open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(25)), user_id="ada"))
    memory.flush()
    other = open_lively()
    other.erase(user_id="ada")
    list(other.add_many(said(range(40, 55)), user_id="ada"))
    other.flush()
    list(memory.add_many(said(range(60, 70)), user_id="ada"))
    memory.flush()
    assert_whole(memory)
    assert_silent(memory, range(25))


def test_two_processes_take_turns(open_lively: Open, assert_whole: Any) -> None:
    one, other, alone = open_lively(), open_lively(), open_lively("alone.db")
    for turn in range(4):
        for memory in ((one, other)[turn % 2], alone):
            list(memory.add_many(said(range(8 * turn, 8 * turn + 8)), user_id="ada", now=NOW))
            memory.flush()
    assert_whole(one)
    assert one.digest() == other.digest() == alone.digest()


def test_two_threads_that_flush_share_the_work(open_lively: Open, assert_whole: Any) -> None:
    tasks = Tasks(before=lambda _: time.sleep(0.05))
    memory = open_lively(tasks=tasks)
    list(memory.add_many(said(range(24)), user_id="ada"))
    with ThreadPoolExecutor(2) as threads:
        done = [thread.result() for thread in [threads.submit(memory.flush) for _ in range(2)]]
    assert min(done) == 0 and max(done) in (48, 49), "each job is done once, and facts are made of them"
    assert_whole(memory)
    assert len(tasks.calls) == max(node.level for node in memory.tree(user_id="ada"))


def test_a_summary_that_goes_while_its_successor_is_compared_with_it(
    open_lively: Open, assert_whole: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, editing = open_lively(), open_lively()
    ids = [a.id for a in memory.add_many(said(range(16)), user_id="ada")]
    memory.flush()
    list(memory.add_many(said(range(16, 24)), user_id="ada"))
    read, gone = units.texts, list[str]()

    def texts(connection: Any, seqs: Any) -> dict[int, str]:
        if seqs and not gone:
            gone.append(ids[2])
            editing.erase(user_id="ada", memory_id=ids[2])
        return read(connection, seqs)

    monkeypatch.setattr(summaries.units, "texts", texts)
    memory.flush()
    assert gone
    assert_whole(memory)
    assert_silent(memory, [2])
