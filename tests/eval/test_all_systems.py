"""Every system of configs/eval/systems.toml reads a chat and answers; any number of ranks gives the same."""

from __future__ import annotations

from pathlib import Path

from tests.eval import small_chats
from tests.eval.test_run import results

BROKEN = {"kind": "tests.eval.small_chats:Raising", "name": "raises"}


def test_each_reads_and_answers_and_one_that_raises_fails_alone(tmp_path: Path) -> None:
    config, out = small_chats.write(tmp_path / "run.toml", BROKEN, samples=1), tmp_path / "out"
    assert small_chats.started(str(config), str(out)) == 1
    lines = {line["system"]: line for line in results(out)}
    assert lines.pop("raises")["error"]["message"] == "this system reads nothing"
    assert lines.keys() == {section["name"] for section in small_chats.systems()}
    assert {name: line["error"] for name, line in lines.items() if line["error"]} == {}
    assert all(line["messages"] == 4 and len(line["questions"]) == 1 for line in lines.values())
    found = {name for name, line in lines.items() if line["questions"][0]["scores"]["accuracy"]}
    assert len(found) > len(lines) // 2, found  # of four messages most show the one that is asked for
