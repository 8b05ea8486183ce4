"""BABILong by length, as the report has it of made-up runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval.report import load, write
from tests.eval.raw import failed, line, question, read_csv, run


def babilong(tmp_path: Path) -> Path:
    """Two lengths; qa1 is always right, qa2 at 0k alone, qa4 never. At 10k there are half as many samples."""
    lines = []
    for name, size, n in (("BABILong 10k", 40_000, 10), ("BABILong 0k", 400, 20)):
        for number, category in enumerate(("qa1", "qa2", "qa4")):
            for i in range(n):
                right = category == "qa1" or (category == "qa2" and n == 20)
                own = [question("q0", category, accuracy=float(right))]
                lines.append(line(name, "full", number * n + i, own, size=size, sample=f"{category}-{i}"))
    report_keys = {"babilong": {"categories": ["qa1", "qa2"]}}
    return run(tmp_path / "run", lines, report=report_keys)


def test_babilong_by_length(tmp_path: Path) -> None:
    path = write(load(babilong(tmp_path)), tmp_path / "to")
    assert "**Not held out.** BABILong is not held out" in path.read_text(encoding="utf-8")
    odd, everything, _ = read_csv(tmp_path / "to" / "babilong.csv")
    assert next(name for name in odd if name.startswith("BABILong")) == "BABILong 0k", "the shortest text first"
    assert float(everything["BABILong 0k"]) == 1.0 and float(everything["BABILong 10k"]) == 0.5
    assert everything["BABILong 10k samples"] == "20", "of the two tasks of the mean"
    (fall,) = read_csv(tmp_path / "to" / "babilong-difference.csv")
    assert (fall["from"], fall["to"], float(fall["difference, all"])) == ("BABILong 0k", "BABILong 10k", -0.5)
    assert fall["difference, all samples"] == "20", "on the samples that both have"
    assert float(fall["to: seconds to read"]) == 4.0
    rows = read_csv(tmp_path / "to" / "babilong-tasks.csv")
    assert [float(row["qa4, all"]) for row in rows] == [0.0, 0.0]
    assert not (tmp_path / "to" / "babilong-multi-hop.csv").exists(), "qa3 is not in its mean"
    text = path.read_text(encoding="utf-8")
    assert text.index("BABILong by length") < text.index("All tasks and systems")
    for name in ("babilong", "babilong-cost"):
        assert (tmp_path / "to" / f"{name}.png").stat().st_size > 1000


def timed(length: str, category: str, i: int, seconds: float, **more: Any) -> dict[str, Any]:
    """A line of a system that reads in so many seconds; qa1 is always right, the others never."""
    own = question("q0", category, accuracy=float(category == "qa1"))
    own["cost"] = {**own["cost"], "seconds": {"ask": seconds / 10}}
    name, size = f"BABILong {length}", {"0k": 100, "10k": 1000, "100k": 10_000, "1M": 100_000}[length]
    read = {"llm_calls": 0, "tokens_in": 0, "tokens_out": 0, "seconds": {"ingest": seconds}}
    return line(name, "full", i, [own], size=size, sample=f"{category}-{i}", read=read, **more)


def lengths(tmp_path: Path, lines: list[dict[str, Any]], **options: Any) -> Path:
    tasks = [
        {"kind": "babilong", "name": f"BABILong {name}", "length": length}
        for name, length in (("0k", 0), ("10k", 10_000), ("100k", 100_000), ("1M", 1_000_000))
    ]
    folder = run(tmp_path / "run", lines, tasks=tasks, report={"babilong": options})
    return write(load(folder), tmp_path / "to")


def test_growth_is_told_from_length_to_length_over_the_same_samples(tmp_path: Path) -> None:
    """10k to 100k: 100 times the seconds on both samples that both have; 100k to 1M: other samples, 10 times."""
    lines = [timed("0k", "qa1", i, 50.0) for i in range(4)]
    lines += [timed("10k", "qa1", 0, 1.0), timed("10k", "qa2", 1, 3.0), timed("10k", "qa1", 2, 77.0)]
    lines += [timed("10k", "qa4", 4, 500.0), timed("100k", "qa4", 4, 1.0)]
    lines += [
        timed("100k", "qa1", 0, 100.0),
        timed("100k", "qa2", 1, 300.0),
        failed("BABILong 100k", "full", 9, "accuracy"),
    ]
    lines += [timed("1M", "qa3", 5, 2000.0)]
    text = lengths(tmp_path, lines).read_text(encoding="utf-8")
    first, second = read_csv(tmp_path / "to" / "babilong-growth.csv")
    assert (first["step"], second["step"]) == ("10k → 100k", "100k → 1M"), "not from the statements alone"
    assert (first["samples of both"], second["samples of both"]) == ("2", "0")
    assert float(first["seconds to read"]) == pytest.approx(2.0) == float(first["seconds to ask"])
    assert float(second["seconds to read"]) == pytest.approx(1.0)
    assert float(first["store, MB"]) == 0.0 and "-0.00" not in text


def test_the_mean_of_several_hops_stands_apart_and_costs_beside_all_scores(tmp_path: Path) -> None:
    categories = enumerate(["qa1", "qa2", "qa3", "qa4"] * 2)
    lines = [timed("10k", category, i, 100.0 if category == "qa4" else float(i % 4)) for i, category in categories]
    lines += [timed("100k", "qa1", 0, 1500.0)]
    text = lengths(tmp_path, lines).read_text(encoding="utf-8")
    _, whole, _ = read_csv(tmp_path / "to" / "babilong.csv")
    _, hops, _ = read_csv(tmp_path / "to" / "babilong-multi-hop.csv")
    assert float(whole["BABILong 10k"]) == pytest.approx(1 / 3) and float(hops["BABILong 10k"]) == 0.0
    assert float(whole["BABILong 10k: seconds to read"]) == pytest.approx(1.0), "qa4 is in neither mean"
    assert float(hops["BABILong 10k: seconds to read"]) == pytest.approx(1.5)
    assert float(hops["BABILong 10k: seconds to ask"]) == pytest.approx(0.15)
    assert "BABILong 100k: seconds to read" in whole.keys() - hops.keys()
    assert "| 1.500 / 0.150 | – | – |" in text and "1,500 / 150 |" in text
    assert "mean of qa2, qa3**" in text
