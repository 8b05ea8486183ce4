"""Read the JSON files in a data export: one file, a folder, or the downloaded ZIP archive."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import InvalidInputError, MalformedInputError, TextTooLargeError
from nscma_torch.text.files.decoding import decode

MAX_BYTES = 1 << 30  # of one JSON file, which is read whole


def json_files(path: Path, pattern: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and content of each JSON file in an export that matches the pattern, ordered by name.

    A single file is accepted under any name. Raises `InvalidInputError` if there is none.
    """
    try:
        if path.is_dir():
            found = sorted(file for file in path.rglob("*.json") if re.fullmatch(pattern, file.name))
            _some(found, path, pattern)
            for file in found:
                yield str(file.relative_to(path)), parsed(_bounded(file), file.name)
        elif zipfile.is_zipfile(path):
            yield from _of_archive(path, pattern)
        else:
            yield path.name, parsed(_bounded(path), path.name)
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _of_archive(path: Path, pattern: str) -> Iterator[tuple[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        found = sorted(name for name in archive.namelist() if re.fullmatch(pattern, name.rsplit("/", 1)[-1]))
        _some(found, path, pattern)
        for name in found:
            _refuse_large(archive.getinfo(name).file_size, name)
            with archive.open(name) as stream:  # the size in the archive's directory may lie
                data = stream.read(MAX_BYTES + 1)
            _refuse_large(len(data), name)
            yield name, parsed(data, name)


def _some(found: list[Any], path: Path, pattern: str) -> None:
    if not found:
        raise InvalidInputError(
            f"{path} contains no file {pattern.replace(chr(92), '')}; is it an export of the given kind?"
        )


def _bounded(path: Path) -> bytes:
    _refuse_large(path.stat().st_size, path.name)
    return path.read_bytes()


def _refuse_large(size: int, name: str) -> None:
    if size > MAX_BYTES:
        raise TextTooLargeError(f"{name} has {size:,} bytes, more than {MAX_BYTES:,}; split it")


def parsed(data: bytes, name: str) -> Any:
    """Parse a JSON file. Raises `MalformedInputError` with the line of the error, or `EncodingError` if it isn't
    UTF-8.
    """
    try:
        return json.loads(decode(data))
    except json.JSONDecodeError as error:
        raise MalformedInputError(f"{name} is not JSON: {error.msg}", line=error.lineno) from error
    except RecursionError as error:
        raise MalformedInputError(f"{name} is nested too deeply to be read as JSON") from error
