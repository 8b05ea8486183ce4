"""A process that forks others: imports the library once, then runs one task per request of `conftest.Processes`.

A task acknowledges through `say`: a line in a file, written at once, so that what it said outlives SIGKILL.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import shared_statements
import torch
from chatter import chatter
from noting import NotedTasks

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Message
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

Say = Callable[[str], None]
CONFIG = {
    "device": "cpu",
    "embedder": {"model": "hash"},
    "facts": {"units": ["triple", "atomic_fact"]},  # as in stores that the tests themselves open
    "worker": {"lease": 0.3, "batch_size": 4},
}
torch.set_num_threads(1)
shared_statements.share()
SURPRISE_MODEL = ByteSurpriseModel.load()


def opened(store: str, config: dict[str, Any] | None = None, **parts: Any) -> Memory:
    return Memory(
        store, config={**CONFIG, **(config or {})}, surprise_model=SURPRISE_MODEL, embedder=HashEmbedder(), **parts
    )


def text_of(number: int) -> str:
    """A message with a word that no other has."""
    return (
        f"Message number {number}: my codeword for the vault is xylo{number}phone, and I moved to flat {number % 50}."
    )


def add_one_by_one(say: Say, store: str, user: str, first: int, count: int) -> None:
    """Add numbered messages; acknowledge each with its number and id."""
    with opened(store) as memory:
        for number in range(first, first + count):
            said = memory.add(text_of(number), user_id=user)[0]
            say(f"{number} {said.id}")


def add_in_batches(say: Say, store: str, user: str, first: int, count: int) -> None:
    """The same through `add_many`, five at a time."""
    with opened(store, {"limits": {"max_batch": 5}}) as memory:
        messages = (Message("user", text_of(number)) for number in range(first, first + count))
        for number, said in enumerate(memory.add_many(messages, user_id=user), start=first):
            say(f"{number} {said.id}")


def flush(say: Say, store: str) -> None:
    with opened(store) as memory:
        say("begin")
        say(f"done {memory.flush()}")


def bulk(say: Say, store: str, file: str, config: dict[str, Any], now: str) -> None:
    """Add the rows of a file in bulk; say how many are stored, and how many jobs were run."""
    from nscma_torch.features.bulk.adding import Progress, bulk_add

    heard = Progress(stored=lambda done, _: say(f"stored {done}"), read=lambda done, _: say(f"ran {done}"))
    bulk_add(store, [file], config=config, now=datetime.fromisoformat(now), window=24, progress=heard)


def erase(say: Say, store: str, user: str, memory_id: str | None) -> None:
    with opened(store) as memory:
        say("begin")
        receipt = memory.erase(user_id=user, memory_id=memory_id)
        say(f"done {receipt.found}")


def write_and_read(say: Say, store: str, users: list[str], worker: int, count: int) -> None:
    """Add to every user in turn, finding each message at once; then flush."""
    with opened(store) as memory:
        for i in range(count):
            for user in users:
                number = worker * 1000 + i
                said = memory.add(text_of(number), user_id=user)[0]
                hits = memory.search(f"codeword xylo{number}phone", user_id=user, top_k=1)
                assert hits[0].id == said.id, f"{user}: {number} was added, and {hits[0].text!r} found"
                assert memory.get(said.id, user_id=user) is not None
                say(f"{user} {number} {said.id}")
        memory.flush()


def create(say: Say, store: str, at: float) -> None:
    """Open a store that is not there yet, at the same instant as others do."""
    while time.time() < at:
        time.sleep(0)
    with opened(store) as memory:
        say(memory.add("I opened the store first, together with all others.", user_id="u")[0].id)


def hold_write(say: Say, store: str, seconds: float) -> None:
    """Keep the write lock for a while."""
    with opened(store) as memory, memory.components.database.write(ALL_USERS):
        say("held")
        time.sleep(seconds)


def integrate(say: Say, store: str, hierarchy: dict[str, Any]) -> None:
    """Run the integrations that are queued, telling after each batch how many jobs are done."""
    with opened(store, {"hierarchy": hierarchy}) as memory:
        say("begin")
        memory.flush(progress=lambda done: say(f"integrated {done}"))
        say("end")


def sleep(say: Say, store: str, now: str, config: dict[str, Any]) -> None:
    """Sleep at a simulated time; the messages are in the notation of `noting`."""
    with opened(store, config, tasks=NotedTasks()) as memory:
        say("begin")
        memory.sleep(now=datetime.fromisoformat(now))
        say("end")


def work_beside(say: Say, store: str, config: dict[str, Any]) -> None:
    """What `nscma worker` does, until SIGTERM; it says "ready" when it takes the signal, then each event."""
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    say("ready")
    with opened(store, config) as memory:
        beside = memory.components.background(notify=say)
        beside.start()
        while not told and not beside.wait(0.02):
            pass
        beside.stop()
        if beside.error is not None:
            raise beside.error
    say("end")


def add_for_a_while(
    say: Say, store: str, config: dict[str, Any], users: list[str], seed: int, end: str, pause: float
) -> None:
    """Add to the users until the file `end` is there; acknowledge each message with its user and id."""
    rng = random.Random(seed)
    with opened(store, config) as memory:
        while not Path(end).exists():
            user = rng.choice(users)
            said = memory.add(chatter(rng), user_id=user, timestamp=datetime.now(UTC))[0]
            say(f"{user} {said.id}")
            time.sleep(pause)


def act_then_add(say: Say, store: str, action: str, go: str, first: int, count: int) -> None:
    """An application: do one thing with an open store, wait for the file `go`, add, and wait for it to be gone again.

    Says "ready", then the number and id of each message, then "added"; a kill may follow at any time.
    """
    memory = opened(store)
    ids = [memory.add(text_of(first + i), user_id="app")[0].id for i in range(2)]
    say(f"{first} {ids[0]}")
    kept = ACTIONS[action](memory, store, ids)
    say("ready")
    while not Path(go).exists():
        time.sleep(0.001)
    for number in range(first + 2, first + 2 + count):
        say(f"{number} {memory.add(text_of(number), user_id='app')[0].id}")
    say("added")
    while Path(go).exists():
        time.sleep(0.001)
    for one in (*kept, memory):
        one.close()


def _second_handle(_: Memory, store: str, ids: list[str]) -> list[Memory]:
    second = opened(store)
    assert second.get(ids[0], user_id="app") is not None
    return [second]


def _opened_and_closed(_: Memory, store: str, ids: list[str]) -> list[Memory]:
    with opened(store) as second:
        assert second.get(ids[0], user_id="app") is not None
    return []


def _erased(memory: Memory, _: str, ids: list[str]) -> list[Memory]:
    assert memory.erase(user_id="app", memory_id=ids[1]).found == 0
    return []


def _examined(memory: Memory, store: str, _: list[str]) -> list[Memory]:
    from typer.testing import CliRunner

    from nscma_torch.cli import app

    config = Path(store).with_name("light.toml")
    config.write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n')
    result = CliRunner().invoke(app, ["doctor", "--store", store, "--config", str(config)])
    assert "store" in result.output, result.output
    assert memory.verify() == []
    memory.stats()
    memory.digest()
    return []


def _exported(memory: Memory, store: str, _: list[str]) -> list[Memory]:
    with opened(store) as second:
        assert list(second.export())
    assert list(memory.export(user_id="app"))
    return []


def _imported(memory: Memory, store: str, _: list[str]) -> list[Memory]:
    with opened(store + ".other") as other:
        other.add("I live in the other store.", user_id="imported")
        lines = list(other.export())
    with opened(store) as second:
        second.import_(lines)
    return []


def _threads(memory: Memory, store: str, _: list[str]) -> list[Memory]:
    def one(number: int) -> None:
        with opened(store) as own:
            own.add(f"Thread {number} opened a handle of its own.", user_id=f"thread {number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(8)))
    return []


def _refused(memory: Memory, store: str, _: list[str]) -> list[Memory]:
    """Another program's file beside it is refused; one of the names is a symbolic link to the store."""
    link = Path(store + ".link")
    link.symlink_to(store)
    with opened(str(link)) as second:
        second.stats()
    return []


ACTIONS: dict[str, Callable[[Memory, str, list[str]], list[Memory]]] = {
    "nothing": lambda *_: [],
    "second handle": _second_handle,
    "handle opened and closed": _opened_and_closed,
    "erase": _erased,
    "doctor": _examined,
    "export": _exported,
    "import": _imported,
    "threads": _threads,
    "symbolic link": _refused,
}


def fork_and_add(say: Say, store: str) -> None:
    """Fork while a memory is open: the child adds beside its parent, and after it; then fork in a transaction."""
    memory = opened(store)
    say(f"0 {memory.add(text_of(0), user_id='app')[0].id}")
    memory.search("codeword", user_id="app")
    owner = memory.components.worker._owner
    closed, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        for number in range(100, 105):
            say(f"{number} {memory.add(text_of(number), user_id='app')[0].id}")
        say("lease differs" if memory.components.worker._owner != owner else "one lease for two")
        say(f"child locks {_locks(store)}")
        os.read(closed, 1)  # until the parent has closed the store
        with opened(store) as second:
            for number in range(105, 108):
                say(f"{number} {second.add(text_of(number), user_id='app')[0].id}")
        say(f"{108} {memory.add(text_of(108), user_id='app')[0].id}")
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(closed)
    say(f"1 {memory.add(text_of(1), user_id='app')[0].id}")
    memory.close()
    os.close(go)
    os.waitpid(child, 0)
    memory = opened(store)
    with memory.components.database.write(ALL_USERS):
        child = os.fork()
        if not child:
            try:
                memory.stats()
            except Exception as error:  # noqa: BLE001 - the test compares the name
                say(f"busy {type(error).__name__}")
            os._exit(0)
        os.waitpid(child, 0)
    memory.close()


def _locks(store: str) -> int:
    """How many locks /proc/locks shows that this process holds on the store and its -shm."""
    if not Path("/proc/locks").exists():
        return -1
    files = {Path(store + end).stat().st_ino for end in ("", "-shm")}
    rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sum(row[4] == str(os.getpid()) and int(row[5].rpartition(":")[2]) in files for row in rows)


def serve(say: Say, store: str, config: dict[str, Any], upstream: str | None = None) -> None:
    """What `nscma serve` does, on a free port, until SIGTERM; it says the port, and "end" once the store is closed."""
    from nscma_torch.server.app import create_app
    from nscma_torch.server.app_context import ServerSettings
    from nscma_torch.server.proxy import routes as proxy_routes
    from nscma_torch.server.running import bound, run
    from nscma_torch.server.tokens import beside

    settings = ServerSettings(beside(Path(store)), port=0)
    with bound(settings) as listening, opened(store, config, background=True) as memory:
        port = listening.getsockname()[1]
        route_groups = [proxy_routes.route_group(upstream)] if upstream is not None else []
        run(create_app(memory, settings, route_groups=route_groups), listening, started=lambda: say(str(port)))
    say("end")


def look(say: Say, store: str) -> None:
    """What `nscma stats` does."""
    with opened(store) as memory:
        say(str(memory.stats().messages))


def unprivileged(say: Say, store: str) -> None:
    """Open a store, add and search, as a user who owns nothing; say the name of each error."""
    os.setgid(65534)
    os.setuid(65534)
    for word, action in (
        ("open", lambda _: None),
        ("add", lambda memory: memory.add("I was not allowed to write this.", user_id="u")),
        ("search", lambda memory: memory.search("allowed", user_id="u")),
    ):
        try:
            memory = opened(store)
            action(memory)
            say(f"{word} ok")
        except Exception as error:  # noqa: BLE001 - the test compares the name
            say(f"{word} {type(error).__name__} {error}")


def _run(request: dict[str, Any]) -> None:
    out = os.open(request["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def say(line: str) -> None:
        os.write(out, line.encode() + b"\n")

    torch.set_num_threads(1)  # takes the place of the parent's pool, which two threads must not do at once
    try:
        globals()[request["task"]](say, **request["arguments"])
    except BaseException:  # noqa: BLE001 - a forked process must not return into the loop of its parent
        say(traceback.format_exc())
        os._exit(1)
    os._exit(0)


def warm() -> None:
    """Do once what tasks do, so that processes inherit the loaded models and compiled statements; no store stays open.

    It is `shared_statements` that keeps statements from one store to the next.
    """
    with tempfile.TemporaryDirectory() as folder, opened(str(Path(folder) / "store.db")) as memory:
        said = memory.add(text_of(0), user_id="u")[0]
        memory.flush()
        memory.search("codeword", user_id="u", top_k=1)
        memory.erase(user_id="u", memory_id=said.id)


def main() -> None:
    warm()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        Path(request["said"]).touch()
        pid = os.fork()
        if not pid:
            _run(request)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
