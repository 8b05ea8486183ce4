"""A finished run is scored again by its tasks as they are, from its replies alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Question, Reply
from eval.harness.sample_run import digest
from eval.rescore import rescore
from nscma_torch.core.errors import InvalidInputError
from tests.eval.tiny_run import TinyTask

SECTION = {"kind": "tiny", "name": "kitchen", "samples": 1}


class Words(TinyTask):
    """The tiny task with a metric that it had not when it was run."""

    metrics: tuple[str, ...] = ("words",)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        assert question.answers == ("kitchen",)
        return {"words": float(len(reply.text.split())), "places": float(len(reply.evidence or ()))}


def made(section: Mapping[str, Any], data: Path) -> Words:
    assert data.is_dir()
    return Words(section)


def finished(folder: Path, **changed: Any) -> Path:
    """A run of two lines: one with a reply to each question, and one that failed."""
    reply = {"abstained": False, "evidence": [1, 0], "confidence": None, "scores": {"accuracy": 1.0}}
    line = {
        **{"task": "kitchen", "metrics": ["accuracy"], "system": "a", "sample": "s0", "index": 0, "half": "even"},
        **{"seed": 1, "data": digest(TinyTask(SECTION).sample("s0")), "error": None, "commit": "abc", "read": {}},
        "questions": [
            {"id": "q0", "reply": "in the kitchen (not sure)\nAnn: it is in the kitchen, I think", **reply},
            {"id": "q1", "reply": "kitchen", **reply, "evidence": None},
        ],
        **changed,
    }
    failed = {**line, "system": "b", "error": {"type": "ValueError"}, "questions": [], "unanswered": []}
    folder.mkdir()
    text = "".join(json.dumps(one) + "\n" for one in (line, failed))
    (folder / "results.jsonl").write_text(text, encoding="utf-8")
    record = {"config": {"tasks": [SECTION]}, "commit": "abc", "sha256": "0", "machine": "", "started": "", "ended": ""}
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("first_lines", "words"), [(False, [13.0, 1.0]), (True, [5.0, 1.0])])
def test_replies_have_the_scores_of_the_task_as_it_is(tmp_path: Path, first_lines: bool, words: list[float]) -> None:
    out, new = finished(tmp_path / "out"), tmp_path / "new"
    before = (out / "results.jsonl").read_bytes()
    assert rescore(out, tmp_path, new, made, first_lines=first_lines, command="again") == 2
    assert (out / "results.jsonl").read_bytes() == before
    first, failed = map(json.loads, (new / "results.jsonl").read_text(encoding="utf-8").splitlines())
    assert [asked["scores"]["words"] for asked in first["questions"]] == words
    assert [asked["scores"]["places"] for asked in first["questions"]] == [2.0, 0.0]
    assert first["metrics"] == ["words"] and first["commit"] == "abc"
    assert failed == json.loads(before.decode().splitlines()[1])
    record = json.loads((new / "run.json").read_text(encoding="utf-8"))
    assert record["commit"] == "abc" and record["rescored"]["command"] == "again"


def test_a_run_is_scored_on_its_own_data_into_a_new_folder(tmp_path: Path) -> None:
    other = finished(tmp_path / "out", data="0000")
    with pytest.raises(InvalidInputError, match="kitchen / s0 is not what the run was asked about"):
        rescore(other, tmp_path, tmp_path / "new", made, first_lines=False, command="")
    assert not (tmp_path / "new").exists()
    with pytest.raises(InvalidInputError, match="not empty"):
        rescore(other, tmp_path, other, made, first_lines=False, command="")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="let the run end"):
        rescore(tmp_path / "empty", tmp_path, tmp_path / "new", made, first_lines=False, command="")
