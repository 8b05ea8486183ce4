"""The mutation tester: its changes, which tests it runs against one, and that it tells a good test from a weak one."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.mutation.child_process import CRASHED, run_in_child
from tests.mutation.mutants import mutants_of, mutated
from tests.mutation.run import Suite, sample, score

ROOT = Path(__file__).parents[2]
CODE = '''
"""A docstring 1 + 1."""
LIMIT = 3

@decorated(True)
def price(count: int, each: float = 2.0) -> float:
    """Half above the limit."""
    assert count >= 0
    total = count * each
    if count > LIMIT and not free(count):
        total = total / 2
    log(f"{total + 1}", zip(a, b, strict=True))
    return total

def free(count):
    if count:
        raise ValueError
    return None
'''


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text, encoding="utf-8")
    return folder


def test_every_kind_of_change_is_made_and_nothing_else(tmp_path: Path) -> None:
    mutants = mutants_of(written(tmp_path, shop=CODE), "shop.py")
    assert [(mutant.function, mutant.kind, mutant.change) for mutant in mutants] == [
        ("", "constant", "3 → 4"),
        ("", "constant", "3 → 0"),
        ("price", "constant", "2.0 → 3.0"),
        ("price", "constant", "2.0 → 0"),
        ("price", "arithmetic", "count * each → count / each"),
        ("price", "boolean", "count > LIMIT and (not free(count)) → count > LIMIT or not free(count)"),
        ("price", "comparison", "count > LIMIT → count >= LIMIT"),
        ("price", "boolean", "not free(count) → free(count)"),
        ("price", "arithmetic", "total / 2 → total * 2"),
        ("price", "constant", "2 → 3"),
        ("price", "constant", "2 → 0"),
        ("price", "removed", "log(f'{total + 1}', zip(a, b, strict=True)) → pass"),
        ("price", "return", "return total → return None"),
        ("free", "condition", "count → not count"),
        ("free", "removed", "raise ValueError → pass"),
    ]
    plain = ast.unparse(ast.parse(CODE)).splitlines()
    for mutant in mutants:
        changed = ast.unparse(mutated(tmp_path, mutant)).splitlines()
        assert sum(one != other for one, other in zip(plain, changed, strict=True)) == 1, mutant


def test_names_of_functions_are_those_of_their_code(tmp_path: Path) -> None:
    code = "class Till:\n    rate = 1\n    def open(self):\n        def count(): return 5\n        return count\n"
    mutants = mutants_of(written(tmp_path, till=code), "till.py")
    space: dict[str, type] = {}
    exec(code, space)
    opened = space["Till"]().open  # type: ignore[attr-defined]
    names = {opened.__code__.co_qualname, opened().__code__.co_qualname, ""}
    assert {mutant.function for mutant in mutants} == names


def test_a_change_elsewhere_leaves_the_sample_as_it_is(tmp_path: Path) -> None:
    mutants = mutants_of(written(tmp_path, shop=CODE), "shop.py")
    chosen = [mutant.key for mutant in sample(mutants, 5, seed=0)]
    assert len(chosen) == 5 and chosen != [mutant.key for mutant in sample(mutants, 5, seed=1)]
    later = mutants_of(written(tmp_path, shop=f"import log\n\n{CODE}"), "shop.py")
    assert [mutant.key for mutant in sample(later, 5, seed=0)] == chosen
    assert sample(mutants, None, seed=0) == mutants


def test_timeouts_count_as_killed() -> None:
    assert score({"a": "killed", "b": "timeout", "c": "survived", "d": "not called"}) == 0.5
    assert score({}) == 1.0


@pytest.mark.prove
def test_a_child_process_is_bounded_and_its_processes_end_with_it(tmp_path: Path) -> None:
    def leave_one() -> int:
        print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid)
        return 3

    def fail() -> int:
        raise KeyError("lost")

    def spin() -> int:
        while True:
            pass

    def sleep() -> int:
        time.sleep(60)
        return 0

    log = tmp_path / "log"
    assert run_in_child(leave_one, log, cpu_seconds=60, wall_seconds=60) == 3
    left = int(log.read_text())
    until = time.monotonic() + 10
    while Path(f"/proc/{left}").exists() and "\nState:\tZ" not in Path(f"/proc/{left}/status").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)
    assert run_in_child(fail, log, cpu_seconds=60, wall_seconds=60) == CRASHED and "lost" in log.read_text()
    assert run_in_child(spin, log, cpu_seconds=0, wall_seconds=60) is None
    assert run_in_child(sleep, log, cpu_seconds=60, wall_seconds=0.1) is None
    assert run_in_child(lambda: os.kill(os.getpid(), signal.SIGTERM) or 0, log, 60, 60) == -signal.SIGTERM


SHOP = """
LIMIT = 3

def price(count, each=2):
    if count > LIMIT:
        return count * each - 1
    return count * each

def unused():
    return 1
"""
TESTS = """
import os
import pytest
from shop import goods

@pytest.fixture(scope="module")
def dear():
    return goods.price(4)

@pytest.fixture
def cheap(dear):
    return goods.price(1)

def test_order(cheap, dear):
    assert cheap < dear

def test_dear(dear):
    assert dear == 7

def test_nothing():
    assert os.getpid()
"""


@pytest.mark.prove
def test_it_tells_noticed_changes_from_unnoticed_ones(tmp_path: Path) -> None:
    """In a process of its own, for this one holds pytest's and the library's modules."""
    written(tmp_path, shop__goods=SHOP, tests__shop__test_goods=TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -q\n")
    program = f"""
import sys; sys.path[:0] = [{str(tmp_path)!r}]
from pathlib import Path
from tests.mutation import run
suite = run.Suite(Path({str(tmp_path)!r}), "shop", "tests/shop")
for mutant, outcome in run.outcomes_of(suite, suite.mutants(), {{}}):
    print(outcome, mutant.line, mutant.change, len(suite.against(mutant)), sep=" | ")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "killed | 2 | 3 → 4 | 2",
        "survived | 2 | 3 → 0 | 2",
        "killed | 4 | 2 → 3 | 2",
        "killed | 4 | 2 → 0 | 2",
        "survived | 5 | count > LIMIT → count >= LIMIT | 2",
        "killed | 6 | return count * each - 1 → return None | 2",
        "killed | 6 | count * each - 1 → count * each + 1 | 2",
        "killed | 6 | count * each → count / each | 2",
        "killed | 6 | 1 → 2 | 2",
        "killed | 6 | 1 → 0 | 2",
        "killed | 7 | return count * each → return None | 2",
        "survived | 7 | count * each → count / each | 2",
        "not called | 10 | return 1 → return None | 0",
        "not called | 10 | 1 → 2 | 0",
        "not called | 10 | 1 → 0 | 0",
    ]


@pytest.mark.prove
def test_tests_that_fail_unchanged_are_no_measure(tmp_path: Path) -> None:
    written(tmp_path, shop__goods=SHOP, tests__shop__test_goods="def test_it():\n    assert 1 == 2\n")
    with pytest.raises(RuntimeError, match="tests/shop must pass"):
        Suite(tmp_path, "shop", "tests/shop").record()
