"""A kill in the middle of a night loses nothing and does nothing twice: the next ends where an unbroken one does."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from tests.helpers.noting import DEFERRED, EVERYTHING, Plain, day, everything, log, opener, say

Open = Callable[..., Memory]
FEW, MANY = range(1), range(1, 20)
NOW = day(700)
CONFIG: dict[str, Any] = {**DEFERRED, "worker": {"batch_size": 4, "lease": 0.3}}
USERS = ("ada", "eve")


def instants() -> Any:
    """The seeds of the kills: a few in every run, 20 in all under `make prove`."""
    return [*FEW, *(pytest.param(seed, marks=pytest.mark.prove) for seed in MANY)]


@dataclass(frozen=True)
class Known:
    """All that a night may change, but for the times at which it did."""

    digest: str
    facts: list[Plain]
    decided: Counter[tuple[Any, ...]]
    kept: list[tuple[str, float, float, int, bool]]
    profile: list[tuple[str, Any]]
    units: list[dict[str, int]]


def known(memory: Memory) -> Known:
    episodes = [episode for user in USERS for episode in memory.log(user_id=user)]
    decisions = [decision for user in USERS for decision in log(memory, user)]
    return Known(
        memory.digest(),
        [fact for user in USERS for fact in everything(memory, user)],
        Counter((one.subject, one.relation, one.topic, one.object, one.action == "PROPOSE") for one in decisions),
        [(e.id, round(e.importance, 9), e.strength, e.accesses, e.encoded) for e in episodes],
        [(line.text, line.day) for user in USERS for line in memory.profile(user_id=user)],
        [dict(memory.stats(user_id=user).units) for user in USERS],
    )


@dataclass(frozen=True)
class Prepared:
    path: Path
    before: Known
    after: Known
    seconds: float


def fill(memory: Memory, rng: random.Random, first: int, last: int, count: int) -> None:
    for i in range(count):
        who, place = rng.choice(("Ann", "Bob", "Cleo")), rng.choice(("Oslo", "Rome", "Bern"))
        colour = rng.choice(("red", "blue"))
        text = rng.choice(
            (
                f"zebra {i}: {{{who}|lives_in|{place}}}",
                f"zebra {i}: {{{who}|likes|thing {i}}}",
                f"zebra {i}: {{Konstant{rng.choice('iy')}n|works_at|Acme}}",
                f"zebra {i}: {{{who}|favourite/colour|{colour}}} {{{who}|likes|thing {i // 2}|not}}",
            )
        )
        speaker, user = rng.choice(("Ann", "Bob")), rng.choice(USERS)
        say(memory, text, rng.uniform(first, last), stored=last, name=speaker, user_id=user)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, light_surprise: Any, embedder: Any) -> Prepared:
    """A store with work for each stage of sleep, and what an unbroken night makes of it."""
    path = tmp_path_factory.mktemp("prepared") / "store.db"

    def open_memory(file: Path, config: dict[str, Any], **parts: Any) -> Memory:
        light = {"device": "cpu", "embedder": {"model": "hash"}, "facts": {"units": ["triple", "atomic_fact"]}}
        return Memory(file, config={**light, **config}, embedder=embedder, **parts)

    open_, rng = opener(open_memory, light_surprise), random.Random(0)
    with open_(path, CONFIG) as memory:
        fill(memory, rng, 0, 60, 40)
        memory.sleep(now=day(61))
        fill(memory, rng, 600, 690, 30)
        for name, place in (("Ann", "Rome"), ("Bob", "Oslo")):
            say(memory, f"zebra: {{Dora|lives_in|{place}}}", 695, name=name)
        for i in (3, 5, 8, 8):
            memory.search(f"zebra {i}", user_id=rng.choice(USERS), top_k=2, now=day(699))
        memory.feedback(memory.log(user_id="ada")[0].id, user_id="ada", helpful=True, now=day(699))
    copy = path.with_name("undisturbed.db")
    shutil.copy(path, copy)
    with open_(copy, CONFIG) as memory:
        before, begin = known(memory), time.monotonic()
        report = memory.sleep(now=NOW)
        seconds = time.monotonic() - begin
        after = known(memory)
        assert report.replayed == 32 and report.disputed and report.failures == ()
        assert report.forgotten_facts and report.forgotten_messages and report.promoted and report.profile_lines
        assert memory.verify() == []
    return Prepared(path, before, after, seconds)


@pytest.mark.parametrize("seed", instants())
def test_a_sleep_that_was_killed(
    seed: int, prepared: Prepared, processes: Any, open_memory: Open, light_surprise: Any, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    shutil.copy(prepared.path, path)
    rng = random.Random(seed)
    noted = opener(open_memory, light_surprise)
    config = {
        section: {**EVERYTHING.get(section, {}), **CONFIG.get(section, {})} for section in {**EVERYTHING, **CONFIG}
    }
    stops = []
    for kill in range(2):  # the second process goes on with what the first left behind
        heard = tmp_path / f"said-{kill}"
        pid = processes.start("sleep", heard, store=str(path), now=NOW.isoformat(), config=config)
        while "\n" not in heard.read_text():
            time.sleep(0.0005)
        wait = rng.uniform(0.0, prepared.seconds)
        time.sleep(wait)
        os.kill(pid, signal.SIGKILL)
        assert processes.wait(pid) in (0, -signal.SIGKILL), heard.read_text()
        memory = noted(path, CONFIG)
        assert memory.verify() == []
        finished = "end" in heard.read_text().splitlines()
        if finished:
            assert known(memory) == prepared.after
        assert memory.stats().jobs_failed == 0
        now = known(memory)
        assert len(now.kept) == len(prepared.before.kept), "no message is lost"
        stops.append(f"{wait:.3f} s{' (done)' if finished else ''}, {'un' * (now == prepared.before)}changed")
        memory.close()
    memory = noted(path, CONFIG)
    memory.sleep(now=NOW)
    assert memory.verify() == []
    assert known(memory) == prepared.after
    memory.sleep(now=NOW)
    assert known(memory) == prepared.after
    print(f"seed {seed}: a night of {prepared.seconds:.2f} s killed after {' and '.join(stops)}; then as unbroken")
