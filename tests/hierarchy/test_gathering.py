"""The hierarchies of all who wait are clustered in one call, and come out as if each had been flushed alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import torch

from nscma_torch.api.background import BackgroundWorker
from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.extras import import_torch_geometric
from nscma_torch.core.jobs import jobs
from nscma_torch.episodic.log import episodes
from nscma_torch.hierarchy import integrator
from nscma_torch.hierarchy.cam import Cam, Change
from nscma_torch.hierarchy.snapshot import Snapshot, State
from nscma_torch.hierarchy.store.hierarchies import Stored
from tests.hierarchy.lively import NOW, Failing, Open, Tasks, said, text_of

USERS = ("ada", "bob", "eve", "kim")
COUNTS = (14, 1, 9, 3)
Calls = list[int]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """How many hierarchies each clustering took."""
    import_torch_geometric("this test")
    made: Calls = []
    assimilate = integrator.assimilate

    def counted(changes: Any, settings: Any) -> Any:
        made.append(len(changes))
        return assimilate(changes, settings)

    monkeypatch.setattr(integrator, "assimilate", counted)
    yield made


def tell(memory: Memory, users: tuple[str, ...] = USERS, first: int = 0) -> None:
    for user in users:
        count = COUNTS[USERS.index(user)]
        list(memory.add_many(said(range(first, first + count)), user_id=user, now=NOW))


def test_together_as_one_by_one(open_lively: Open, assert_whole: Callable[..., None], calls: Calls) -> None:
    together, alone = open_lively("together.db"), open_lively("alone.db")
    for first in (0, 50):
        for user in USERS:
            for memory in (together, alone):
                tell(memory, (user,), first)
                if first and user == "eve":
                    memory.delete(memory.log(user_id=user)[2].id, user_id=user)
            alone.flush()
        together.flush()
        assert calls == [1, 1, 1, 1, len(USERS)]
        calls.clear()
    for user in USERS:
        assert together.digest(user_id=user) == alone.digest(user_id=user)
        assert_whole(together, user)


def test_a_long_backlog_is_cut_as_ever(open_lively: Open, assert_whole: Callable[..., None], calls: Calls) -> None:
    """Only the first batch of each lane is gathered: the next one starts from what the first has left."""
    small = {"batch_size": 5}
    together, alone = open_lively("together.db", small), open_lively("alone.db", small)
    tell(together)
    together.flush()
    assert max(calls) == len(USERS) and len(calls) > 2
    for user in USERS:
        tell(alone, (user,))
        alone.flush()
        assert together.digest(user_id=user) == alone.digest(user_id=user)
        assert_whole(together, user)


def test_one_whose_summaries_fail_holds_up_no_other(
    open_lively: Open, assert_whole: Callable[..., None], calls: Calls
) -> None:
    tasks = Failing("raises")
    memory, undisturbed = open_lively("failing.db", tasks=tasks), open_lively("undisturbed.db")
    attempts = memory.config.worker.max_attempts
    for store in (memory, undisturbed):
        tell(store)
    tasks.before = lambda call: setattr(tasks, "stuck", call <= attempts)
    memory.flush()
    assert calls == [len(USERS)], "what failed is not clustered again, nor anything else"
    assert memory.stats().jobs_failed == COUNTS[0] and memory.stats().jobs_queued == 0
    for user in USERS[1:]:
        assert_whole_but_for_failures(memory, user)
    memory.retry_failed()
    memory.flush()
    undisturbed.flush()
    assert memory.digest() == undisturbed.digest()
    assert_whole(memory)


def assert_whole_but_for_failures(memory: Memory, user: str) -> None:
    assert sum(not node.level for node in memory.tree(user_id=user)) == COUNTS[USERS.index(user)]


@pytest.mark.parametrize("how", ["add", "erase"])
def test_what_changes_after_the_gathering_counts(
    how: str, open_lively: Open, assert_whole: Callable[..., None], calls: Calls
) -> None:
    """Another one's chunks go or come while the first one's summaries are written: the ready clustering is not used."""

    def meanwhile(call: int) -> None:
        if call == 1:
            gone = memory.log(user_id="eve")[4].id
            if how == "erase":
                memory.erase(user_id="eve", memory_id=gone)
            else:
                list(memory.add_many(said(range(70, 72)), user_id="eve", now=NOW))

    memory = open_lively(tasks=Tasks(meanwhile))
    tell(memory)
    memory.flush()
    assert calls[0] == len(USERS)
    for user in USERS:
        assert_whole(memory, user)
    held = {node.text for node in memory.tree(user_id="eve") if not node.level}
    assert (text_of(4) in held) == (how == "add")
    assert (text_of(71) in held) == (how == "add")


def test_a_damaged_one_fails_alone(open_lively: Open, assert_whole: Callable[..., None], calls: Calls) -> None:
    memory = open_lively(config={"worker": {"max_attempts": 1}})
    tell(memory)
    memory.flush()
    tell(memory, first=50)
    with memory.components.database.write(ALL_USERS) as connection:
        connection.exec_driver_sql("DELETE FROM vectors WHERE user_id = 'bob'")
    calls.clear()
    memory.flush()
    assert calls == [3]
    assert [text.partition(":")[0] for text in memory.stats().failures] == ["StoreFormatError"]


def test_so_many_at_once(open_lively: Open, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of all do not stay in memory at once, and one that has too many goes by itself."""
    monkeypatch.setattr(integrator, "_MOST_CHUNKS", 10)
    memory = open_lively()
    tell(memory)
    memory.flush()
    assert calls == [1, 2, 1], "14, then 1 + 9, then 3"
    assert memory.stats().jobs_queued == 0


def test_few_networks_do_not_import_pyg(open_lively: Open, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, name)
    memory = open_lively()
    tell(memory)
    memory.flush()
    assert calls == [1, 1, 1, 1] and "torch_geometric" not in sys.modules


def test_without_pyg_the_error_says_what_to_do(open_lively: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "nscma_torch.hierarchy.pyg_network", raising=False)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    memory = open_lively(config={"worker": {"max_attempts": 1}})
    tell(memory)
    memory.flush()
    (failure,) = memory.stats().failures
    assert failure.startswith("MissingDependencyError") and "pip install 'torch-geometric" in failure


def test_what_is_ready_is_used_only_for_the_same_input() -> None:
    """Positions in a stream may shift while its hierarchy keeps its version: an older message was taken out."""
    stored = Stored("h", "ada", None, 3, ())
    vectors, places = torch.ones(2, 4), torch.arange(2)
    change = Change(Cam(), places[:0], vectors, places, torch.zeros_like(places))
    one = Snapshot(State(stored, Cam(), {}, vectors), {1: [5], 2: [6]}, [5, 6], change)
    assert one.same(replace(one, change=replace(change, vectors=vectors.clone())))
    moved = [
        replace(one, change=replace(change, **{name: getattr(change, name).flip(0) + 1}))
        for name in ("vectors", "position", "stream")
    ]
    moved += [replace(one, chunks={1: [5]}), replace(one, state=replace(one.state, stored=replace(stored, version=4)))]
    assert not any(one.same(other) for other in moved)


def test_what_is_not_the_same_is_clustered_again(
    open_lively: Open, assert_whole: Callable[..., None], calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Snapshot, "same", lambda self, _: self.state.stored.user_id != "eve")
    memory = open_lively()
    tell(memory)
    memory.flush()
    assert calls == [len(USERS), 1]
    assert_whole(memory, "eve")


def test_the_queue_is_read_once_for_all_who_wait(
    open_lively: Open, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    next_of_lanes = jobs.next_of_lanes

    def noted(connection: Any, kind: str, *args: Any, **more: Any) -> Any:
        read.append(kind)
        return next_of_lanes(connection, kind, *args, **more)

    monkeypatch.setattr(jobs, "next_of_lanes", noted)
    memory = open_lively()
    tell(memory)
    memory.flush()
    assert calls == [len(USERS)] and read == ["integrate"]


@pytest.mark.parametrize(("integration", "gathered"), [("whole", [2, 1]), ("everything", [4, 1, 1, 1])])
def test_a_sleep_beside_an_application_gathers_all_users(
    integration: str, gathered: Calls, open_lively: Open, assert_whole: Callable[..., None], calls: Calls
) -> None:
    """Of 14, 1, 9 and 3 messages in batches of 5: the first batches of all at once, then what is left of the longer."""
    quick = {"sleep_interval": 1.0, "integration": integration}
    together, alone = (open_lively(f"{name}.db", {"batch_size": 5}, config={"worker": quick}) for name in "ab")
    parts, clock = together.components, [NOW]
    worker = BackgroundWorker(
        parts.database, lambda: parts.worker, lambda: parts.sleeper, parts.config.worker, clock=lambda: clock[0]
    )
    assert worker._round(), "the first sleep comes an interval after the first start"
    tell(together)
    clock[0] += timedelta(seconds=2)
    assert worker._round()
    assert calls == gathered
    held = [sum(not node.level for node in together.tree(user_id=user)) for user in USERS]
    assert held == ([10, 0, 5, 0] if integration == "whole" else list(COUNTS))
    together.sleep(now=clock[0])
    for user in USERS:
        tell(alone, (user,))
        alone.sleep(user_id=user, now=clock[0])
        assert together.digest(user_id=user) == alone.digest(user_id=user)
        assert_whole(together, user)


def test_a_batch_planned_by_a_sleep_is_left_out_once_a_message_of_it_is_gone(
    open_lively: Open, assert_whole: Callable[..., None], calls: Calls
) -> None:
    def meanwhile(call: int) -> None:
        if call == 1:
            memory.erase(user_id="eve", memory_id=memory.log(user_id="eve")[2].id)

    memory = open_lively(hierarchy={"batch_size": 5}, tasks=Tasks(meanwhile))
    tell(memory, ("ada", "eve"))
    with memory.components.database.read(ALL_USERS) as connection:
        last = episodes.last_seq(connection)
    assert memory.components.worker.consolidate(lambda: True, up_to=last, whole=True)
    texts = {user: [node.text for node in memory.tree(user_id=user) if not node.level] for user in ("ada", "eve")}
    assert len(texts["ada"]) == 10
    assert texts["eve"] == [text_of(number) for number in (0, 1, 3, 4, 5)], "the first five that are left"
    memory.flush()
    assert_whole(memory, "eve")
