"""Scores, against values worked out by hand from the rules of their sources."""

from __future__ import annotations

import pytest

from eval.scoring import babilong_correct, evidence_recall


@pytest.mark.parametrize(
    ("task", "target", "output", "question", "correct"),
    [
        ("qa1", "kitchen", "Mary is in the KITCHEN. Then the garden.", "Where is Mary?", True),
        ("qa1", "kitchen", "the kitchen or the garden", "Where is Mary?", False),
        ("qa3", "garden", "Before the office it was in the garden", "Where was it before the office?", True),
        ("qa1", "kitchen", "kitchen<example>garden", "Where is Mary?", True),
        ("qa5", "Fred", "Mary gave it to Fred", "Who did Mary give the milk to?", True),
        ("qa5", "Fred", "Jeff gave it to Fred", "Who did Mary give the milk to?", False),
        ("qa6", "no", "No", "Is John in the hall?", True),
        ("qa8", "apple,milk", "milk and apple", "What is he carrying?", True),
        ("qa8", "apple,milk", "apple", "What is he carrying?", False),
        ("qa8", "apple", "apple,milk", "What is he carrying?", False),
        ("qa10", "maybe", "", "Is Bill there?", False),
    ],
)
def test_babilong_wants_the_target_and_no_other_label(
    task: str, target: str, output: str, question: str, correct: bool
) -> None:
    assert babilong_correct(target, output, question, task) is correct
    assert babilong_correct(target, output, question, task, whole_words=True) is correct


def test_babilong_by_its_source_never_takes_none_for_right() -> None:
    assert not babilong_correct("none", "none", "How many?", "qa7")
    assert babilong_correct("none", "none", "How many?", "qa7", whole_words=True)
    assert babilong_correct("one", "one", "How many?", "qa7")


def test_recall_of_evidence_counts_the_first_places() -> None:
    assert evidence_recall((3, 8), (3, 1, 2, 4, 5, 8)) == {"recall@5": 0.5, "recall@10": 1.0}
    assert evidence_recall((), (1,)) == {}
