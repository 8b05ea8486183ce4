"""Several workers of one store in PostgreSQL: a kill loses nothing, and the digest is that of one process."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS, ONE_BY_ONE
from nscma_torch.core.jobs import leases, worker_health
from nscma_torch.core.jobs.leases import JOBS
from tests.conftest import LIGHT
from tests.helpers.chatter import chatter
from tests.helpers.postgres import Server
from tests.integration.test_worker_process import CONFIG, assert_all_is_well, ended_on_signal, slept

Open = Callable[..., Memory]
WORKERS = 3
USERS = tuple(f"user {number}" for number in range(6))
GIVE_UP = 240.0  # seconds


@pytest.fixture
def address(postgres_server: Server) -> Iterator[str]:
    name = postgres_server.take()
    yield postgres_server.address(name)
    postgres_server.give_back(name)


def comes(true: Callable[[], object]) -> None:
    """Wait until it is true."""
    give_up = time.monotonic() + GIVE_UP
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def at_work(memory: Memory, pids: list[int]) -> list[int]:
    """Those of these processes that have leased the jobs of users."""
    with memory.components.database.read(ALL_USERS) as connection:
        holders = leases.holders(connection, JOBS, now=0)
    return [pid for pid in pids if str(pid) in [holder.split()[1] for holder in holders]]


@pytest.mark.parametrize(("messages", "kills"), [(36, 1), pytest.param(1200, 30, marks=pytest.mark.prove)])
def test_a_kill_of_one_of_several_workers_loses_nothing(
    messages: int,
    kills: int,
    address: str,
    processes: Any,
    surprise_model: Any,
    embedder: Any,
    open_memory: Open,
    tmp_path: Path,
) -> None:
    rng = random.Random(kills)
    config = {**CONFIG, "worker": {**CONFIG["worker"], "users": 2, "sleep_interval": 2.0}}
    memory = Memory(address, config={**LIGHT, **config}, surprise_model=surprise_model, embedder=embedder)
    heard: dict[int, Path] = {}

    def start() -> None:
        said = tmp_path / f"heard-{len(list(tmp_path.glob('heard-*')))}"
        heard[processes.start("work_beside", said, store=address, config=config)] = said

    for _ in range(WORKERS):
        start()
    comes(lambda: sum(worker.alive for worker in memory.stats().workers) == WORKERS)
    ids: dict[str, list[str]] = {user: [] for user in USERS}
    worked: set[int] = set()
    for kill in range(kills + 1):
        for _ in range(messages // (kills + 1)):
            user = rng.choice(USERS)
            ids[user].append(memory.add(chatter(rng), user_id=user, timestamp=datetime.now(UTC))[0].id)
            worked.update(at_work(memory, list(heard)))
        if kill < kills:
            comes(lambda: at_work(memory, list(heard)) or not memory.stats().jobs_queued)
            victim = next(iter(at_work(memory, list(heard))), rng.choice(list(heard)))
            os.kill(victim, signal.SIGKILL)
            assert processes.wait(victim) == -signal.SIGKILL
            del heard[victim]
            start()

    def all_read() -> bool:
        worked.update(at_work(memory, list(heard)))
        with memory.components.database.read(ALL_USERS) as connection:
            query = "SELECT count(*) FROM jobs WHERE kind IN ('extract', 'restate', 'curate')"
            return not connection.exec_driver_sql(query).scalar_one()

    comes(all_read)
    comes(lambda: sum(map(slept, tmp_path.glob("heard-*"))) >= 2)
    for pid, said in heard.items():
        ended_on_signal(processes, pid, said)
    assert len(worked) >= 2, "several share the users"
    forget_the_dead(memory)
    assert_all_is_well(open_memory, memory, USERS, ids)
    count = sum(map(len, ids.values()))
    print(f"{WORKERS} workers, {kills} of them killed; {count} messages: none lost, digest as of one process")
    memory.close()


def forget_the_dead(memory: Memory) -> None:
    """As the next worker that starts does."""
    with memory.components.database.write(ONE_BY_ONE) as connection:
        worker_health.forget_dead(connection, now=time.time_ns() // 1000)
