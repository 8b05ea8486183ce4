"""A randomised soak of one store: processes, threads and operations at once, kills among them.

    python -m tests.integration.store_soak --minutes 30
    python -m tests.integration.store_soak --dialect postgresql --processes 8 --threads 1 --users 200 --minutes 10

Every message whose `add` returned is recorded at once, every erasure before and after it. At the end each acknowledged
message must be there unless its erasure was begun, each one whose erasure returned must be gone, and the checks of the
store and of its database must find nothing. Exits with 1 otherwise, or after an unexpected error.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import torch
from sqlalchemy import select

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import StoreConfig
from nscma_torch.core.database.database import ALL_USERS, NO_USER, get_meta
from nscma_torch.core.database.opening import open_database
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.database.store_path import exists
from nscma_torch.core.errors import NotFoundError, StoreBusyError
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.helpers import postgres

CONFIG = {
    "device": "cpu",
    "embedder": {"model": "hash"},
    "gate": {"rule": "everything"},
    "store": {"busy_timeout": 120.0},
}
EXPECTED = (NotFoundError, StoreBusyError)  # erased by another thread; the machine was too slow
SURPRISE_MODEL = ByteSurpriseModel.load()


def opened(store: str) -> Memory:
    return Memory(store, config=CONFIG, surprise_model=SURPRISE_MODEL, embedder=HashEmbedder())


class Threads:
    """One process of the soak: threads that share a memory, and open handles of their own."""

    def __init__(self, store: str, users: int, record: int, seed: int, until: float) -> None:
        self.store, self.record, self.until = store, record, until
        self.users = [f"user {number}" for number in range(users)]
        self.memory = opened(store)
        self.seed = seed
        self.owned: list[tuple[str, str]] = []  # user and id of messages that this process may erase
        self.lock = threading.Lock()

    def note(self, **event: str) -> None:
        os.write(self.record, json.dumps(event).encode() + b"\n")

    def run(self, threads: int) -> None:
        workers = [threading.Thread(target=self._work, args=(f"{self.seed} {i}",)) for i in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.memory.close()
        self.note(event="closed")

    def _work(self, seed: str) -> None:
        rng = random.Random(seed)
        operations: dict[Callable[[Memory, random.Random], None], float] = {
            self.add: 8, self.search: 3, self.ask: 1, self.erase: 0.5, self.delete: 1, self.sleep: 0.3, self.flush: 1,
            self.export: 0.4, self.import_: 0.2, self.stats: 1, self.verify: 0.3, self.second_handle: 1, self.fork: 0.2,
        }  # fmt: skip
        while time.time() < self.until:
            operation = rng.choices(list(operations), list(operations.values()))[0]
            try:
                operation(self.memory, rng)
                self.note(event="did", what=operation.__name__)
            except EXPECTED as error:
                self.note(event="expected", what=f"{operation.__name__} {type(error).__name__}")
            except Exception as error:  # noqa: BLE001 - counted and shown at the end
                cause = getattr(error.__cause__, "orig", error.__cause__)
                name = getattr(cause, "sqlite_errorname", "")
                self.note(event="error", what=f"{operation.__name__}: {type(error).__name__} {error} {name}")
                self.note(event="trace", what=traceback.format_exc())

    def add(self, memory: Memory, rng: random.Random) -> None:
        user, number = rng.choice(self.users), rng.randrange(10**9)
        for said in memory.add(f"Parcel {number} went to flat {number % 50} in Porto.", user_id=user):
            self.note(event="added", id=said.id)
            if rng.random() < 0.3:
                with self.lock:
                    self.owned.append((user, said.id))

    def search(self, memory: Memory, rng: random.Random) -> None:
        memory.search(f"parcel {rng.randrange(10**9)}", user_id=rng.choice(self.users))

    def ask(self, memory: Memory, rng: random.Random) -> None:
        memory.ask("Where did the parcel go?", user_id=rng.choice(self.users))

    def erase(self, memory: Memory, rng: random.Random) -> None:
        with self.lock:
            if not self.owned:
                return
            user, memory_id = self.owned.pop(rng.randrange(len(self.owned)))
        self.note(event="erasing", id=memory_id)
        receipt = memory.erase(user_id=user, memory_id=memory_id)
        assert not receipt.found, f"{receipt.found} fragments of an erased message are still there"
        self.note(event="erased", id=memory_id)

    def delete(self, memory: Memory, rng: random.Random) -> None:
        with self.lock:
            target = rng.choice(self.owned) if self.owned else None
        if target is not None:
            memory.delete(target[1], user_id=target[0])

    def sleep(self, memory: Memory, _: random.Random) -> None:
        memory.sleep()

    def flush(self, memory: Memory, _: random.Random) -> None:
        memory.flush()

    def export(self, memory: Memory, rng: random.Random) -> None:
        assert sum(1 for _ in memory.export(user_id=rng.choice(self.users)))

    def import_(self, memory: Memory, rng: random.Random) -> None:
        with tempfile.TemporaryDirectory() as folder, opened(f"{folder}/other.db") as other:
            said = other.add("I came from another store.", user_id=f"imported {rng.randrange(10**12)}")
            lines = list(other.export())
        memory.import_(lines)
        self.note(event="added", id=said[0].id)

    def stats(self, memory: Memory, _: random.Random) -> None:
        memory.stats()

    def verify(self, memory: Memory, _: random.Random) -> None:
        database = memory.components.database
        with database.read(ALL_USERS) as connection:
            found = database.problems(connection)
        assert not found, found[:3]

    def second_handle(self, _: Memory, rng: random.Random) -> None:
        with opened(self.store) as second:
            self.add(second, rng)

    def fork(self, _: Memory, __: random.Random) -> None:
        """A child that reads through a handle of its own, unless the store was at work at the moment of the fork.

        It touches the database only: locks of torch's and Python's may be held for ever in the copy.
        """
        child = os.fork()
        if not child:
            signal.alarm(60)
            try:
                own = open_database(self.store, StoreConfig(busy_timeout=60))
                with own.read(NO_USER) as connection:
                    get_meta(connection, "embedder")
                own.close()
            except BaseException as error:  # noqa: BLE001 - the child must not return into the threads' code
                refused = "forked" in str(error)
                self.note(event="expected" if refused else "error", what=f"fork: {type(error).__name__} {error}"[:200])
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            self.note(event="expected", what=f"fork: ended with {status}")


def soak(store: str, users: int, folder: Path, seconds: float, processes: int, threads: int, seed: int) -> int:
    rng = random.Random(seed)
    until = time.time() + seconds
    records: list[Path] = []
    running: dict[int, float] = {}  # process id and when it is killed
    ends = Counter[str]()

    def start() -> None:
        record = folder / f"record-{len(records)}"
        records.append(record)
        life = rng.uniform(2, 20)
        killed = rng.random() < 0.5
        stop = min(until, time.time() + (1e9 if killed else life))
        seed_of_work = rng.randrange(10**9)
        process = os.fork()  # before this process has opened any store or started any thread
        if not process:
            descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                Threads(store, users, descriptor, seed_of_work, stop).run(threads)
            except BaseException:  # noqa: BLE001 - the child must not return into its parent's code
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        running[process] = time.time() + (life if killed else 1e9)

    while time.time() < until or running:
        while len(running) < processes and time.time() < until - 5:
            start()
        time.sleep(0.05)
        for pid, at in list(running.items()):
            if time.time() > min(at, until + 300):
                os.kill(pid, signal.SIGKILL)
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del running[pid]
                ends["killed" if status == signal.SIGKILL else "closed" if status == 0 else f"status {status}"] += 1
        if rng.random() < 0.002 and exists(store):
            program = [sys.executable, "-m", "nscma_torch", "stats", "--store", store]
            ends[f"nscma stats {subprocess.run(program, stdout=subprocess.DEVNULL).returncode}"] += 1
    return report(store, folder, records, ends)


def report(store: str, folder: Path, records: list[Path], ends: Counter[str]) -> int:
    events = [json.loads(line) for record in records if record.exists() for line in record.read_text().split("\n")[:-1]]
    ids = {kind: {event["id"] for event in events if event["event"] == kind} for kind in ("added", "erasing", "erased")}
    did, expected, errors = (
        Counter(event["what"] for event in events if event["event"] == kind) for kind in ("did", "expected", "error")
    )
    print(f"processes: {dict(ends)}")
    print(f"operations: {sum(did.values())} {dict(did.most_common())}")
    print(f"expected refusals: {dict(expected)}")
    print(f"unexpected errors: {sum(errors.values())} {dict(errors)}")
    with opened(store) as memory:
        with memory.components.database.read(ALL_USERS) as connection:
            there = set(connection.execute(select(episodes.c.id)).scalars())
        problems = memory.verify()
    lost, kept = ids["added"] - ids["erasing"] - there, ids["erased"] & there
    print(f"acknowledged {len(ids['added'])}, lost {len(lost)}; erased {len(ids['erased'])}, still there {len(kept)}")
    print(f"verify {problems[:3]}")
    bad = bool(lost or kept or errors or problems)
    bad |= any(name.startswith("status") for name in ends)
    if bad:
        print("".join(event["what"] for event in events if event["event"] == "trace")[:4000], f"\nkept: {folder}")
    else:
        shutil.rmtree(folder)
    return int(bad)


def main() -> int:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description="A randomised soak of one store.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=0.0, help="instead of --minutes")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--users", type=int, default=3)
    parser.add_argument("--dialect", choices=["sqlite", "postgresql"], default="sqlite")
    given = parser.parse_args()
    folder, seconds = Path(tempfile.mkdtemp(prefix="soak-")), given.seconds or 60 * given.minutes
    with ExitStack() as stack:
        store = str(folder / "store.db")
        if given.dialect == "postgresql":
            server = stack.enter_context(postgres.server())
            store = server.address(server.take())
        return soak(store, given.users, folder, seconds, given.processes, given.threads, given.seed)


if __name__ == "__main__":
    sys.exit(main())
