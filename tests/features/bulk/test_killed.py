"""A bulk add that is killed goes on where it was: nothing is there twice, and the store is that of one by one."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from tests.features.bulk.conftest import CONFIG, NOW, Rows, rows_of, write

PATIENT = {**CONFIG, "worker": {"batch_size": 4, "lease": 0.3}}


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.prove)])
def test_a_bulk_add_that_was_killed_ends_as_one_that_was_not(
    kills: int,
    processes: Any,
    by_add: Callable[[Rows], tuple[str, str]],
    open_memory: Callable[..., Memory],
    tmp_path: Path,
) -> None:
    rows, rng = rows_of(15 * kills), random.Random(kills)
    file, store = write(tmp_path / "rows.jsonl", rows), tmp_path / "bulk.db"
    given = {"store": str(store), "file": str(file), "config": PATIENT, "now": NOW.isoformat()}
    stored: list[int] = []
    for kill in range(kills):
        log = tmp_path / f"said {kill}"
        pid = processes.start("bulk", log, **given)
        least = rng.randint(1, 4)  # lines: the first tells what was there already
        until = time.monotonic() + 120
        while len(log.read_text().splitlines()) < least and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.05))
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert processes.wait(pid) in (0, -signal.SIGKILL), log.read_text()
        memory = open_memory("bulk.db", PATIENT)
        stored.append(memory.stats().messages)
        assert memory.verify() == []
        memory.components.database.close()
    processes.run("bulk", tmp_path / "said last", **given)
    memory = open_memory("bulk.db", PATIENT)
    assert stored == sorted(stored) and stored[0] < len(rows) - 1 == memory.stats().messages
    assert memory.digest() == by_add(rows)[1]
    assert memory.verify() == [] and memory.stats().jobs_queued == 0
    print(f"{kills} kills, at {stored} of {len(rows) - 1} messages")
