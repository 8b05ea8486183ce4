"""What was acknowledged by a store in PostgreSQL is there after the server or a client was killed at any instant."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import StoreError
from tests.conftest import LIGHT, LightSurpriseModel
from tests.helpers import postgres

USERS = ("ana", "bob")
FEW, MANY = 1, 50


@pytest.fixture(scope="module")
def killed_server() -> Iterator[postgres.Server]:
    """A server of this module's own, as it is killed."""
    with postgres.server() as running:
        yield running


def opened(address: str) -> Memory:
    return Memory(address, config={**LIGHT, "store": {"busy_timeout": 10}}, surprise_model=LightSurpriseModel())


def add_until_it_fails(address: str, told: Any) -> None:
    """Add and extract, and write a line for each message once it is acknowledged."""
    memory = opened(address)
    with Path(told).open("a", buffering=1) as acknowledged:
        for number in range(10_000):
            user = USERS[number % 2]
            try:
                said = memory.add(f"I moved to town {number}.", user_id=user)
                acknowledged.write(f"{user} {said[0].id}\n")
                if number % 5 == 4:
                    memory.flush()
            except StoreError:
                return


def check(address: str, told: Path) -> int:
    """Whether all that was acknowledged is there, and every index equals its rows; how many messages that are."""
    promised = [line.split() for line in told.read_text().splitlines()]
    with opened(address) as memory:
        there = {user: {episode.id for episode in memory.log(user_id=user, limit=100_000)} for user in USERS}
        assert [one for user, one in promised if one not in there[user]] == []
        assert memory.verify() == []
        for user in USERS:
            if there[user]:
                assert memory.search("town", user_id=user)
        memory.flush()
        assert memory.verify() == []
    return len(promised)


def killed(server: postgres.Server, tmp_path: Path, after: float, whom: str) -> int:
    """Kill the server or the client so long after the first acknowledged message; how many were acknowledged."""
    name = server.take()
    address, told = server.address(name), tmp_path / "told"
    told.touch()
    opened(address).close()
    client = multiprocessing.get_context("spawn").Process(target=add_until_it_fails, args=(address, told))
    client.start()
    while not told.stat().st_size:
        assert client.is_alive()
        time.sleep(0.01)
    time.sleep(after)
    if whom == "server":
        server.kill()
    else:
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
    client.join(60)
    assert not client.is_alive()
    if whom == "server":
        server.start_again()
    count = check(address, told)
    server.give_back(name)
    return count


@pytest.mark.parametrize("whom", ["server", "client"])
def test_a_kill_loses_nothing(whom: str, killed_server: postgres.Server, tmp_path: Path) -> None:
    for i in range(FEW):
        (tmp_path / str(i)).mkdir()
        assert killed(killed_server, tmp_path / str(i), random.Random(i).uniform(0, 0.5), whom) > 0


@pytest.mark.prove
@pytest.mark.parametrize("whom", ["server", "client"])
def test_many_kills_lose_nothing(whom: str, killed_server: postgres.Server, tmp_path: Path) -> None:
    count = 0
    for i in range(MANY):
        (tmp_path / str(i)).mkdir()
        count += killed(killed_server, tmp_path / str(i), random.Random(100 + i).uniform(0, 2.0), whom)
    print(f"{MANY} kills of the {whom}: {count} messages acknowledged, none lost")
