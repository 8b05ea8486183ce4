"""Parse store addresses, and check a path before SQLite opens it for writing.

This module opens no descriptor for the file.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from nscma_torch.core.errors import InvalidInputError, StoreAccessError, StoreFormatError

APPLICATION_ID = 0x4E53434D  # "NSCM" in the file's header: tells a store from any other SQLite file
_POSTGRES = ("postgresql://", "postgres://")
_HEADER = 100  # bytes of the header of a SQLite file


def located(path: Path | str) -> Path:
    """Resolve a path to an absolute one without symbolic links. Raises `StoreAccessError` for an invalid path."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"store must be the path of a file, got {type(path).__name__}")
    if not os.fspath(path):
        raise StoreAccessError("the path of the store is empty; name a file, such as nscma.db")
    if str(path) == ":memory:":
        raise StoreAccessError("a store must be a file, not ':memory:'; use a file in a temporary folder")
    try:
        named = Path(path).expanduser()
        found = Path(os.path.realpath(named))
        status = _status(named)
        _status(Path(f"{found}-journal"))  # SQLite's longest companion must have a name, too
    except (OSError, ValueError, RuntimeError) as error:
        raise StoreAccessError(f"{path} cannot be a store: {_reason(error)}; name another file") from error
    if status is None:
        if named.is_symlink():
            raise StoreAccessError(f"{path} is a symbolic link to {found}, which does not exist; name a file")
        if not found.parent.is_dir():
            raise StoreAccessError(f"the folder {found.parent} does not exist; create it, or name another file")
        return found
    if stat.S_ISDIR(status.st_mode):
        raise StoreAccessError(f"{path} is a folder; name a file, such as {found / 'nscma.db'}")
    if not stat.S_ISREG(status.st_mode):
        raise StoreAccessError(f"{path} is {_kind(status.st_mode)}, not a file; name another path")
    if status.st_nlink > 1:
        raise StoreAccessError(
            f"{path} has {status.st_nlink} names (hard links), and SQLite keeps a separate log for each name: remove "
            f"the other names, or copy the file while no process has it open"
        )
    return found


def is_postgres(store: Path | str) -> bool:
    """Return True if a store's address is a PostgreSQL URL rather than a file path."""
    return isinstance(store, str) and store.startswith(_POSTGRES)


def file_of(store: str) -> Path | None:
    """Return the file that a store's address names, or None for PostgreSQL."""
    return None if is_postgres(store) else Path(store).expanduser()


def is_of(store: str, path: Path | str) -> bool:
    """Return True if a path names a store's file or one of SQLite's side files for it, whether or not they exist."""
    file = file_of(store)
    return file is not None and Path(os.path.realpath(path)) in names(Path(os.path.realpath(file)))


def name_of(store: str) -> str:
    """Return a store's address for display, without a password."""
    if not is_postgres(store):
        return store
    from nscma_torch.core.database.postgres_address import parse

    return parse(store).name


def exists(path: Path | str) -> bool:
    """Return True if the store's file exists; a PostgreSQL database is assumed to exist.

    Raises `StoreAccessError` if this can't be determined.
    """
    if is_postgres(path):
        return True
    try:
        return _status(Path(path).expanduser()) is not None
    except (OSError, ValueError, RuntimeError) as error:
        raise StoreAccessError(f"{path} cannot be a store: {_reason(error)}; name another file") from error


def names(path: Path) -> tuple[Path, ...]:
    """Return the store file and SQLite's possible side files."""
    return tuple(path.with_name(path.name + end) for end in ("", "-wal", "-shm", "-journal"))


def open_to_others(path: Path) -> bool:
    """Return True if a file's permissions let its group or others read or write it."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)


def refuse_foreign(path: Path) -> None:
    """Raise `StoreFormatError` for an existing file that isn't an nscma store, leaving the file untouched.

    The header is read through SQLite, because closing a separate descriptor would drop the locks held by all
    connections in this process. `immutable` keeps SQLite from recovering and checkpointing another program's file. A
    new store is created in one transaction that writes the whole first page, so an nscma store always contains its
    application id.
    """
    size = path.stat().st_size
    if not size:
        return
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA writable_schema=ON")  # else the size is compared, which a checkpoint changes
            (application,) = connection.execute("PRAGMA application_id").fetchone()
    except sqlite3.OperationalError as error:
        raise StoreAccessError(f"{path} cannot be read ({error}); check its permissions") from error
    except sqlite3.DatabaseError as error:
        raise StoreFormatError(f"{path} is not a SQLite database; name another file") from error
    if size < _HEADER:
        raise StoreFormatError(f"{path} is not a SQLite database; name another file")
    if application != APPLICATION_ID:
        raise StoreFormatError(f"{path} is another program's SQLite file; name another file")


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
