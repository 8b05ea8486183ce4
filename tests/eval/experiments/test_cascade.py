"""The cascade of the bundled reader and a model: who answers at a threshold, and what the table says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eval.experiments.model.cascade import Both, answers, rates, table
from eval.experiments.reading.conversation_files import load
from eval.experiments.reading.conversations import Models
from nscma_torch.core.config import Config
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.llm.scripted import ScriptedEngine, answering

ONE = Both("c", "single", "q", "g", "a", "wrong", False, 0.8, False, "b", "short", 0.7, True, 10, 1.0)
DIALOGUE = """== two-flats | friends
-- 2025-03-09 10:05
1 Ana: I live in Porto since May.
2 Ben: nice, I stay in Linz
? single Where do I live? | Porto | 1
? unanswerable Who cut my hair? | - | -
"""


@pytest.mark.parametrize(
    ("one", "threshold", "least", "verdict", "asked"),
    [
        (ONE, 0.8, 0.5, "wrong", False),
        (ONE, 0.81, 0.5, "short", True),
        (ONE, 0.81, 0.71, "silent", True),
        (replace(ONE, abstained=True), 0.1, 0.5, "short", True),
        (replace(ONE, facts=True), 2.0, 0.5, "wrong", False),
        (replace(ONE, type="unanswerable"), 2.0, 0.9, "abstained", True),
    ],
)
def test_who_answers(one: Both, threshold: float, least: float, verdict: str, asked: bool) -> None:
    assert one.cascade(threshold, least) == (verdict, asked)


def test_invented_is_a_share_of_the_unanswerable_questions() -> None:
    found = rates(["short", "stale", "invented", "abstained"], ["single", "when", "unanswerable", "unanswerable"])
    assert {name: own[:2] for name, own in found.items()} == {
        "short": (0.5, 2),
        "stale": (0.5, 2),
        "silent": (0.0, 2),
        "invented": (0.5, 2),
    }
    assert table([ONE], 0.5).row_count == 7


def test_both_answer_each_question_once(tmp_path: Path) -> None:
    file = tmp_path / "talk.txt"
    file.write_text(DIALOGUE, encoding="utf-8")
    (own,) = load([file])
    config = Config.model_validate({"device": "cpu", "embedder": {"model": "hash"}})
    models = Models(config, HashEmbedder(), None)
    tasks = PromptedTasks(ScriptedEngine(answering("Porto")), least_known=0.0)
    first, second = answers([own], models, tasks, set())
    assert (first.model, first.model_verdict, first.right_evidence) == ("Porto", "short", True)
    assert (second.model_verdict, second.type) == ("invented", "unanswerable")
    assert [one.question for one in answers([own], models, tasks, {(own.name, first.question)})] == [second.question]
