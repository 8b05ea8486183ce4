"""Keep SQLite's file locks: connections are counted per process, so locks are neither dropped nor inherited by a fork.

POSIX locks belong to a process and a file: closing any descriptor for the file drops them all. SQLite therefore defers
closing its own descriptors; a plain `open` doesn't. So nothing in the library except SQLite opens the database, its
-wal or its -shm file. Descriptors inherited by a forked child carry no lock in the child, so idle connections are
closed before a fork, and a child can't use a store that had a busy connection. See docs/store-file.md.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

from nscma_torch.core.errors import StoreAccessError

Identity = tuple[int, int]  # device, inode


class _Pool(Protocol):
    def close(self) -> None: ...
    def forget_inherited(self) -> None: ...


class _Connection(sqlite3.Connection):
    """A connection counted as open until SQLite has closed it; inert if inherited by a forked child."""

    file: _OpenFile | None = None
    inherited = False

    def cursor(self, *arguments: Any, **named: Any) -> Any:
        self._refuse_inherited()
        return super().cursor(*arguments, **named)

    def commit(self) -> None:
        self._refuse_inherited()
        super().commit()

    def rollback(self) -> None:
        if not self.inherited:
            super().rollback()

    def close(self) -> None:
        if self.inherited or self.file is None:
            return
        with _lock:
            super().close()
            self.file.closed(self)
            self.file = None

    def __del__(self) -> None:
        self.close()

    def _refuse_inherited(self) -> None:
        if self.inherited:
            raise StoreAccessError("this process was forked during a transaction of its parent")


@dataclass(eq=False)
class _OpenFile:
    """A store file that this process has connections to, and its -wal file."""

    identity: Identity
    connections: WeakSet[_Connection] = field(default_factory=WeakSet)
    open: int = 0  # counted apart: the garbage collector clears weak references before connections are closed
    wal: Identity | None = None

    def closed(self, connection: _Connection) -> None:
        self.wal = None  # SQLite removes it with the last connection that has read
        self.connections.discard(connection)
        self.open -= 1
        if not self.open:
            del _files[self.identity]


_lock = threading.RLock()  # held while a file is made, a connection opened or closed, and across a fork
_files: dict[Identity, _OpenFile] = {}
_pools: WeakSet[Any] = WeakSet()
_inherited: set[Identity] = set()


def identity(path: Path | str) -> Identity | None:
    """Return a file's device and inode, or None if it doesn't exist."""
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreAccessError(f"{path} cannot be reached: {error.strerror}") from error
    return found.st_dev, found.st_ino


def created(path: Path) -> Identity:
    """Return the file's identity; if it doesn't exist, create an empty file that only its owner can read.

    The descriptor is closed before another thread in this process can connect to the file.
    """
    while True:
        found = identity(path)
        if found is not None:
            return found
        with _lock:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            except OSError as error:
                raise StoreAccessError(f"{path} cannot be created: {error.strerror}; check its folder") from error
            try:
                if os.name == "posix":
                    os.fchmod(descriptor, 0o600)
            finally:
                os.close(descriptor)


def connect(path: Path, opened: Identity, **arguments: Any) -> sqlite3.Connection:
    """Connect to the file that `path` named when the store was opened; `arguments` go to `sqlite3.connect`.

    Raises `StoreAccessError` if the path now names another file, or in a forked child whose parent was using the file
    during the fork: SQLite in the child would count the parent's locks as its own.
    """
    with _lock:
        _check_named(path, opened)
        if opened in _inherited:
            raise StoreAccessError(
                f"{path} was being read or written when this process was forked, and SQLite cannot be used "
                "across that; start processes with the method 'spawn', or fork while the store is idle"
            )
        connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, factory=_Connection, **arguments)
        file = _files.setdefault(opened, _OpenFile(opened))
        file.connections.add(connection)
        file.open += 1
        connection.file = file
        return connection


def check_in_place(path: Path, opened: Identity) -> None:
    """Raise `StoreAccessError` if the store or its -wal file was replaced since the connections opened.

    Call it inside a write transaction and again after the commit: a write to a removed file is lost.
    """
    _check_named(path, opened)
    file = _files.get(opened)
    if file is None:
        return
    wal = identity(f"{path}-wal")
    if file.wal is None:
        file.wal = wal
    elif file.wal != wal:
        raise StoreAccessError(
            f"{path}-wal was removed while this process had it open, so anything written now would be lost: end this "
            "process and start it again. Code in this process has probably opened or copied the store's files, which "
            "drops SQLite's locks; use `nscma export`, or copy from another process"
        )


def _check_named(path: Path, opened: Identity) -> None:
    if identity(path) != opened:
        raise StoreAccessError(f"{path} was moved, removed or replaced while it was open; reopen the store")


def watch(pool: _Pool) -> None:
    """Close a pool's connections before each fork, and reset the pool in the child process."""
    _pools.add(pool)


def _before_fork() -> None:
    _lock.acquire()
    for pool in list(_pools):
        pool.close()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()
    for file in _files.values():
        _inherited.add(file.identity)
        for connection in list(file.connections):
            connection.inherited = True
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # its memory is never freed, so never closed
    _files.clear()
    for pool in list(_pools):
        pool.forget_inherited()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
