"""The page of `--json` shapes, read: which object each command prints, and which keys of which types an object has."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "nscma_torch" / "cli" / "README.md"
SIMPLE: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "time": str, "day": str,
}  # fmt: skip


def _rows(title: str, columns: int) -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").partition(f"### {title}\n")[2].partition("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")][:columns] for line in lines]


def prints() -> dict[str, str]:
    """The type that each command prints, by the command."""
    return {command.strip("`"): re.findall("`(.+?)`", printed)[0] for command, printed in _rows("Commands", 2)}


def objects() -> dict[str, dict[str, str]]:
    """The types of an object's keys, by its name; a key that may be missing ends in "?"."""
    found: dict[str, dict[str, str]] = {}
    for name, key, kind in _rows("Objects", 3):
        if name:
            assert name.strip("`") not in found, name
            found[name.strip("`")] = {}
        found[list(found)[-1]][key.strip("`")] = kind
    return found


class Shapes:
    """Compares values with the page. `seen` are the objects that were compared."""

    def __init__(self) -> None:
        self.objects = objects()
        self.seen: set[str] = set()

    def compare(self, value: Any, kind: str, where: str) -> None:
        """Fail where a value is not of a type of the page."""
        if kind.endswith("?"):
            if value is not None:
                self.compare(value, kind[:-1], where)
        elif kind.startswith("["):
            assert isinstance(value, list), (where, value)
            for number, one in enumerate(value):
                self.compare(one, kind[1:-1], f"{where}[{number}]")
        elif kind.startswith("{"):
            assert isinstance(value, dict), (where, value)
            for key, one in value.items():
                self.compare(one, kind[1:-1], f"{where}.{key}")
        elif kind in SIMPLE:
            assert isinstance(value, SIMPLE[kind]) and (kind == "boolean") == isinstance(value, bool), (where, value)
            if kind == "time":
                assert datetime.fromisoformat(value).tzinfo is not None, (where, value)
            if kind == "day":
                date.fromisoformat(value)
        elif kind != "any":
            self._compare_object(value, kind, where)

    def _compare_object(self, value: Any, name: str, where: str) -> None:
        self.seen.add(name)
        keys = self.objects[name]
        needed = {key for key in keys if not key.endswith("?")}
        assert needed <= set(value), f"{where}: no {sorted(needed - set(value))}"
        known = {key.removesuffix("?"): kind for key, kind in keys.items()}
        assert set(value) <= set(known), f"{where}: {sorted(set(value) - set(known))} are not on the page"
        for key, one in value.items():
            self.compare(one, known[key], f"{where}.{key}")
