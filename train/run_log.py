"""The log of a training run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def log(out: Path, row: dict[str, Any]) -> None:
    """Print a row, and append it to log.jsonl."""
    print(json.dumps(row), flush=True)
    with (out / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
