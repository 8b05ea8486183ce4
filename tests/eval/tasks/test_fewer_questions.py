"""Fewer questions to a sample: spread over it, the same each time, and all else as the benchmark has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.harness.contract import Reply
from eval.tasks.catalogue import make_task
from nscma_torch.core.errors import ConfigError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "multihop"
    folder.mkdir()
    rows = [
        {
            "_id": f"row {i}",
            "question": f"Who built the mill number {i}?",
            "answer": f"Ann {i}",
            "context": [[f"Mill {i}", [f"It was built by Ann {i}."]]],
            "supporting_facts": [[f"Mill {i}", 0]],
        }
        for i in range(22)
    ]
    (folder / "hotpot.json").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("most", "asked"), [(0, range(11)), (4, (0, 2, 5, 8)), (11, range(11)), (50, range(11))])
def test_questions_are_spread_evenly(data: Path, most: int, asked: tuple[int, ...]) -> None:
    task = make_task({"kind": "multihop", "set": "hotpot", "questions": most}, data)
    whole = make_task({"kind": "multihop", "set": "hotpot"}, data)
    assert (task.ids(), task.metrics, task.name) == (whole.ids(), whole.metrics, whole.name)
    for half in task.ids():
        sample, full = task.sample(half), whole.sample(half)
        assert list(sample.questions) == [full.questions[i] for i in asked] and sample.messages == full.messages
        question = sample.questions[-1]
        reply = Reply(question.answers[0], evidence=question.evidence)
        assert task.score(question, reply) == whole.score(question, reply)


def test_a_bad_number_is_one_clear_error(data: Path) -> None:
    with pytest.raises(ConfigError, match="questions"):
        make_task({"kind": "multihop", "set": "hotpot", "questions": -1}, data)
