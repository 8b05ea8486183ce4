"""Tables as Markdown for readers and as CSV for programs, from the same cells."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.reporting.bootstrap import Interval


@dataclass(frozen=True)
class Shown:
    """A number, and how a reader sees it."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Several:
    """Numbers that a reader sees in one cell; in the CSV each has its column, named by the cell's and its own key."""

    values: Mapping[str, float]
    text: str

    def __str__(self) -> str:
        return self.text


Cell = str | int | Interval | Shown | Several | None


@dataclass(frozen=True)
class Table:
    """Rows of cells by column; the first row has every column.

    Attributes:
        name: of its CSV file, without the ending.
        note: what the reader must know, below it.
    """

    name: str
    title: str
    rows: Sequence[Mapping[str, Cell]]
    note: str = ""

    def markdown(self) -> str:
        """Title, table and note."""
        columns = list(self.rows[0])
        lines = [columns, ["---"] * len(columns), *([_told(row.get(name)) for name in columns] for row in self.rows)]
        drawn = [f"| {' | '.join(cells)} |" for cells in lines]
        return "\n".join([f"**{self.title}**", "", *drawn, *(["", self.note] if self.note else [])])

    def write_csv(self, folder: Path) -> None:
        """One file; an interval is five columns."""
        with (folder / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
            spread = [_spread(row) for row in self.rows]
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in spread for key in row)))
            writer.writeheader()
            writer.writerows(spread)


def slug(text: str) -> str:
    """A name for a file."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def _told(cell: Cell) -> str:
    return "–" if cell is None else str(cell).replace("|", "\\|").replace("\n", " ")


def _spread(row: Mapping[str, Cell]) -> dict[str, str | int | float]:
    cells: dict[str, str | int | float] = {}
    for name, cell in row.items():
        if isinstance(cell, Interval):
            cells |= {name: cell.value, f"{name} low": cell.low, f"{name} high": cell.high}
            cells |= {f"{name} samples": cell.samples, f"{name} questions": cell.questions}
        elif isinstance(cell, Shown):
            cells[name] = cell.value
        elif isinstance(cell, Several):
            cells |= {f"{name} {own}": value for own, value in cell.values.items()}
        else:
            cells[name] = "" if cell is None else cell
    return cells
