"""Read the bytes of a store's files from another process.

Closing a descriptor drops all POSIX locks that its process holds on the file, so this process opens none.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from nscma_torch.core.errors import StoreAccessError

_BLOCK = 1 << 22  # bytes
_COPY = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb', 0), sys.stdout.buffer.raw)"


def blocks(path: Path, overlap: int = 0) -> Iterator[bytes]:
    """Yield the file in blocks of 4 MiB, each preceded by the last `overlap` bytes of the previous block.

    Raises `StoreAccessError` if no process can be started or the file can't be read.
    """
    command = [sys.executable, "-I", "-S", "-c", _COPY, str(path)]
    try:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            before = b""
            while block := child.stdout.read(_BLOCK):
                yield before + block
                before = (before + block)[-overlap:] if overlap else b""
    except OSError as error:
        raise StoreAccessError(f"no process could be started to read {path}: {error}") from error
    if child.returncode:
        raise StoreAccessError(f"{path} could not be read by another process; see the message above")
