"""The report of made-up runs: what its tables say, what it marks, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from eval import report
from eval.report import load, write
from eval.reporting.bootstrap import Interval
from eval.reporting.differences import verdict
from eval.reporting.results import JUDGED
from nscma_torch.core.errors import ConfigError, InvalidInputError, MalformedInputError
from tests.eval.raw import failed, line, question, read_csv, run

SYSTEMS = [{"kind": "a", "name": "full"}, {"kind": "b", "name": "plain"}]
TASKS = [{"kind": "t", "name": "Talks"}]


def always(index: int) -> bool:
    return index >= 0


def talks(score: dict[str, Any]) -> list[dict[str, Any]]:
    """20 samples of one question; `score` says which indices each system gets right."""
    return [
        line("Talks", system, i, [question(accuracy=float(right(i)))])
        for i in range(20)
        for system, right in score.items()
    ]


def test_halves_and_costs_of_a_task(tmp_path: Path) -> None:
    lines = talks({"full": lambda i: i < 15, "plain": lambda i: i % 2})
    path = write(load(run(tmp_path / "run", lines, tasks=TASKS, systems=SYSTEMS)), tmp_path / "to")
    full, plain = read_csv(tmp_path / "to" / "task-talks.csv")
    assert [full["system"], plain["system"]] == ["full", "plain"], "in the order of the configuration"
    assert [float(full[f"accuracy, {half}"]) for half in ("even", "odd", "all")] == [0.8, 0.7, 0.75]
    assert [float(plain[f"accuracy, {half}"]) for half in ("even", "odd", "all")] == [0.0, 1.0, 0.5]
    assert float(full["accuracy, all low"]) < 0.75 < float(full["accuracy, all high"])
    assert (full["accuracy, odd samples"], full["failed"]) == ("10", "0")
    assert float(full["LLM calls"]) == 3.0, "two to read and one to ask"
    assert (float(full["read s"]), float(full["ask s"]), float(full["store MB"])) == (4.0, 0.5, 2.0)
    text = path.read_text(encoding="utf-8")
    assert text.splitlines()[0] == "`python -m eval.run --config x.toml` at commit abc1234, a machine, 2026-11-20"
    assert "4.000 (flush 3.000, ingest 1.000)" in text
    assert "embedded (rules, no model)" in text and "Incomplete" not in text


def test_a_failed_sample_is_named_and_counts_as_wrong(tmp_path: Path) -> None:
    own = [question("q0", "a", accuracy=1.0), question("q1", "b", accuracy=1.0, recall=0.5)]
    lines = [line("Talks", system, i, own) for i in range(4) for system in ("full", "plain")]
    lines[0] = failed("Talks", "full", 0, "accuracy", "recall")
    lines += [failed("Talks", system, 9, "accuracy", "recall") for system in ("full", "plain")]
    results = load(run(tmp_path / "run", lines, tasks=TASKS, systems=SYSTEMS))
    write(results, tmp_path / "to")
    full, plain = read_csv(tmp_path / "to" / "task-talks.csv")
    assert float(full["accuracy, all"]) == pytest.approx(6 / 9), "its two questions are wrong, and one of no system"
    assert float(plain["accuracy, all"]) == pytest.approx(8 / 9)
    assert float(full["recall, all"]) == pytest.approx(1.5 / 4)
    assert (full["failed"], plain["failed"], full["questions"]) == ("2", "1", "9")
    assert float(full["LLM calls"]) == 4.0, "failed samples cost nothing"
    rows = read_csv(tmp_path / "to" / "failures.csv")
    assert [(row["system"], row["sample"]) for row in rows] == [
        ("full", "s-0000"),
        ("full", "s-0009"),
        ("plain", "s-0009"),
    ]
    assert rows[0]["error"] == "StoreFullError: no space left"
    text = (tmp_path / "to" / "report.md").read_text(encoding="utf-8")
    assert "Failed: 3 of 10 samples; each counts as wrong." in text


def test_a_system_that_lacks_samples_is_marked(tmp_path: Path) -> None:
    lines = [one for one in talks({"full": always, "plain": always}) if one["index"] < 12 or one["system"] == "full"]
    path = write(load(run(tmp_path / "run", lines, tasks=TASKS, systems=SYSTEMS)), tmp_path / "to")
    text = path.read_text(encoding="utf-8")
    assert "**Incomplete.**" in text and "- Talks: 12 of 20 samples (plain)" in text
    assert "| Talks | plain | 12 of 20 samples | not run to the end |" in text


def test_a_system_that_failed_on_everything_has_no_score(tmp_path: Path) -> None:
    lines = [line("Talks", "full", i, [question(accuracy=1.0)]) for i in range(4)]
    lines += [failed("Talks", "plain", i, "accuracy") for i in range(4)]
    config = {"tasks": TASKS, "systems": SYSTEMS, "report": {"differences": {}}}
    text = write(load(run(tmp_path / "run", lines, **config)), tmp_path / "to").read_text(encoding="utf-8")
    assert "| plain | failed | failed | failed | 4 | 4 | 0 | 0 | 4 |" in text
    full, plain = read_csv(tmp_path / "to" / "differences-talks-accuracy.csv")
    assert (float(full["accuracy, odd"]), plain["accuracy, odd"], plain["shown"]) == (1.0, "nan", "failed")


def test_a_failure_is_the_worst_that_there_is(tmp_path: Path) -> None:
    """By what another system was asked, or by its own line where all failed; it stays in its category."""
    metrics = ("updated", "outdated", "recall")
    own = [question("q0", "a", updated=1.0, outdated=0.0), question("q1", "b", updated=1.0)]
    lost = failed("Talks", "full", 3, *metrics)
    keys = ("id", "category", "question", "answers")
    asked = [{**{key: one[key] for key in keys}, "scores": dict.fromkeys(one["scores"], 0.0)} for one in own]
    lines = [line("Talks", "plain", 1, own), {**failed("Talks", "full", 1, *metrics), "unanswered": asked}]
    lines += [{**lost, "unanswered": asked}, {**lost, "system": "plain", "unanswered": asked}]
    lines += [line("Talks", "full", 0, own), line("Talks", "plain", 0, own)]
    lines = [{**one, "metrics": list(metrics)} for one in lines]
    write(load(run(tmp_path / "run", lines, tasks=TASKS, systems=SYSTEMS)), tmp_path / "to")
    full, plain = read_csv(tmp_path / "to" / "task-talks.csv")
    assert float(full["updated, all"]) == pytest.approx(1 / 3) and float(full["outdated, all"]) == pytest.approx(2 / 3)
    assert float(plain["updated, all"]) == pytest.approx(2 / 3) and float(plain["outdated, all"]) == pytest.approx(
        1 / 3
    )
    rows = read_csv(tmp_path / "to" / "categories-talks.csv")
    assert {row["category"] for row in rows} == {"a", "b"}
    assert [float(row["full"]) for row in rows if row["half"] == "all"] == pytest.approx([1 / 3] * 2)


def outcome(number: int, name: str) -> dict[str, Any]:
    scores = {key: float(key == name) for key in ("tp", "fp", "fn", "tn")}
    return question(f"q{number}", accuracy=scores["tp"] + scores["tn"], **scores)


def test_f1_of_classes(tmp_path: Path) -> None:
    """3 tp, 1 fp, 2 fn, 4 tn; a claim of a book that failed is missed if it is true, and else believed."""
    names = ["tp"] * 3 + ["fp"] + ["fn"] * 2 + ["tn"] * 4
    whole = line("Books", "full", 0, [outcome(i, name) for i, name in enumerate(names)])
    right = line("Books", "full", 1, [outcome(0, "tp"), outcome(1, "tn")])
    metrics = ("accuracy", "tp", "fp", "fn", "tn")
    lines = [whole, right, {**whole, "system": "plain"}, failed("Books", "plain", 1, *metrics)]
    path = write(load(run(tmp_path / "run", lines, systems=SYSTEMS)), tmp_path / "to")
    full, plain = read_csv(tmp_path / "to" / "classes-books.csv")
    assert float(full["F1_P, even"]) == pytest.approx(2 * 3 / (2 * 3 + 3))
    assert float(full["F1_N, even"]) == pytest.approx(2 * 4 / (2 * 4 + 3))
    assert float(full["F1_P, even low"]) < 2 / 3 < float(full["F1_P, even high"])
    assert float(plain["F1_P, all"]) == pytest.approx(2 * 3 / (2 * 3 + 5))
    assert float(plain["F1_N, all"]) == pytest.approx(2 * 4 / (2 * 4 + 5))
    assert plain["F1_P, odd"] == "nan", "all of the half failed"
    assert "F1 of classes" in path.read_text(encoding="utf-8")


def test_differences_are_paired_and_say_what_they_show(tmp_path: Path) -> None:
    score = {"full": lambda i: i < 18, "plain": lambda i: i < 4}
    config = {"tasks": TASKS, "systems": SYSTEMS, "report": {"differences": {"reference": "full"}}}
    write(load(run(tmp_path / "run", talks(score), **config)), tmp_path / "to")
    full, plain = read_csv(tmp_path / "to" / "differences-talks-accuracy.csv")
    assert full["difference, odd"] == ""
    assert float(plain["difference, all"]) == pytest.approx(-0.7)
    assert -0.9 <= float(plain["difference, all low"]) < -0.7 < float(plain["difference, all high"]) <= -0.4
    assert plain["shown"] == "worse than full"
    assert float(plain["times the latency"]) == 1.0
    assert float(plain["difference, odd low"]) == pytest.approx(-0.865, abs=5e-4), "Newcombe's of ten pairs"
    assert (tmp_path / "to" / "differences-talks-accuracy.png").read_bytes().startswith(b"\x89PNG")


def test_verdicts_of_differences() -> None:
    assert verdict(Interval(-0.1, -0.2, 0.0, 20, 20, 20), 0.06, "F1", "full") == "not shown"
    higher = Interval(0.1, 0.05, 0.2, 20, 20, 20)
    assert verdict(higher, 0.01, "F1", "full") == "better than full"
    assert verdict(higher, 0.01, "outdated", "full") == "worse than full"
    assert verdict(higher, 0.06, "F1", "full") == "not shown", "by the correction"
    assert verdict(Interval(0.1, 0.1, 0.1, 1, 1, 1), 1.0, "F1", "full") == "too few samples"
    assert verdict(Interval(0.1, 0.05, 0.2, 9, 90, 90), 0.01, "F1", "full") == "too few samples", "questions were drawn"


def test_knowledge_updates(tmp_path: Path) -> None:
    scores = [question("q0", "update", updated=1.0, outdated=0.0), question("q1", "other", updated=0.0, outdated=1.0)]
    lines = [line("Talks", "full", i, scores) for i in range(4)]
    keys = {"updates": {"categories": ["update"]}}
    write(load(run(tmp_path / "run", lines, report=keys)), tmp_path / "to")
    (row,) = read_csv(tmp_path / "to" / "updates-talks.csv")
    assert (float(row["current, odd"]), float(row["outdated, odd"])) == (1.0, 0.0)
    assert {path.name for path in (tmp_path / "to").glob("updates*.png")} == {
        "updates-talks-odd.png",
        "updates-talks-all.png",
    }


def test_grid_is_laid_out_by_the_sections(tmp_path: Path) -> None:
    systems = [
        {"kind": "s", "name": f"{kind} {way}", "options": {"kinds": kind.split()}, "strategy": way}
        for kind in ("chunk", "chunk summary")
        for way in ("single-step", "rerank")
    ]
    lines = [
        line("Talks", one["name"], i, [question(f1=float(n))]) for n, one in enumerate(systems[:3]) for i in range(4)
    ]
    keys = {"grid": {"rows": "options.kinds", "columns": "strategy"}}
    write(load(run(tmp_path / "run", lines, systems=systems, report=keys)), tmp_path / "to")
    chunk, mixed = read_csv(tmp_path / "to" / "grid-talks-f1-odd.csv")
    assert next(iter(chunk.values())) == "chunk" and next(iter(mixed.values())) == "chunk + summary"
    assert (float(chunk["single-step"]), float(chunk["rerank"]), float(mixed["single-step"])) == (0.0, 1.0, 2.0)
    assert mixed["rerank"] == "", "not run"
    assert (float(chunk["rerank: seconds to read"]), mixed["rerank: seconds to ask"]) == (4.0, "")


def test_sweeps_over_systems_and_tasks(tmp_path: Path) -> None:
    systems = [{"kind": "s", "name": f"K={k}", "k": k} for k in (20, 5)]
    tasks = [{"kind": "t", "name": f"noise {n}", "noise": n} for n in (0, 100)]
    lines = [
        line(task["name"], one["name"], i, [question(f1=one["k"] / 100 + (task["noise"] == 0), recall=1.0)])
        for task in tasks
        for one in systems
        for i in range(2)
    ]
    by_k = {"label": "K", "key": "k", "lines": {"dense": ["K=20", "K=5"]}}
    by_noise = {"label": "noise", "over": "tasks", "key": "noise", "lines": {"Noise": ["noise 0", "noise 100"]}}
    keys = {"sweeps": {"metrics": ["f1", "recall"], "sweeps": [{**by_k, "metrics": ["f1"]}, by_noise]}}
    write(load(run(tmp_path / "run", lines, systems=systems, tasks=tasks, report=keys)), tmp_path / "to")
    rows = read_csv(tmp_path / "to" / "sweep-k-noise-0-f1.csv")
    assert [(row["line"], float(row["K"]), float(row["f1, all"])) for row in rows] == [
        ("dense", 5, 1.05),
        ("dense", 20, 1.2),
    ]
    assert (tmp_path / "to" / "sweep-noise-noise-recall.csv").exists()
    assert not (tmp_path / "to" / "sweep-k-noise-0-recall.csv").exists(), "a sweep may say what is drawn of it"
    rows = read_csv(tmp_path / "to" / "sweep-noise-noise-f1.csv")
    assert [(row["line"], float(row["noise"])) for row in rows] == [
        ("K=20", 0),
        ("K=20", 100),
        ("K=5", 0),
        ("K=5", 100),
    ]


def test_verdicts_of_a_judge_are_a_metric(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", talks({"full": lambda i: i < 0}), tasks=TASKS)
    judged = [
        f'{{"task": "Talks", "system": "full", "sample": "s-{i:04}", "question": "q0", "verdict": "{said}", '
        '"prompt": "123", "engine": "e"}\n'
        for i, said in enumerate(["right"] * 5 + ["abstained_correctly"] * 5 + ["wrong"] * 10)
    ]
    (folder / "judged.jsonl").write_text("".join(judged), encoding="utf-8")
    path = write(load(folder), tmp_path / "to")
    (row,) = read_csv(tmp_path / "to" / "task-talks.csv")
    assert float(row[f"{JUDGED}, all"]) == 0.5
    assert "Judge: e, prompt SHA-256 123." in path.read_text(encoding="utf-8")
    (folder / "judged.jsonl").write_text("".join(judged[:-1]), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="not judged yet"):
        load(folder)


def test_a_run_that_has_not_ended_is_reported_as_far_as_it_is(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", talks({"full": always}), tasks=TASKS)
    whole = write(load(folder), tmp_path / "whole").read_text(encoding="utf-8")
    (folder / "results.jsonl").rename(folder / "raw-0.jsonl")
    with pytest.raises(InvalidInputError, match="not finished"):
        load(folder)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps({**record, "ended": None}), encoding="utf-8")
    with (folder / "raw-0.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"task": "Talks", "sys')  # a line that is being written
    text = write(load(folder), tmp_path / "to").read_text(encoding="utf-8")
    assert "**Not ended.**" in text and "**Not ended.**" not in whole
    assert (tmp_path / "to" / "task-talks.csv").read_text() == (tmp_path / "whole" / "task-talks.csv").read_text()
    (folder / "run.json").unlink()
    with pytest.raises(InvalidInputError, match="holds no run"):
        load(folder)


def test_lines_that_contradict_the_format_are_refused(tmp_path: Path) -> None:
    lines = talks({"full": always})
    with pytest.raises(InvalidInputError, match="stands twice"):
        load(run(tmp_path / "twice", [*lines, lines[0]]))
    with pytest.raises(MalformedInputError, match=r"line 21: .*half"):
        load(run(tmp_path / "bad", [*lines, {**lines[0], "half": "first"}]))
    with pytest.raises(InvalidInputError, match="empty"):
        load(run(tmp_path / "empty", []))
    both = talks({"full": always, "plain": always})
    load(run(tmp_path / "same", [{**own, "data": own["sample"]} for own in both[:-1]] + both[-1:]))
    with pytest.raises(InvalidInputError, match="Talks, s-0019: the systems did not read the same data"):
        load(run(tmp_path / "other", [{**own, "data": str(n // 39)} for n, own in enumerate(both)]))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"bars": {}}, "knows babilong"),
        ({"differences": {"refrence": "full"}}, "did you mean 'reference'"),
        ({"differences": {"reference": "ful"}}, "did you mean 'full'"),
        ({"differences": {"tasks": ["Talk"]}}, "did you mean 'Talks'"),
        ({"grid": {}}, "no key 'structure'"),
        ({"updates": {}}, "no metric of Talks"),
    ],
)
def test_a_report_that_the_run_cannot_give_is_refused(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    lines = talks({"full": always})
    folder = run(tmp_path / "run", lines, tasks=TASKS, systems=SYSTEMS, report=keys)
    with pytest.raises(ConfigError, match=said):
        write(load(folder), tmp_path / "to")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run(tmp_path / "run", talks({"full": always}))
    monkeypatch.setattr(sys, "argv", ["eval.report", str(folder), "--to", str(tmp_path / "to")])
    report.main()
    assert capsys.readouterr().out.strip() == str(tmp_path / "to" / "report.md")
    assert not list((tmp_path / "to").glob("differences*"))
    config = tmp_path / "later.toml"
    config.write_text(
        'title = "Later"\n[report.differences]\n[[tasks]]\nkind = "t"\nname = "Talks"\n'
        '[[systems]]\nkind = "a"\nname = "full"\n',
        encoding="utf-8",
    )
    arguments = ["eval.report", str(folder), "--to", str(tmp_path / "to"), "--config", str(config)]
    monkeypatch.setattr(sys, "argv", arguments)
    report.main()
    assert "# Later" in (tmp_path / "to" / "report.md").read_text(encoding="utf-8")
    assert list((tmp_path / "to").glob("differences*.csv"))
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["eval.report", str(tmp_path), "--to", str(tmp_path / "to")])
    with pytest.raises(SystemExit):
        report.main()
    assert "holds no run" in capsys.readouterr().err
