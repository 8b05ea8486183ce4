"""What the tables of a report say of seconds beside their scores."""

from __future__ import annotations

from pathlib import Path

from eval.report import load, write
from tests.eval.raw import line, question, read_csv, run


def test_a_slower_answer_is_not_hidden_behind_a_faster_reading(tmp_path: Path) -> None:
    slow = question(accuracy=1.0)
    slow["cost"] = {**slow["cost"], "seconds": {"ask": 1.5}}
    lines = [line("Talks", "full", i, [question(accuracy=1.0)]) for i in range(2)]
    lines += [line("Talks", "plain", i, [slow], read={"seconds": {"ingest": 0.75}}) for i in range(2)]
    write(load(run(tmp_path / "run", lines, report={"differences": {}})), tmp_path / "to")
    _, plain = read_csv(tmp_path / "to" / "differences-talks-accuracy.csv")
    assert (float(plain["times the latency"]), float(plain["times the asking"])) == (0.5, 3.0)


def test_what_a_category_costs_stands_below_its_scores(tmp_path: Path) -> None:
    slow = question("q1", "slow", accuracy=0.0)
    slow["cost"] = {**slow["cost"], "seconds": {"ask": 1.5}}
    lines = [line("Talks", "full", i, [question("q0", "fast", accuracy=1.0), slow]) for i in range(2)]
    path = write(load(run(tmp_path / "run", lines)), tmp_path / "to")
    rows = [row for row in read_csv(tmp_path / "to" / "categories-talks.csv") if row["half"] == "all: seconds"]
    assert [(row["category"], float(row["full to read"]), float(row["full to ask"])) for row in rows] == [
        ("fast", 4.0, 0.5),
        ("slow", 4.0, 1.5),
    ]
    assert "| slow | all: seconds | 4.000 / 1.500 |" in path.read_text(encoding="utf-8")
