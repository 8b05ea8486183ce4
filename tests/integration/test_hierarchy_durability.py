"""A kill during an integration leaves the hierarchy as before the batch or as after it, never in between."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.jobs import jobs
from nscma_torch.core.records import Message

Open = Callable[..., Memory]
FEW, MANY = range(1), range(1, 20)
HIERARCHY = {"neighbours": 4, "min_members": 2, "max_members": 6, "batch_size": 6}
NOW = datetime(2024, 9, 1, tzinfo=UTC)
TABLES = ("hierarchies", "nodes", "node_units", "personas", "links")


def instants() -> Any:
    """The seeds of the kills: a few in every run, 20 in all under `make prove`."""
    return [*FEW, *(pytest.param(seed, marks=pytest.mark.prove) for seed in MANY)]


def said(first: int, last: int) -> list[Message]:
    who = ("My sister Ana", "The landlord", "Our cat Miso", "Dr. Okafor")
    what = ("painted the harbour house", "moved to Kyoto", "signed the contract for warehouse 42")
    return [
        Message("user", f"{who[i % 4]} {what[i // 4 % 3]}, says note {i}.", NOW + timedelta(hours=i))
        for i in range(first, last)
    ]


@dataclass(frozen=True)
class Prepared:
    """A store where 30 messages, and the removal of two, wait for the hierarchy; what it becomes batch by batch."""

    path: Path
    digests: list[str]  # before the first batch, after it, and so on
    rows: list[Any]
    seconds: float


def rows_of(contents: Any, path: Path) -> Any:
    return {table: rows for table, rows in contents(path).items() if table in TABLES}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, light_surprise: Any, embedder: Any, contents: Any) -> Prepared:
    path = tmp_path_factory.mktemp("prepared") / "store.db"
    light = {"device": "cpu", "embedder": {"model": "hash"}, "gate": {"rule": "everything"}}

    def open_(file: Path, **hierarchy: Any) -> Memory:
        config = {**light, "hierarchy": {**HIERARCHY, **hierarchy}}
        return Memory(file, config=config, surprise_model=light_surprise, embedder=embedder)

    with open_(path, batch_size=100) as memory:
        ids = [added.id for added in memory.add_many(said(0, 24), user_id="ada")]
        memory.flush()
        list(memory.add_many(said(24, 54), user_id="ada"))
        with memory.components.database.read(ALL_USERS) as connection:
            extractions = jobs.next_batch(connection, {"extract": 100})
        memory.components.worker._handlers["extract"].run(extractions)
        for memory_id in ids[:2]:
            memory.delete(memory_id, user_id="ada")
        with memory.components.database.read(ALL_USERS) as connection:
            again = jobs.next_batch(connection, {"extract": 100})  # of those that were read with the deleted ones
        memory.components.worker._handlers["extract"].run(again)
        with memory.components.database.read(ALL_USERS) as connection:
            curating = jobs.next_batch(connection, {"curate": 100})
        if curating:
            memory.components.worker._handlers["curate"].run(curating)
        assert {row[2] for row in contents(path)["jobs"]} == {"integrate"}
    copy = path.with_name("undisturbed.db")
    shutil.copy(path, copy)
    with open_(copy) as memory:
        digests, rows = [memory.digest()], [rows_of(contents, copy)]
        begin = time.monotonic()

        def note(_: int) -> None:
            digests.append(memory.digest())
            rows.append(rows_of(contents, copy))

        memory.flush(progress=note)
        seconds = time.monotonic() - begin
        assert memory.verify() == [] and memory.stats().jobs_queued == 0
        assert max(node.level for node in memory.tree(user_id="ada")) >= 2
    assert len(digests) == len(set(digests)) == 1 + 6, "30 messages and the removal, by 6"
    return Prepared(path, digests, rows, seconds)


@pytest.mark.parametrize("seed", instants())
def test_an_integration_that_was_killed(
    seed: int, prepared: Prepared, processes: Any, open_memory: Open, tmp_path: Path, contents: Any
) -> None:
    path = tmp_path / "store.db"
    shutil.copy(prepared.path, path)
    rng = random.Random(seed)
    reached = []
    for kill in range(3):  # each process goes on with the store that the one before left behind
        log = tmp_path / f"said-{kill}"
        pid = processes.start("integrate", log, store=str(path), hierarchy=HIERARCHY)
        while "\n" not in log.read_text():
            time.sleep(0.0005)
        time.sleep(rng.uniform(0.0, 0.6 * prepared.seconds))
        os.kill(pid, signal.SIGKILL)
        assert processes.wait(pid) in (0, -signal.SIGKILL), log.read_text()
        memory = open_memory(path, {"hierarchy": HIERARCHY})
        assert memory.verify() == []
        digest = memory.digest()
        assert digest in prepared.digests, "neither the state before a batch nor the one after it"
        reached.append(prepared.digests.index(digest))
        done = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("integrated")]
        memory.components.database.close()
        assert equal(rows_of(contents, path), prepared.rows[reached[-1]])
        assert len(done) <= reached[-1], "a batch that was told to be done is lost"
    assert reached == sorted(reached)
    memory = open_memory(path, {"hierarchy": HIERARCHY})
    memory.flush()
    assert memory.stats().jobs_queued == 0
    assert memory.verify() == []
    assert memory.digest() == prepared.digests[-1]
    assert contents(path)["drafts"] == []
    print(
        f"seed {seed}: killed after {reached} of {len(prepared.digests) - 1} batches; each time as before or after one"
    )


def equal(one: Any, other: Any) -> bool:
    """Whether all rows are the same but for the numbers of units, whose texts `digest` compares, and for versions."""
    same = all(one[table] == other[table] for table in ("nodes", "personas", "links"))
    return same and [row[:-1] for row in one["node_units"]] == [row[:-1] for row in other["node_units"]]
