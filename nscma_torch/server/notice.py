"""The file next to a store that announces its running server. This module imports nothing heavy.

Only its owner can access the file (mode 0600), and readers accept only files they own. It names the store file that the
server has open, the server's program and configuration, and the key with which the server proves its identity
(`announcing.py`).
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from nscma_torch import __version__
from nscma_torch.core.config_identity import config_identity
from nscma_torch.core.errors import StoreAccessError

PROOF = "/health/store"  # path of the proof
_MOST_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ResultInputs:
    """All inputs, other than the store's rows, that results depend on. Equal inputs give equal results.

    `store` is the device and inode of the database file. `config` is the digest of the configuration file, or the name
    of a bundled configuration. `folder` is the working folder, to which paths in the configuration are relative ("" for
    the defaults).
    """

    program: str
    store: tuple[int, int]
    config: str
    folder: str

    @classmethod
    def of(cls, store: Path, config: Path | None) -> ResultInputs:
        """Build from a command's options. Raises OSError if the store or the configuration cannot be read."""
        file = store.expanduser().stat()
        return cls(__version__, (file.st_dev, file.st_ino), *config_identity(config))


@dataclass(frozen=True, slots=True)
class Notice:
    """A server's address, proof key (hex), process, machine, and the inputs of its results."""

    url: str
    key: str
    pid: int
    machine: str
    answers: ResultInputs

    @classmethod
    def of_this_process(cls, url: str, answers: ResultInputs) -> Notice:
        """Create a notice for this process, with a random key."""
        return cls(url, secrets.token_hex(32), os.getpid(), socket.gethostname(), answers)

    def proof(self, challenge: str) -> str:
        """Return the proof for a challenge: its HMAC-SHA-256 under the key, in hex."""
        return hmac.digest(bytes.fromhex(self.key), challenge.encode(), "sha256").hex()

    def write(self, path: Path) -> None:
        """Replace the file at `path`. Raises `StoreAccessError` if it can't be written."""
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
                out.write(json.dumps(asdict(self)) + "\n")
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise StoreAccessError(f"cannot write {path}: {error.strerror}") from error

    def remove(self, path: Path) -> None:
        """Delete the file at `path` if it still contains this notice."""
        if read(path) == self:
            path.unlink(missing_ok=True)

    @property
    def ended(self) -> bool:
        """Return True if the server ran on this machine and its process has ended."""
        if self.machine != socket.gethostname() or os.name != "posix":
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False


def beside(store: Path) -> Path:
    """Return the path of the notice for a store's server."""
    real = Path(os.path.realpath(store.expanduser()))
    return real.with_name(f"{real.name}.server")


def read(path: Path) -> Notice | None:
    """Read a notice; return None if it is absent or not owned by this user."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or (os.name == "posix" and not _own(status)):
                return None
            fields = json.loads(file.read(_MOST_BYTES))
        answers = fields["answers"]
        known = ResultInputs(answers["program"], tuple(answers["store"]), answers["config"], answers["folder"])
        names = (str(fields["url"]), str(fields["key"]), int(fields["pid"]), str(fields["machine"]))
        return Notice(*names, known)
    except (OSError, ValueError, TypeError, LookupError):
        return None


def _own(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077
