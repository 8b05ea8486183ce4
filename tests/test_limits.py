"""docs/limits.md: each figure is in the file that its line names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
FIGURE = re.compile(r"(?<![\w.])\.\d+|\b\d+ of \d+\b")  # .626, 131 of 192
ROWS = re.findall(r"^\| (.+) \| (.+) \| `(\S+\.md)` \|$", PAGE, flags=re.MULTILINE)
SOURCE = re.compile(r"`((?:eval/results|docs)/\w+\.md)`")
PARTS = SOURCE.split(re.sub(r"^\|.*", "", PAGE, flags=re.MULTILINE))  # text, source, text, source, …


def test_figures_are_found() -> None:
    assert len(ROWS) >= 14 and len(PARTS) > 12


@pytest.mark.parametrize(("what", "figures", "source"), ROWS, ids=lambda value: value[:40])
def test_figures_of_a_row_are_in_its_source(what: str, figures: str, source: str) -> None:
    check(figures, source)


def test_figures_of_the_text_are_in_its_sources() -> None:
    for text, source in zip(PARTS[::2], PARTS[1::2], strict=False):
        check(text, source)


def check(text: str, source: str) -> None:
    known = (ROOT / source).read_text(encoding="utf-8")
    for figure in FIGURE.findall(text):
        assert re.search(rf"(?<![\w.]){re.escape(figure)}(?!\d)", known), f"{source} has no {figure}"
