"""Read formats that are ZIP archives, within a bound on their unpacked size."""

from __future__ import annotations

import zipfile

from nscma_torch.core.errors import TextTooLargeError

MAX_UNPACKED_BYTES = 1 << 28


def check_size(archive: zipfile.ZipFile) -> None:
    """Raise `TextTooLargeError` if the files in an archive are larger than `MAX_UNPACKED_BYTES` together.

    The sizes are those that the archive declares; `zipfile` reads no more than that from each file.
    """
    size = sum(entry.file_size for entry in archive.infolist())
    if size > MAX_UNPACKED_BYTES:
        raise TextTooLargeError(f"the file unpacks to {size:,} bytes, more than {MAX_UNPACKED_BYTES:,}; split it")
