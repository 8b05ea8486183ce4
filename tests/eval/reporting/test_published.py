"""The table of BABILong says what its committed report says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "eval" / "results"
SYSTEMS = {"NSCMA": "NSCMA full", "RAG (ChromaDB), top 5": "RAG (ChromaDB)", "BM25, top 5": "BM25"}
_CELL = re.compile(r"\*{0,2}([\d.]+) / ([\d.]+)\*{0,2}(?: \[([\d.]+), ([\d.]+)\])?")


def table(readme: str, corner: str) -> list[dict[str, str]]:
    """The rows of the table whose first column is headed so, by the names of its columns."""
    lines = (ROOT / readme).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {corner} |"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    head, _, *body = rows
    return [dict(zip(head, row, strict=True)) for row in body]


def report(path: str) -> list[dict[str, str]]:
    with (RESULTS / path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def same(told: str, value: str) -> bool:
    """Whether a figure is the value, rounded to its own places."""
    places = len(told.partition(".")[2])
    return f"{float(told):.{places}f}" == f"{float(value) + 0.0:.{places}f}" or told == value


@pytest.mark.parametrize("row", table("eval/results/papers.md", "length"), ids=lambda row: row["length"])
def test_babilong(row: dict[str, str]) -> None:
    found = {(own["system"], own["half"]): own for own in report("babilong/report/babilong.csv")}
    length = f"BABILong {row['length']}"
    compared = 0
    for name, cell in row.items():
        if name == "length" or not _CELL.match(cell):
            continue
        odd, both, low, high = _CELL.match(cell).groups()  # type: ignore[union-attr]
        if "to read" in name:
            whole = found["NSCMA full", "all"]
            assert same(odd, whole[f"{length}: seconds to read"]) and same(both, whole[f"{length}: seconds to ask"])
            continue
        own = found[SYSTEMS.get(name, name), "odd"]
        assert same(odd, own[length]) and same(both, found[SYSTEMS.get(name, name), "all"][length]), (name, cell)
        if low:
            assert same(low, own[f"{length} low"]) and same(high, own[f"{length} high"]), (name, cell)
        compared += 1
    assert compared >= 4
