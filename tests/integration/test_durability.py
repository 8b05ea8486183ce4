"""Promise 1: what was acknowledged is there after SIGKILL at any instant, and every index equals its rows."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.protocols import Embedder
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.conftest import LIGHT
from tests.episodic.index_rows_of import assert_same

Open = Callable[..., Memory]
FEW, MANY = range(2), range(2, 50)


def instants() -> Any:
    """The seeds of the kills: a few in every run, 50 in all under `make prove`."""
    return [*FEW, *(pytest.param(seed, marks=pytest.mark.prove) for seed in MANY)]


def text_of(number: int) -> str:
    return (
        f"Message number {number}: my codeword for the vault is xylo{number}phone, and I moved to flat {number % 50}."
    )


def wait_for_a_line(log: Path) -> None:
    while "\n" not in log.read_text():
        time.sleep(0.0005)


def kill_at(pid: int, seconds: float) -> None:
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)


def fresh_index(memory: Memory, user: str) -> UserIndex:
    index = UserIndex(user, memory.components.embedder.dimension, memory.components.device)
    with memory.components.database.read(ALL_USERS) as connection:
        index.catch_up(connection)
    return index


def assert_index_equals_rows(memory: Memory, user: str, embedder: Embedder) -> None:
    """The index holds each message's own vector, embedded anew here."""
    index = fresh_index(memory, user)
    with memory.components.database.read(ALL_USERS) as connection:
        rows = units.load(connection, user, index.seqs.tolist())
    texts = [rows[seq].text for seq in index.seqs.tolist()]
    assert len(texts) == len(index)
    if texts:
        assert torch.equal(index.vectors, embedder.embed(texts))


def acknowledged(said: Path) -> dict[int, str]:
    """Number and id of each whole line; a last line cut short was not acknowledged."""
    lines = said.read_text().split("\n")[:-1]
    return {int(number): memory_id for number, memory_id in (line.split() for line in lines)}


@pytest.mark.parametrize("task", ["add_one_by_one", "add_in_batches"])
@pytest.mark.parametrize("seed", instants())
def test_every_acknowledged_message_survives_sigkill(
    task: str, seed: int, processes: Any, open_memory: Open, tmp_path: Path, embedder: Embedder
) -> None:
    rng = random.Random(f"{task} {seed}")
    said: dict[int, str] = {}
    watching = None
    for kill in range(2):  # the second process goes on with the store that the first one left behind
        first = len(said) if not said else max(said) + 100
        log = tmp_path / f"said-{kill}"
        pid = processes.start(task, log, store=str(tmp_path / "store.db"), user="ada", first=first, count=10_000)
        if kill:  # the first kill may hit the opening of the store, the second one hits the writing
            wait_for_a_line(log)
        kill_at(pid, rng.uniform(0.0, 0.6))
        assert processes.wait(pid) == -signal.SIGKILL, log.read_text()
        new = acknowledged(log)
        said |= new
        memory = open_memory()
        assert memory.verify() == []
        for number, memory_id in said.items():
            episode = memory.get(memory_id, user_id="ada")
            assert episode is not None, f"message {number} was acknowledged and is lost"
            assert episode.text == text_of(number)
        for number, memory_id in new.items():
            hits = memory.search(f"xylo{number}phone", user_id="ada", top_k=5)  # a neighbour may come first
            assert memory_id in [hit.id for hit in hits], f"message {number} is kept, and search does not find it"
        positions = [episode.position for episode in memory.log(user_id="ada")]
        assert positions == list(range(len(positions)))
        assert_index_equals_rows(memory, "ada", embedder)
        if watching is not None:  # an index that was open all the time catches up to the same
            with watching.components.searcher.indexes.reading("ada") as reading:
                held = reading.index
            assert_same(held, fresh_index(memory, "ada"))
        watching = memory
        watching.search("vault", user_id="ada")
        watching.components.database.close()  # its recalls stay unwritten: the next kill starts from the same file
    print(f"{task}, seed {seed}: {len(said)} acknowledged, all there")


@dataclass(frozen=True)
class Prepared:
    """A store, made once and copied by each test that kills."""

    path: Path
    digest: str  # of what the tests compare with
    of_bob: str = ""
    erased: str = ""  # id


@pytest.fixture(scope="module")
def open_prepared(
    tmp_path_factory: pytest.TempPathFactory, surprise_model: ByteSurpriseModel, embedder: HashEmbedder
) -> Callable[..., Memory]:
    """`open_prepared(name, config)`: a new store in the folder of what this module prepares."""
    folder = tmp_path_factory.mktemp("prepared")

    def open_(name: str, config: dict[str, Any] | None = None) -> Memory:
        return Memory(
            folder / name, config={**LIGHT, **(config or {})}, surprise_model=surprise_model, embedder=embedder
        )

    return open_


PATIENT = {"worker": {"lease": 0.3, "batch_size": 4}, "gate": {"rule": "everything"}}


@pytest.fixture(scope="module")
def to_extract(open_prepared: Callable[..., Memory], conversation: Any) -> Prepared:
    """60 messages that wait for extraction, and the digest after one that nothing disturbed."""
    messages = conversation(60, seed=7, long=False)
    with open_prepared("waiting.db", PATIENT) as waiting:
        list(waiting.add_many(messages, user_id="ada"))
        path = waiting.components.database.path
    with open_prepared("undisturbed.db", PATIENT) as undisturbed:
        list(undisturbed.add_many(messages, user_id="ada"))
        undisturbed.flush()
        assert undisturbed.stats().units["atomic_fact"] > 10
        return Prepared(path, undisturbed.digest())


@pytest.mark.parametrize("seed", instants())
def test_extraction_that_was_killed_ends_as_one_that_was_not(
    seed: int, processes: Any, open_memory: Open, tmp_path: Path, to_extract: Prepared
) -> None:
    shutil.copy(to_extract.path, tmp_path / "killed.db")
    killed = open_memory("killed.db", PATIENT)
    rng = random.Random(seed)
    killed.components.database.close()
    for kill in range(2):
        log = tmp_path / f"said-{kill}"
        pid = processes.start("flush", log, store=str(tmp_path / "killed.db"))
        wait_for_a_line(log)
        kill_at(pid, rng.uniform(0.0, 0.1))
        processes.wait(pid)
        assert killed.verify() == []
    killed.flush()
    assert killed.stats().jobs_queued == 0
    assert killed.verify() == []
    assert killed.digest() == to_extract.digest


@pytest.fixture(scope="module")
def with_a_secret(open_prepared: Callable[..., Memory], conversation: Any) -> Prepared:
    """All extracted: the secret of ada among her messages, and messages of bob."""
    secret = "Unforgettable: the pomegranate ledger belongs to Theodora Vanterpool."
    with open_prepared("secret.db") as memory:
        list(memory.add_many(conversation(20, seed=1, long=False), user_id="ada"))
        erased = memory.add(secret, user_id="ada")[0].id
        list(memory.add_many(conversation(20, seed=2, long=False), user_id="ada"))
        list(memory.add_many(conversation(20, seed=3, long=False), user_id="bob"))
        memory.flush()
        path, digest, of_bob = (
            memory.components.database.path,
            memory.digest(user_id="ada"),
            memory.digest(user_id="bob"),
        )
    assert b"Vanterpool" in path.read_bytes()
    return Prepared(path, digest, of_bob, erased)


@pytest.mark.parametrize("whole_user", [True, False])
@pytest.mark.parametrize("seed", instants())
def test_an_erasure_that_was_killed_is_all_or_nothing(
    seed: int, whole_user: bool, processes: Any, open_memory: Open, tmp_path: Path, with_a_secret: Prepared
) -> None:
    shutil.copy(with_a_secret.path, tmp_path / "store.db")
    erased = with_a_secret.erased
    log = tmp_path / "said"
    target = None if whole_user else erased
    pid = processes.start("erase", log, store=str(tmp_path / "store.db"), user="ada", memory_id=target)
    wait_for_a_line(log)
    kill_at(pid, random.Random(seed).uniform(0.0, 0.06))
    processes.wait(pid)
    memory = open_memory()
    assert memory.verify() == []
    assert memory.digest(user_id="bob") == with_a_secret.of_bob
    there = memory.get(erased, user_id="ada") is not None
    assert (memory.digest(user_id="ada") == with_a_secret.digest) == there
    assert len(memory.log(user_id="ada")) == (41 if there else 0 if whole_user else 40)
    if there:
        assert memory.erase(user_id="ada", memory_id=target).found == 0
    elif not whole_user:
        with pytest.raises(NotFoundError):
            memory.erase(user_id="ada", memory_id=target)
    memory.add("Life goes on after the interruption.", user_id="ada")
    assert memory.verify() == []
    memory.close()
    for path in memory._components.database.files():
        assert b"Vanterpool" not in path.read_bytes(), f"{path.name} still holds the erased text"


def test_a_store_whose_creation_was_killed_opens(processes: Any, open_memory: Open, tmp_path: Path) -> None:
    rng = random.Random(0)
    for attempt in range(12):
        path = tmp_path / f"store-{attempt}.db"
        pid = processes.start("add_one_by_one", tmp_path / "said", store=str(path), user="ada", first=0, count=1)
        kill_at(pid, rng.uniform(0.0, 0.05))
        processes.wait(pid)
        memory = open_memory(path)
        memory.add("I am the first message after the crash.", user_id="ada")
        assert memory.verify() == []
        memory.close()
