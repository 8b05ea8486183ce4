"""The raw results of a run: JSON lines in `raw-<rank>.jsonl`, one for each (task, system, sample).

A line is the atom of work: it is there whole or not at all. What a kill left of a line is cut off before the next run
goes on, and its unit is done again. Of a unit that failed and was tried again the later line counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nscma_torch.errors import MalformedInputError, StoreError

RESULTS = "results.jsonl"
_RAW = "raw-*.jsonl"
_BLOCK = 1 << 16

Line = Mapping[str, Any]
Key = tuple[str, str, str]  # task, system, sample


class RawLines:
    """The file of one rank, to append to."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._path = folder / f"raw-{rank}.jsonl"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def append(self, line: Line) -> None:
        """Write a line at once, on disk when this returns; StoreError where there is no room for all of it."""
        data = json.dumps(line, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace") + b"\n"
        if os.write(self._file, data) != len(data):
            raise StoreError(f"{self._path} took a part of a line alone: make room on its disk, and run again")
        os.fsync(self._file)

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
    """Cut off what follows the last whole line of each file; nobody else may be writing."""
    for path in sorted(folder.glob(_RAW)):
        with path.open("r+b") as file:
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
    """The line of each unit: the one without an error, else the last.

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
            lines[key_of(line)] = line
    return lines


def write_results(folder: Path, lines: Sequence[Line]) -> None:
    """`results.jsonl`: all lines by task, system and sample; a kill leaves the old file or the new one."""
    unfinished = folder / f"{RESULTS}.part"
    with unfinished.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for line in sorted(lines, key=key_of):
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / RESULTS)


def _lines(path: Path) -> Iterator[Line]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield json.loads(raw)
            except ValueError as error:
                raise MalformedInputError(f"{path} is damaged: {error}; delete the line", line=number) from error
