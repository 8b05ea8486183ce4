"""Several processes and threads on one store: no error, nothing lost, everybody sees everything."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import StoreBusyError

Open = Callable[..., Memory]
WORKERS = 4


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.prove)])
def test_four_processes_write_and_read_one_store(count: int, processes: Any, open_memory: Open, tmp_path: Path) -> None:
    own = [f"user {worker}" for worker in range(WORKERS)]
    pids = [
        processes.start(
            "write_and_read",
            tmp_path / f"said-{worker}",
            store=str(tmp_path / "store.db"),
            users=["shared", own[worker]],
            worker=worker,
            count=count,
        )
        for worker in range(WORKERS)
    ]
    codes = [processes.wait(pid) for pid in pids]
    said = [(tmp_path / f"said-{worker}").read_text() for worker in range(WORKERS)]
    assert codes == [0] * WORKERS, "\n".join(said)
    acknowledged = [line.rsplit(" ", 2) for text in said for line in text.splitlines()]
    assert len(acknowledged) == WORKERS * 2 * count
    memory = open_memory()
    assert memory.verify() == []
    for user in ("shared", *own):
        ids = {memory_id for name, _, memory_id in acknowledged if name == user}
        log = memory.log(user_id=user)
        assert {episode.id for episode in log} == ids
        assert sorted(episode.position for episode in log) == list(range(len(ids)))
    for user, number, memory_id in acknowledged:
        assert memory.search(f"xylo{number}phone", user_id=user, top_k=1)[0].id == memory_id
    stats = memory.stats()
    assert (stats.messages, stats.jobs_queued, stats.jobs_failed) == (len(acknowledged), 0, 0)
    print(f"{WORKERS} processes, {len(acknowledged)} messages: none lost")


def test_processes_that_create_one_store_together(processes: Any, open_memory: Open, tmp_path: Path) -> None:
    for attempt in range(2):
        path = tmp_path / f"store-{attempt}.db"
        at = time.time() + 0.1
        logs = [tmp_path / f"said-{attempt}-{worker}" for worker in range(6)]
        pids = [processes.start("create", log, store=str(path), at=at) for log in logs]
        assert [processes.wait(pid) for pid in pids] == [0] * len(pids), "\n".join(log.read_text() for log in logs)
        memory = open_memory(path)
        assert len(memory.log(user_id="u")) == len(pids)
        assert memory.verify() == []
        memory.close()


def test_a_writer_that_waits_too_long_says_so(processes: Any, open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory(config={"store": {"busy_timeout": 0.2}})
    memory.add("The kettle is in the upper cupboard.", user_id="ada")
    before = memory.digest()
    log = tmp_path / "said"
    pid = processes.start("hold_write", log, store=str(tmp_path / "store.db"), seconds=1.0)
    while not log.read_text():
        time.sleep(0.01)
    with pytest.raises(StoreBusyError, match="busy_timeout"):
        memory.add("This one comes too early.", user_id="ada")
    assert memory.search("kettle", user_id="ada"), "a reader never waits for a writer"
    assert processes.wait(pid) == 0
    assert memory.digest() == before
    memory.add("This one comes in time.", user_id="ada")


def test_what_another_process_erases_and_adds_is_seen(open_memory: Open) -> None:
    """A user who was erased and began anew must not be answered from an index of the first life."""
    reading, writing = open_memory(), open_memory()
    for lives in range(1, 4):
        for i in range(lives):
            writing.add(f"In life {lives} my lucky number was {100 * lives + i}.", user_id="ada")
        texts = [hit.text for hit in reading.search("lucky number", user_id="ada")]
        assert len(texts) == lives
        assert all(f"life {lives}" in text for text in texts)
        writing.erase(user_id="ada")
    assert reading.search("lucky number", user_id="ada") == []


def test_threads_share_one_memory(memory: Memory) -> None:
    def add_and_find(number: int) -> str:
        user = f"user {number % 3}"
        said = memory.add(f"Parcel {number} went to the address marker{number}lane.", user_id=user)[0].id
        assert memory.search(f"marker{number}lane", user_id=user, top_k=1)[0].id == said
        return user

    with ThreadPoolExecutor(6) as pool:
        users = sorted(pool.map(add_and_find, range(18)))
    memory.flush()
    for user, added in groupby(users):
        assert [episode.position for episode in memory.log(user_id=user)] == list(range(len(list(added))))
    assert memory.verify() == []
