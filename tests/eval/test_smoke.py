"""A run of configs/eval/smoke.toml from its data to its report, in this process."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import torch
from rich.console import Console

from eval.report import load, write
from eval.run import Options, run
from eval.systems.catalogue import make_system
from eval.tasks.catalogue import make_task

ROOT = Path(__file__).parents[2]
SENTENCES = (
    "The old harbour lay quiet under the fog that morning.",
    "Nobody on the quay had slept well since the storm took the lower nets.",
    "She counted the lanterns along the wall and found that one of them was missing.",
    "A cart rolled by, laden with barrels that smelled of tar and of apples.",
    "He had promised her a letter before the first snow, and the first snow had come.",
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two stories of qa1 with two questions each, and a book."""
    lines = []
    for number, place in ((1, "garden"), (4, "kitchen")):
        lines += [f"{number} Mary went to the {place}.", f"{number + 1} John picked up the milk."]
        lines.append(f"{number + 2} Where is Mary? \t{place}\t{number}")
    folder = tmp_path / "data"
    for name in ("babi", "novels"):
        (folder / name).mkdir(parents=True)
    (folder / "babi" / "qa1_single-supporting-fact_test.txt").write_text("\n".join(lines * 2) + "\n", encoding="utf-8")
    book = "\n\n".join(f"Chapter {chapter}. {' '.join(SENTENCES)}" for chapter in range(1, 40))
    (folder / "novels" / "harbour.txt").write_text(book, encoding="utf-8")
    return folder


def test_from_data_to_report(data: Path, tmp_path: Path) -> None:
    options = Options(ROOT / "configs" / "eval" / "smoke.toml", data, tmp_path / "out")
    shown = Console(file=io.StringIO(), width=200)
    threads = torch.get_num_threads()
    assert run(options, make_task, make_system, shown) == 0, shown.file.getvalue()  # type: ignore[attr-defined]
    assert torch.get_num_threads() == threads
    results = load(tmp_path / "out")
    assert results.tasks == ["BABILong 0k", "BABILong 1k"] and len(results.systems["BABILong 1k"]) == 3
    assert not results.failures and not results.missing
    text = write(results, tmp_path / "report").read_text(encoding="utf-8")
    head = text.splitlines()[0]
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["commit"] in head and record["machine"] in head and record["started"][:10] in head
    with (tmp_path / "report" / "babilong.csv").open(encoding="utf-8") as file:
        rows = {(row["system"], row["half"]): row for row in csv.DictReader(file)}
    assert float(rows["NSCMA full", "all"]["BABILong 0k"]) == 1.0, "Mary is where she went"
    assert rows["BM25", "all"]["BABILong 1k samples"] == "2"
    for name in ("babilong", "babilong-cost", "differences-babilong-1k-accuracy"):
        assert (tmp_path / "report" / f"{name}.png").stat().st_size > 1000
