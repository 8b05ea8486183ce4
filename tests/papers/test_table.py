"""The tables of `docs/papers.md` have every key that a preset sets, and name files that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from nscma_torch.core.config import load_config, read_toml
from tests.papers.presets import FOLDER, NAMES

ROOT = FOLDER.parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
COLUMNS = "| equation | keys | code | test | our default, and why it differs |"


def rows(name: str) -> list[list[str]]:
    """The cells of each row of a paper's table."""
    part = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    table = part[part.index(COLUMNS) :].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table if line.startswith("|")]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def keys(values: dict[str, Any], above: str = "") -> Iterator[str]:
    """Dotted names of all keys of a TOML file."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from keys(value, f"{above}{key}.")
        else:
            yield above + key


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_a_preset_has_its_equation(name: str) -> None:
    told = [key for row in rows(name) for key in quoted(row[1])]
    assert len(told) == len(set(told)), "a key belongs to one equation"
    assert set(told) == set(keys(read_toml(FOLDER / f"{name}.toml")))


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_whole_and_name_what_is_there(name: str) -> None:
    for equation, named, code, tests, default in rows(name):
        assert equation and default and (named == "none" or quoted(named)), equation
        for path in (*quoted(code), *quoted(tests)):
            assert (ROOT / path).is_file(), f"{equation}: {path}"
        assert quoted(code) and quoted(tests), equation


@pytest.mark.parametrize("name", NAMES)
def test_the_source_stands_beside_the_key(name: str) -> None:
    """Every section of a preset begins with a comment."""
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    load_config(FOLDER / f"{name}.toml")
    for part in re.split(r"^\[[\w.]+\]\n", text, flags=re.MULTILINE)[1:]:
        assert part.startswith("#"), part
