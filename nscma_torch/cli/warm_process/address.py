"""The socket of the warm process for a configuration. This module imports nothing heavy.

It lies in a folder that only its owner can enter (mode 0700), so only the owner's processes can connect.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import nscma_torch
from nscma_torch.core.config_identity import config_identity
from nscma_torch.core.errors import StoreAccessError


def address(config: Path | None) -> Path:
    """Return the path of the socket for this program, its version, and a configuration.

    Raises OSError if the configuration can't be read.
    """
    program = Path(nscma_torch.__file__)
    parts = (nscma_torch.__version__, sys.executable, program, program.stat().st_mtime_ns, *config_identity(config))
    name = hashlib.sha256("\0".join(map(str, parts)).encode(errors="surrogateescape")).hexdigest()[:16]
    return _folder() / f"{name}.socket"


def _folder() -> Path:
    base = os.environ.get("XDG_RUNTIME_DIR")
    return Path(base, "nscma") if base else Path(tempfile.gettempdir(), f"nscma-{os.getuid()}")


def private(folder: Path) -> bool:
    """Return True if the folder exists and only this user can enter it."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    return status.st_uid == os.getuid() and status.st_mode & 0o170077 == 0o040000


def make_private(folder: Path) -> None:
    """Create the folder. Raises `StoreAccessError` if it can't be created, or others can enter it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreAccessError(f"cannot create {folder}: {error.strerror}") from error
    if not private(folder):
        raise StoreAccessError(f"others can enter {folder}; remove it, or set XDG_RUNTIME_DIR to a folder of your own")
