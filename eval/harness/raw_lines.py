"""The raw results of a run: JSON lines in `raw-<rank>.jsonl`, one for each (task, system, sample).

A line is the atom of work: it is there whole or not at all. What a kill left of a line is cut off before the next run
goes on, and its unit is done again. Of a unit that failed and was tried again the later attempt counts. A process
holds the lock of its file for as long as it may write: one that outlived its run keeps the next from beginning.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eval.harness.machine import unfinished
from nscma_torch.core.errors import MalformedInputError, StoreBusyError, StoreFullError

RESULTS = "results.jsonl"
_RAW = "raw-*.jsonl"
_BLOCK = 1 << 16

Line = Mapping[str, Any]
Key = tuple[str, str, str]  # task, system, sample


class RawLines:
    """The file of one rank, to append to. StoreBusyError where another process does."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._path = folder / f"raw-{rank}.jsonl"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            _lock(self._file, self._path)
        except StoreBusyError:
            os.close(self._file)
            raise

    def append(self, line: Line) -> None:
        """Write a line at once, on disk when this returns; StoreFullError where it cannot be written whole."""
        data = json.dumps(line, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace") + b"\n"
        try:
            whole = os.write(self._file, data) == len(data)
            os.fsync(self._file)
        except OSError as error:
            raise StoreFullError(f"{self._path} cannot be written: {error.strerror}") from error
        if not whole:
            raise StoreFullError(f"{self._path} took a part of a line alone: make room on its disk, and run again")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def key_of(line: Line) -> Key:
    """What a line is the result of."""
    return line["task"], line["system"], line["sample"]


def cut_torn(folder: Path) -> None:
    """Cut off what follows the last whole line of each file; StoreBusyError where somebody writes in one."""
    for path in sorted(folder.glob(_RAW)):
        with path.open("r+b") as file:
            _lock(file.fileno(), path)
            end = file.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - _BLOCK)
                file.seek(start)
                found = file.read(end - start).rfind(b"\n")
                end = start if found < 0 else start + found + 1
                if found >= 0:
                    break
            file.truncate(end)


def read_all(folder: Path) -> dict[Key, Line]:
    """The line of each unit: the one without an error, else that of the last attempt. What is torn is left out.

    Raises MalformedInputError for a line that is no JSON, or where a unit succeeded twice.
    """
    lines: dict[Key, Line] = {}
    for path in sorted(folder.glob(_RAW)):
        for line in _lines(path):
            earlier = lines.get(key_of(line))
            if earlier is not None and earlier["error"] is None:
                if line["error"] is None:
                    raise MalformedInputError(f"{' / '.join(key_of(line))} was done twice; the second is in {path}")
                continue
            if earlier is None or line["error"] is None or _attempt(line) >= _attempt(earlier):
                lines[key_of(line)] = line
    return lines


def holds_raw(folder: Path) -> bool:
    """Whether a rank's file is there."""
    return any(folder.glob(_RAW))


def holds_any(folder: Path) -> bool:
    """Whether there is a line in a folder, be it torn or packed."""
    return any(path.stat().st_size for pattern in (_RAW, f"{RESULTS}*") for path in folder.glob(pattern))


def write_results(folder: Path, lines: Sequence[Line]) -> None:
    """`results.jsonl`: all lines by task, system and sample; a kill leaves the old file or the new one."""
    part = unfinished(folder / RESULTS)
    with part.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for line in sorted(lines, key=key_of):
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / RESULTS)


def _attempt(line: Line) -> int:
    """Which attempt of the run wrote it, from 1; 0 where it does not say."""
    attempt: int = line.get("attempt", 0)
    return attempt


def _lock(file: int, path: Path) -> None:
    """Until the file is closed, or the process ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StoreBusyError(
            f"a process of an earlier run still writes {path}: wait until it is through, or end it, and run again"
        ) from error


def _lines(path: Path) -> Iterator[Line]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return  # torn, or being written
            try:
                yield json.loads(raw)
            except ValueError as error:
                raise MalformedInputError(f"{path} is damaged: {error}; delete the line", line=number) from error
