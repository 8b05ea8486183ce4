"""Files of one JSON value a line that are too large to be kept: what stands where, and one line of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def placed_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Place (in bytes) and value of each line that is not blank. Raises `JSONDecodeError` for a line of no JSON."""
    place = 0
    with path.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield place, json.loads(line)
            place += len(line)


def line_at(path: Path, place: int) -> Any:
    """The value of the line that begins at a place."""
    with path.open("rb") as lines:
        lines.seek(place)
        return json.loads(lines.readline())
