"""Every system of configs/eval/systems.toml reads a chat and answers; any number of ranks gives the same."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.eval import small_chats
from tests.eval.test_run import raw_lines, results, torchrun

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


@pytest.mark.prove
def test_two_ranks_of_which_one_is_killed_give_what_one_rank_gives(tmp_path: Path) -> None:
    """SIGKILL of a rank amid a sample, and a restart, of all systems on four chats."""
    gate, log, both, one = (tmp_path / name for name in ("gate", "log.txt", "both", "one"))
    waits = {"kind": "tests.eval.small_chats:Waiting", "name": "waits", "gate": str(gate)}
    config = small_chats.write(tmp_path / "run.toml", waits, samples=4)
    each = len(small_chats.systems()) + 1
    with torchrun(str(config), both, log, "small_chats.py") as killed:
        until = time.monotonic() + 1200
        while not gate.with_suffix(".pid").exists() or len(raw_lines(both)) < 3 * each:
            assert killed.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        os.kill(int(gate.with_suffix(".pid").read_text()), signal.SIGKILL)
        assert killed.wait(timeout=600) != 0
    before = raw_lines(both)
    assert 3 * each < len(before) < 4 * each
    gate.touch()
    with torchrun(str(config), both, log, "small_chats.py") as restarted:
        assert restarted.wait(timeout=1200) == 1, log.read_text()  # the one that waits fails then
    after = raw_lines(both)
    assert set(before) < set(after) and len(after) == 4 * each
    assert small_chats.started(str(config), str(one)) == 1
    assert results(one) == results(both)
    print(f"{each} systems, 4 chats, 2 ranks: killed after {len(before)} of {len(after)} units, then as 1 rank gives")
