"""The shapes of `--json` in docs/json_output.toml: the object of each command, and the keys of each object."""

from __future__ import annotations

import tomllib
from datetime import date, datetime
from pathlib import Path
from typing import Any

DATA = tomllib.loads((Path(__file__).parents[2] / "docs" / "json_output.toml").read_text(encoding="utf-8"))
SIMPLE: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "time": str, "day": str,
}  # fmt: skip


def prints() -> dict[str, str]:
    """The type that each command prints, by the command."""
    return {command: kind for command, (kind, *_) in DATA["commands"].items()}


def objects() -> dict[str, dict[str, str]]:
    """The types of an object's keys, by its name; a key that may be missing ends in "?"."""
    return {name: {key: kind for key, (kind, *_) in keys.items()} for name, keys in DATA["objects"].items()}


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
