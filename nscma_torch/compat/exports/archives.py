"""Read the files in a data export: one file, a folder, or the downloaded ZIP archive."""

from __future__ import annotations

import codecs
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from nscma_torch.core.errors import EncodingError, InvalidInputError, MalformedInputError, TextTooLargeError
from nscma_torch.text.files.decoding import decode

MAX_BYTES = 1 << 30  # of one JSON file, which is read whole
MAX_STREAMED_BYTES = 1 << 34  # of one file that is read in chunks
MAX_LINE = 1 << 24  # characters
_CHUNK = 1 << 18
_ENCRYPTED = 1  # flag of an archive's entry


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file in an export; `name` is its path in the folder or archive, with slashes."""

    name: str
    size: int
    opened: Callable[[], IO[bytes]]

    @property
    def base(self) -> str:
        """Return the name without folders."""
        return self.name.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """Return the name of the folder that contains the file, or "" at the top."""
        return self.name.rpartition("/")[0].rpartition("/")[2]

    def folder_in(self, path: Path) -> str:
        """Return the name of the folder that contains the file; at the top of an export, that of the folder or archive
        at `path`, and of the folder around a single file.
        """
        return self.folder or (path.absolute().parent.name if self.name == path.name else path.name)

    def json(self) -> Any:
        """Read the file whole, and parse it; see `parsed`. Raises `TextTooLargeError` above `MAX_BYTES`."""
        _refuse_large(self.size, self.name, MAX_BYTES)
        with self.opened() as stream:  # the size in an archive's directory may lie
            data = stream.read(MAX_BYTES + 1)
        _refuse_large(len(data), self.name, MAX_BYTES)
        return parsed(data, self.name)

    def texts(self) -> Iterator[str]:
        """Yield the text in chunks. Raises `EncodingError` if it isn't UTF-8, `TextTooLargeError` above
        `MAX_STREAMED_BYTES`.
        """
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        total = 0
        try:
            with self.opened() as stream:
                while data := stream.read(_CHUNK):
                    total += len(data)
                    _refuse_large(total, self.name, MAX_STREAMED_BYTES)
                    yield decoder.decode(data)
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise EncodingError(f"{self.name} is not UTF-8 ({error.reason}); save it as UTF-8") from error

    def lines(self) -> Iterator[str]:
        """Yield the lines, without their ends. Raises `TextTooLargeError` for a line above `MAX_LINE`."""
        rest = ""
        for text in self.texts():
            *whole, rest = (rest + text).split("\n")
            yield from (line.removesuffix("\r") for line in whole)
            if len(rest) > MAX_LINE:
                raise TextTooLargeError(f"{self.name} has a line of more than {MAX_LINE:,} characters")
        if rest:
            yield rest.removesuffix("\r")


@contextmanager
def parts(path: Path, wanted: Callable[[str], object], described: str) -> Iterator[list[ExportFile]]:
    """Open an export, and yield its files whose name is wanted, ordered by name.

    A single file is accepted under any name. Raises `InvalidInputError`, with `described`, if there is no such file.
    """
    try:
        if path.is_dir():
            yield _some(_of_folder(path, wanted), path, described)
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield _some(_of_archive(archive, wanted), path, described)
        else:
            yield [ExportFile(path.name, path.stat().st_size, lambda: path.open("rb"))]
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidInputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def json_files(path: Path, pattern: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and content of each JSON file in an export whose name without folders matches the pattern."""

    def wanted(name: str) -> bool:
        return re.fullmatch(pattern, name.rpartition("/")[2]) is not None

    with parts(path, wanted, pattern.replace("\\", "")) as found:
        for part in found:
            yield part.name, part.json()


def _of_folder(path: Path, wanted: Callable[[str], object]) -> list[ExportFile]:
    files = ((file.relative_to(path).as_posix(), file) for file in path.rglob("*") if file.is_file())
    return [
        ExportFile(name, file.stat().st_size, lambda file=file: file.open("rb"))  # type: ignore[misc]
        for name, file in files
        if wanted(name)
    ]


def _of_archive(archive: zipfile.ZipFile, wanted: Callable[[str], object]) -> list[ExportFile]:
    found = []
    for entry in archive.infolist():
        if entry.is_dir() or not wanted(entry.filename):
            continue
        if entry.flag_bits & _ENCRYPTED:
            raise InvalidInputError(f"{entry.filename} is encrypted; unpack the archive, and name its folder")
        found.append(ExportFile(entry.filename, entry.file_size, lambda entry=entry: archive.open(entry)))  # type: ignore[misc]
    return found


def _some(found: list[ExportFile], path: Path, described: str) -> list[ExportFile]:
    if not found:
        raise InvalidInputError(f"{path} contains no file {described}; is it an export of the given kind?")
    return sorted(found, key=lambda part: part.name)


def _refuse_large(size: int, name: str, most: int) -> None:
    if size > most:
        raise TextTooLargeError(f"{name} has {size:,} bytes or more, but the limit is {most:,}; split it")


def parsed(data: bytes, name: str) -> Any:
    """Parse a JSON file. Raises `MalformedInputError` with the line of the error, or `EncodingError` if it isn't
    UTF-8.
    """
    try:
        return json.loads(decode(data))
    except json.JSONDecodeError as error:
        raise MalformedInputError(f"{name} is not JSON: {error.msg}", line=error.lineno) from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise MalformedInputError(f"{name} cannot be read as JSON: nested too deeply, or a number too long") from error
