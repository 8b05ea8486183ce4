"""Promise 8: an application keeps its locks on the store, whatever it does, so nobody's close costs it a message.

Closing any descriptor of a file drops all POSIX locks that a process holds on it; the next process to close then takes
itself for the last, and removes the -wal file that the application goes on writing to.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import StoreAccessError, StoreFormatError

Open = Callable[..., Memory]
ACTIONS = (  # what an application did with its open store; see `forked.py`
    "nothing",
    "second handle",
    "handle opened and closed",
    "erase",
    "doctor",
    "export",
    "import",
    "threads",
    "symbolic link",
)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc/locks is Linux's")


def locks(pid: int, store: Path) -> list[tuple[str, ...]]:
    """What /proc/locks says that a process holds on the store's files: file, mode, first and last byte."""
    names = {end: Path(f"{store}{end}") for end in ("", "-shm")}
    files = {name.stat().st_ino: end for end, name in names.items() if name.exists()}
    found = []
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[4] == str(pid) and int(fields[5].rpartition(":")[2]) in files:
            found.append((files[int(fields[5].rpartition(":")[2])], fields[3], fields[6], fields[7]))
    return sorted(set(found))  # a line may come twice where others take locks while the list is read


SHARED = [("", "READ", "1073741826", "1073742335"), ("-shm", "READ", "128", "128")]  # while a connection has it open


def wait_for(log: Path, word: str) -> None:
    until = time.monotonic() + 60
    while not log.exists() or word not in log.read_text().split("\n"):
        text = log.read_text() if log.exists() else ""
        assert "Traceback" not in text and time.monotonic() < until, text
        time.sleep(0.001)


def acknowledged(log: Path) -> set[str]:
    return {line.split()[1] for line in log.read_text().split("\n")[:-1] if line[:1].isdigit()}


def assert_all_there(store: Path, ids: set[str]) -> None:
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        there = {row[0] for row in connection.execute("SELECT id FROM episodes")}
    assert ids <= there, f"{len(ids - there)} of {len(ids)} acknowledged messages are lost"


@linux
@pytest.mark.parametrize("action", ACTIONS)
def test_another_process_comes_and_goes_and_the_application_is_killed(
    action: str, processes: Any, tmp_path: Path
) -> None:
    store, log, go = tmp_path / "store.db", tmp_path / "said", tmp_path / "go"
    app = processes.start("act_then_add", log, store=str(store), action=action, go=str(go), first=0, count=5)
    wait_for(log, "ready")
    assert locks(app, store) == SHARED
    processes.run("look", tmp_path / "look", store=str(store))
    assert locks(app, store) == SHARED
    go.touch()
    wait_for(log, "added")
    os.kill(app, signal.SIGKILL)
    assert processes.wait(app) == -signal.SIGKILL
    assert len(acknowledged(log)) == 6
    assert_all_there(store, acknowledged(log))


@pytest.mark.parametrize("action", ["second handle", "erase"])
def test_two_applications_add_and_both_close(action: str, processes: Any, tmp_path: Path) -> None:
    """A third comes and goes in between; 15 messages each."""
    store, go = tmp_path / "store.db", tmp_path / "go"
    logs = [tmp_path / "said-0", tmp_path / "said-1"]
    arguments = {"store": str(store), "go": str(go), "count": 15}
    first = processes.start("act_then_add", logs[0], action=action, first=0, **arguments)
    wait_for(logs[0], "ready")
    processes.run("look", tmp_path / "look", store=str(store))
    second = processes.start("act_then_add", logs[1], action="nothing", first=1000, **arguments)
    wait_for(logs[1], "ready")
    go.touch()
    for log in logs:
        wait_for(log, "added")
    go.unlink()
    assert [processes.wait(pid) for pid in (first, second)] == [0, 0], [log.read_text() for log in logs]
    assert_all_there(store, acknowledged(logs[0]) | acknowledged(logs[1]))


def test_nothing_but_sqlite_opens_the_files(open_memory: Open, tmp_path: Path, conversation: Any) -> None:
    """Every `open` of this process is seen while a memory does what it can do."""
    store = tmp_path / "store.db"
    with opens_of(store) as seen:
        memory = open_memory()
        list(memory.add_many(conversation(12, long=False), user_id="ada"))
        memory.flush()
        memory.sleep()
        memory.search("Porto", user_id="ada")
        memory.ask("Where is the harbour house?", user_id="ada")
        memory.verify(), memory.digest(), memory.stats()
        lines = list(memory.export())
        assert memory.erase(user_id="ada", memory_id=memory.log(user_id="ada")[0].id).found == 0
        open_memory().close()
        memory.reset()
        memory.import_(lines)
        memory.close()
    assert seen == []
    with opens_of(store) as seen:
        store.open("rb").close()
    assert len(seen) == 1, "the test sees an open"


_watched: list[tuple[Path, list[str]]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], str | bytes):
        store, seen = _watched[-1]
        name = os.fsdecode(arguments[0])
        created = arguments[2] & os.O_EXCL  # a new file, before it has a connection
        if Path(name).parent == store.parent and Path(name).name.startswith(store.name) and not created:
            seen.append(name)


sys.addaudithook(_note)


@contextmanager
def opens_of(store: Path) -> Iterator[list[str]]:
    seen: list[str] = []
    _watched.append((store, seen))
    try:
        yield seen
    finally:
        _watched.pop()


@linux
def test_a_connection_of_other_code_keeps_its_locks(open_memory: Open, tmp_path: Path) -> None:
    """The header is looked at beside a connection of the caller's, to our store or to a file that we refuse."""
    open_memory().close()
    for name in ("store.db", "theirs.db"):
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as theirs:
            theirs.execute("PRAGMA journal_mode=WAL")
            theirs.execute("CREATE TABLE IF NOT EXISTS own (x)")
            if name == "store.db":
                open_memory(path).close()
            else:
                with pytest.raises(StoreFormatError, match="another program"):
                    open_memory(path)
            assert locks(os.getpid(), path) == SHARED


def test_a_copy_made_in_the_process_costs_no_message(processes: Any, open_memory: Open, tmp_path: Path) -> None:
    """Code of the caller's copies the open store, which drops the locks: the next write says so and is not lost."""
    memory, store = open_memory(), tmp_path / "store.db"
    kept = {memory.add("I was said before the copy.", user_id="ada")[0].id}
    shutil.copy(store, tmp_path / "copy.db")
    kept.add(memory.add("I was said after the copy.", user_id="ada")[0].id)
    processes.run("look", tmp_path / "look", store=str(store))
    with pytest.raises(StoreAccessError, match="-wal was removed"):
        memory.add("I would be lost.", user_id="ada")
    memory.components.database.close()
    assert_all_there(store, kept)


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_store_that_is_no_longer_where_it_was(how: str, open_memory: Open, tmp_path: Path) -> None:
    memory, store = open_memory(), tmp_path / "store.db"
    memory.add("I am in the first file.", user_id="ada")
    if how == "replaced":
        (tmp_path / "other").touch()
        (tmp_path / "other").replace(store)
    elif how == "moved":
        store.rename(tmp_path / "moved.db")
    else:
        store.unlink()
    with pytest.raises(StoreAccessError, match="moved, removed or replaced"):
        memory.add("I would be in none.", user_id="ada")


def test_a_forked_child_opens_its_own_connections(processes: Any, tmp_path: Path) -> None:
    """The parent closes and dies first: its close must not take the child's messages with it."""
    store, log = tmp_path / "store.db", tmp_path / "said"
    said = processes.run("fork_and_add", log, store=str(store))
    assert "child locks 2" in said or not sys.platform.startswith("linux"), said
    assert "busy StoreAccessError" in said
    assert "lease differs" in said
    assert_all_there(store, acknowledged(log))
    assert len(acknowledged(log)) == 11
