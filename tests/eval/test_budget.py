"""`--budget`: both halves alike, all systems on the same samples, and the same command goes on after a kill."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eval.harness import budget as budgets
from eval.harness.budget import Batch, Budget, paired, read_budget
from eval.harness.pace import Pace, known, seconds_of
from eval.harness.plan import state
from eval.harness.progress import State, span
from eval.harness.ranks import Ranks
from eval.harness.raw_lines import read_all
from eval.harness.sample_run import Group
from nscma_torch.core.errors import ConfigError
from tests.eval import tiny_run

CONFIG = """
memory = {{ embedder = {{ model = "hash" }}, device = "cpu" }}
tasks = [{{ kind = "tiny", name = "kitchen", samples = 7 }}, {{ kind = "tiny", name = "garden", samples = 4 }}]
systems = [{{ kind = "tiny", name = "quick" }}, {{ kind = "tiny", name = "slow" {slow} }}]
"""


class Clock:
    """`time` as the budget sees it: nothing passes unless it is told."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, _: float) -> None:
        raise AssertionError("nobody else would ever measure what it waits for")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(budgets, "time", made)
    return made


@pytest.fixture
def ranks() -> Ranks:
    return Ranks("cpu")


def groups(task: str, count: int) -> list[Group]:
    return [Group(task, f"{task}{index}", index, ("quick", "slow")) for index in range(count)]


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("30m", 1800), ("90s", 90), ("1h30m", 5400), ("1.5h", 5400)]
)
def test_a_budget_is_a_time(text: str, seconds: float) -> None:
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "2", "0s", "-1h", "h", "1.2.3h", "2h later"])
def test_what_is_no_time_is_one_error(text: str) -> None:
    with pytest.raises(ConfigError, match="2h, 30m or 90s"):
        read_budget(text)


def test_pairs_hold_both_halves_and_stand_in_rounds_over_the_tasks() -> None:
    planned = [*groups("a", 5), *groups("b", 2)]
    batches = paired(planned, (), (), {("b", "quick"), ("b", "slow")})
    taken = [[group.sample for group in batch.groups] for batch in batches]
    assert taken == [["a0", "a1"], ["b0", "b1"], ["a2", "a3"], ["a4"]]
    assert [batch.measures for batch in batches] == [True, False, False, False], "b was measured before"
    done = [("a", "quick", "a0"), ("a", "slow", "a0"), ("a", "quick", "a3")]
    again = paired(planned, done, done, {("a", "quick"), ("a", "slow")})
    assert [(batch.round, batch.begun) for batch in again] == [(0, True), (1, True), (0, False), (2, False)]
    assert [(group.sample, group.systems) for group in again[1].groups] == [
        ("a2", ("quick", "slow")),
        ("a3", ("slow",)),
    ]


def filled(ranks: Ranks, clock: Clock, batches: list[Batch], seconds: float, **each: float) -> list[str]:
    """What is begun of the batches when a unit of a task takes so long, one rank alone."""
    pairs = [(group.task, system) for batch in batches for group in batch.groups for system in group.systems]
    pace = Pace(ranks, {}, Counter(pairs))
    budget = Budget(ranks, pace, batches, seconds)
    begun = []
    for batch in batches:
        if not budget.admits(batch):
            continue
        for group in batch.groups:
            begun.append(group.sample)
            for system in group.systems:
                clock.now += each[group.task]
                pace.note((group.task, system), each[group.task])
            if group is batch.groups[0]:
                budget.measured(batch)
    return begun


def test_the_first_pair_that_does_not_fit_ends_the_rounds(ranks: Ranks, clock: Clock) -> None:
    batches = paired([*groups("a", 6), *groups("b", 6)], (), (), ())
    begun = filled(ranks, clock, batches, 60, a=5, b=1)
    assert begun == ["a0", "a1", "b0", "b1", "a2", "a3", "b2", "b3", "b4", "b5"], "48 s are past when a4 would begin"
    assert ranks.told(budgets.REFUSED) == "a, 'a4' and 'a5' would take 20 s, 12 s were left"


def test_without_time_only_what_was_begun_is_finished(ranks: Ranks, clock: Clock) -> None:
    done = [("a", "quick", "a0")]
    assert filled(ranks, clock, paired(groups("a", 4), done, done, ()), -5, a=1) == ["a0", "a1"]
    assert ranks.told(budgets.REFUSED) is not None


def test_a_unit_takes_what_its_line_says_or_its_stages_but_for_what_was_kept() -> None:
    cost = {"seconds": {"ask": 2.0, "cached": 50.0}}
    old: dict[str, Any] = {
        "task": "a",
        "system": "s",
        "read": {"seconds": {"ingest": 3.0}},
        "questions": [{"cost": cost}],
    }
    assert seconds_of(old) == 5.0
    assert known([old, {**old, "took": 7.0}, {"task": "b", "system": "s", "questions": []}]) == {("a", "s"): (12.0, 2)}


def test_time_left_is_by_system_and_not_by_the_mean_unit(ranks: Ranks) -> None:
    units = {("a", "quick"): 10, ("a", "slow"): 10, ("b", "slow"): 1}
    pace = Pace(ranks, {}, units)
    assert pace.left() is None
    for _ in range(9):
        pace.note(("a", "quick"), 1)
    pace.note(("a", "slow"), 100)
    assert pace.left() == pytest.approx(1 * 1 + 9 * 100 + 1 * 100), "b's are as slow as they are on a"
    assert str(state(ranks, pace, None)) == "about 17 min left"
    assert str(State(3, 1, None)) == "1 failed"
    assert [span(seconds) for seconds in (4.4, 89, 91, 6600)] == ["4 s", "89 s", "2 min", "1 h 50 min"]


def config(path: Path, slow: str = "") -> str:
    (path / "run.toml").write_text(CONFIG.format(slow=slow))
    return str(path / "run.toml")


def slowed(out: Path, seconds: float) -> None:
    """Let what was done have taken so long."""
    for path in out.glob("raw-*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**line, "took": seconds}) + "\n" for line in lines))


def record(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "run.json").read_text())
    return found


@pytest.mark.prove
def test_the_same_command_goes_on_after_a_kill_with_what_is_left_of_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, out = config(tmp_path, ', poisoned = "s3"'), tmp_path / "out"

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt  # which no unit's line tells of

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("eval.run.failed", killed)
        tiny_run.started(given, str(out), budget="1h")
    before = {key[::2] for key in read_all(out)}
    assert ("kitchen", "s3") in before and ("garden", "s2") not in before
    slowed(out, 4000)
    assert tiny_run.started(given, str(out), budget="1h") == 1
    found = Counter(key[::2] for key in read_all(out))
    assert set(found.values()) == {2}, "no sample with one of the systems"
    assert found.keys() == {(task, f"s{i}") for task, most in (("kitchen", 4), ("garden", 2)) for i in range(most)}
    subset = record(out)["subset"]
    assert (subset["budget"], subset["why"][-15:]) == ("1h", ", 0 s were left")
    assert subset["samples"] == {"kitchen": {"done": 4, "of": 7}, "garden": {"done": 2, "of": 4}}

    assert tiny_run.started(given, str(out), budget="2h") == 1
    assert len(read_all(out)) == 12, "earlier lines say that a pair takes longer"
    assert re.search("'s2' and 's3' would take . h .. min, (2 h 00|1 h 59) min were left", record(out)["subset"]["why"])
    assert record(out)["earlier"][1]["subset"] == subset
