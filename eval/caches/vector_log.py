"""Vectors on disk by key, for any number of processes: each writes a file of its own and reads all of them.

A file is a row of records of one size: key, seconds, checksum, vector. It is only ever appended to, by the process that
made it; what a kill left half written is at its end, and no record. Of a key that stands there several times the
newest record counts that is not damaged.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

KEY_BYTES = 32


class VectorLog:
    """The files of one kind of vectors.

    Args:
        folder: made when the first vector is written.
        name: of the kind; what its files begin with.
        dimension: d.
        most_bytes: size of all files together above which nothing more is written.
    """

    def __init__(self, folder: Path, name: str, dimension: int, *, most_bytes: int) -> None:
        self._folder = folder
        self._name = name
        self._most_bytes = most_bytes
        self._record = np.dtype(
            [("key", f"V{KEY_BYTES}"), ("seconds", "<f4"), ("check", "<u4"), ("vector", "<f4", (dimension,))]
        )
        self._own = folder / f"{name}-{uuid.uuid4().hex}.vectors"
        self._files: dict[Path, npt.NDArray[np.void]] = {}
        self._places: dict[bytes, tuple[Path, int]] = {}
        self.refresh()

    def refresh(self) -> None:
        """See what was written since."""
        for path in sorted(self._folder.glob(f"{self._name}-*.vectors")):
            known = len(self._files[path]) if path in self._files else 0
            rows = path.stat().st_size // self._record.itemsize
            if rows == known:
                continue
            file = np.memmap(path, dtype=self._record, mode="r", shape=(rows,))
            self._files[path] = file
            keys = file["key"][known:].tobytes()
            for row in range(known, rows):
                at = (row - known) * KEY_BYTES
                self._places.setdefault(keys[at : at + KEY_BYTES], (path, row))

    def get(self, key: bytes) -> tuple[npt.NDArray[np.float32], float] | None:
        """The vector [d] of a key and the seconds kept with it; None for one that is not there or is damaged."""
        place = self._places.get(key)
        if place is None:
            return None
        if not self._good(*place):
            place = self._newest(key)
            if place is None:
                del self._places[key]  # for the record that takes its place
                return None
            self._places[key] = place
        record = self._files[place[0]][place[1]]
        return np.array(record["vector"]), float(record["seconds"])

    def _good(self, path: Path, row: int) -> bool:
        record = self._files[path][row]
        return bool(record["check"] == _check(record["key"].tobytes(), record["seconds"], record["vector"]))

    def _newest(self, key: bytes) -> tuple[Path, int] | None:
        """Where the newest good record of a key is, by a look at all of them."""
        for path in sorted(self._files, key=lambda path: path.stat().st_mtime_ns, reverse=True):
            keys = self._files[path]["key"].tobytes()
            at = keys.rfind(key)
            while at >= 0:
                if at % KEY_BYTES == 0 and self._good(path, at // KEY_BYTES):
                    return path, at // KEY_BYTES
                at = keys.rfind(key, 0, at + KEY_BYTES - 1)
        return None

    def append(self, records: Sequence[tuple[bytes, npt.NDArray[np.float32], float]]) -> None:
        """Write keys of 32 bytes with their vectors [d] and seconds, as many as there is room for."""
        room = max(0, self._most_bytes - sum(file.nbytes for file in self._files.values())) // self._record.itemsize
        written = np.zeros(min(room, len(records)), dtype=self._record)
        if not len(written):
            return
        for row, (key, vector, seconds) in zip(written, records, strict=False):
            row["key"], row["seconds"], row["vector"] = np.void(key), seconds, vector
            row["check"] = _check(key, row["seconds"], row["vector"])
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._own.open("ab") as file:
            file.write(written.tobytes())
        self.refresh()


def _check(key: bytes, seconds: np.float32, vector: npt.NDArray[np.float32]) -> int:
    return zlib.crc32(vector.tobytes(), zlib.crc32(key + seconds.tobytes()))
