"""Layer 4 in a process of its own: nothing is lost, nothing is done twice, and the digest is the one without it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.jobs import jobs, leases
from nscma_torch.core.jobs.leases import JOBS
from tests.helpers.chatter import chatter

Open = Callable[..., Memory]
ADDERS = 4
CONFIG: dict[str, Any] = {
    "hierarchy": {"batch_size": 8},
    "reading": {"model": "none", "facts": "none"},  # Chinese is read by forms, in a hundredth of the time
    "store": {"busy_timeout": 120.0},
    "worker": {"batch_size": 4, "poll": 0.02, "sleep_interval": 0.5, "lease": 1.0},
}


def ended_on_signal(processes: Any, pid: int, heard: Path) -> None:
    os.kill(pid, signal.SIGTERM)
    assert processes.wait(pid) == 0, heard.read_text()
    assert heard.read_text().splitlines()[-1] == "end"


def works(pid: int, memory: Memory) -> bool:
    """Whether this process has leased a user's jobs, dead or alive."""
    with memory.components.database.read(ALL_USERS) as connection:
        holders = leases.holders(connection, JOBS, now=0)
    return str(pid) in [holder.split()[1] for holder in holders]


def slept(heard: Path) -> int:
    return sum(line.startswith("slept") for line in heard.read_text().splitlines())


def replayed(open_memory: Open, memory: Memory, users: Iterable[str], now: datetime) -> Memory:
    """Another store that was told the same, without a worker, and that sleeps once."""
    other = open_memory("replayed.db", config=CONFIG)
    for user in users:
        for episode in memory.log(user_id=user):
            other.add(episode.text, user_id=user, timestamp=episode.occurred_at, now=episode.recorded_at)
    other.sleep(now=now)
    return other


def assert_all_is_well(open_memory: Open, memory: Memory, users: Iterable[str], ids: dict[str, list[str]]) -> None:
    """Each acknowledged message is there, once, and everything is as if it had been told without a worker."""
    now = datetime.now(UTC) + timedelta(minutes=1)
    memory.sleep(now=now)
    for user, own in ids.items():
        assert sorted(episode.id for episode in memory.log(user_id=user)) == sorted(own)
    assert memory.verify() == []
    stats = memory.stats()
    assert (stats.jobs_queued, stats.jobs_failed, stats.failures, stats.workers) == (0, 0, (), ())
    other = replayed(open_memory, memory, users, now)
    assert stats.units == other.stats().units
    for user in users:
        assert memory.digest(user_id=user) == other.digest(user_id=user), user
    assert memory.digest() == other.digest()


@pytest.mark.parametrize(
    ("seconds", "pause", "sleep_interval"), [(1.0, 0.3, 0.5), pytest.param(600.0, 3.0, 2.0, marks=pytest.mark.prove)]
)
def test_four_processes_add_while_one_works_and_sleeps(
    seconds: float, pause: float, sleep_interval: float, processes: Any, open_memory: Open, tmp_path: Path
) -> None:
    store, heard = str(tmp_path / "store.db"), tmp_path / "heard"
    config = {**CONFIG, "worker": {**CONFIG["worker"], "sleep_interval": sleep_interval}}
    worker = processes.start("work_beside", heard, store=store, config=config)
    own = [f"user {number}" for number in range(ADDERS)]
    said = [tmp_path / f"said-{number}" for number in range(ADDERS)]
    end = tmp_path / "end"
    adders = [
        processes.start(
            *("add_for_a_while", said[number]),
            **{"store": store, "config": CONFIG, "users": ["shared", own[number]]},
            **{"seed": number, "end": str(end), "pause": pause},
        )
        for number in range(ADDERS)
    ]
    memory = open_memory(config=CONFIG)

    def worked() -> bool:
        return slept(heard) >= 2 and memory.stats().units.get("summary", 0) > 0

    begin = time.monotonic()
    while (past := time.monotonic() - begin) < seconds or (past < 400 and not worked()):
        time.sleep(0.1)
    end.touch()
    assert [processes.wait(pid) for pid in adders] == [0] * ADDERS, "\n".join(one.read_text() for one in said)
    before = memory.stats()
    ended_on_signal(processes, worker, heard)
    sleeps = slept(heard)
    assert sleeps >= 2, heard.read_text()
    assert before.facts and before.units.get("summary"), "facts and summaries were made beside the adders"
    users = ["shared", *own]
    ids: dict[str, list[str]] = {user: [] for user in users}
    for line in (line for one in said for line in one.read_text().splitlines()):
        user, _, memory_id = line.rpartition(" ")
        ids[user].append(memory_id)
    assert_all_is_well(open_memory, memory, users, ids)
    count = sum(map(len, ids.values()))
    print(
        f"{ADDERS} processes added {count} messages in {past:.0f} s beside a worker that slept {sleeps} times: none "
        f"lost, {before.jobs_queued} jobs left when they ended, digest as without it"
    )


@pytest.mark.parametrize("kills", [4, pytest.param(50, marks=pytest.mark.prove)])
def test_a_worker_that_is_killed_again_and_again(kills: int, processes: Any, open_memory: Open, tmp_path: Path) -> None:
    rng = random.Random(kills)
    memory = open_memory(config=CONFIG)
    ids: dict[str, list[str]] = {"ada": [], "bob": []}
    states: list[str] = []
    for kill in range(kills):
        heard = tmp_path / f"heard-{kill}"
        pid = processes.start("work_beside", heard, store=str(tmp_path / "store.db"), config=CONFIG)
        for _ in range(rng.randrange(1, 6)):
            user = rng.choice(list(ids))
            ids[user].append(memory.add(chatter(rng), user_id=user, timestamp=datetime.now(UTC))[0].id)
        if rng.random() < 0.8:  # else it is killed while it starts
            give_up = time.monotonic() + 60
            while not works(pid, memory):
                assert time.monotonic() < give_up, heard.read_text()
                time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.3))
        os.kill(pid, signal.SIGKILL)
        assert processes.wait(pid) == -signal.SIGKILL, heard.read_text()
        states.append("at work" if works(pid, memory) else "waiting")
        reports = [worker.owner.split()[1] for worker in memory.stats().workers]
        assert str(pid) in reports or "working on" not in heard.read_text(), "a killed worker gives nothing back"
        if kill % 5 == 0:
            assert memory.verify() == []
    heard = tmp_path / "heard"
    last = processes.start("work_beside", heard, store=str(tmp_path / "store.db"), config=CONFIG)

    def read() -> bool:
        with memory.components.database.read(ALL_USERS) as connection:
            return not any(jobs.queued(connection, user, ("extract", "restate", "curate")) for user in ids)

    give_up = time.monotonic() + 120
    while not (heard.exists() and "ready" in heard.read_text() and read()):
        assert time.monotonic() < give_up, memory.stats()
        time.sleep(0.05)
    ended_on_signal(processes, last, heard)
    assert_all_is_well(open_memory, memory, ids, ids)
    count = sum(map(len, ids.values()))
    print(
        f"killed {kills} times, {states.count('at work')} of them with leases of jobs; {count} messages: none lost, "
        "none read twice, digest as without the worker"
    )


def test_the_command_stops_when_it_is_told(open_memory: Open, tmp_path: Path) -> None:
    """`nscma worker`: SIGTERM ends it with 0, its leases go back, and `stats` tells of it while it runs."""
    config = tmp_path / "config.toml"
    config.write_text(
        'device = "cpu"\n[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n'
        "[worker]\npoll = 0.05\n[gate]\nrule = 'everything'\n"
    )
    memory = open_memory(config=CONFIG)
    memory.add("我住在罗马。", user_id="ada")
    command = [sys.executable, "-m", "nscma_torch", "worker", "--json", "--store", str(tmp_path / "store.db")]
    running = subprocess.Popen([*command, "--config", str(config)], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert json.loads(running.stdout.readline())["event"].startswith("working on")
    (health,) = memory.stats().workers
    assert health.alive and health.owner.split()[1] == str(running.pid)
    give_up = time.monotonic() + 60
    while not memory.facts(user_id="ada"):
        assert time.monotonic() < give_up
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 0 and json.loads(out.splitlines()[-1])["event"].startswith("stopped")
    assert memory.stats().workers == ()
    with memory.components.database.read(ALL_USERS) as connection:
        assert leases.holders(connection, JOBS, now=0) == []
