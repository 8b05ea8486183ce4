"""Each sample of LoCoMo and BEAM is asked in its own store; short answers are scored apart from evidence."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval.experiments.reading import asked_tasks, beam_answers, locomo_answers
from eval.experiments.reading.asked_tasks import Asked, ask_task
from eval.harness.contract import Question, Reply, Sample
from eval.reporting.measures import Measure
from nscma_torch import load_config
from nscma_torch.core.records import Answer, Message, Usage

NOW = datetime(2025, 5, 2, tzinfo=UTC)


class Homes:
    """Four samples of one message, each asked three questions; scores as those of updates."""

    name = "homes"
    metrics = ("right",)

    def ids(self) -> Sequence[str]:
        return ["0", "1", "2", "3"]

    def sample(self, id: str) -> Sample:
        town = ("Oslo", "Lima", "Rome", "Bonn")[int(id)]
        message = Message("user", f"I live in {town}.", datetime(2025, 5, 1, tzinfo=UTC))
        questions = [Question(f"q{i}", text, ()) for i, text in enumerate(("Where do I live?", "Who?", "Which city?"))]
        return Sample(id, [message], questions, NOW)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """250 is the current value; what was before is not told of the question "no past"."""
        new, old = "250" in reply.text, "300" in reply.text
        scores = {"correct": float(new and not old), "updated": float(new), "words": 2.0}
        return scores if question.id == "no past" else scores | {"outdated": float(old)}


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    settings = {
        "device": "cpu",
        "embedder": {"model": "hash"},
        "gate": {"rule": "everything"},
        "reading": {"model": "none"},
    }
    monkeypatch.setattr(asked_tasks, "load_config", lambda _: load_config(settings))
    return argparse.Namespace(half="odd", config=None, samples=None, limit=None, json=tmp_path / "out.json", threads=1)


def test_a_half_is_asked_each_sample_of_a_store_of_its_own(arguments: argparse.Namespace) -> None:
    arguments.limit = 1
    found = ask_task(Homes(), arguments)
    assert [(one.sample, one.question.id) for one in found] == [("1", "q0"), ("3", "q0")]
    lima, bonn = (one.with_evidence for one in found)
    assert "Lima" in lima and "Bonn" in bonn and "Lima" not in bonn
    rows = json.loads(arguments.json.read_text(encoding="utf-8"))
    assert [row["answer"] for row in rows] == [one.answer.text for one in found]
    assert "2 questions of 2 samples" in asked_tasks.told(found)


def _asked(text: str, gold: str = "", category: str = "", confidence: float = 0.9, abstained: bool = False) -> Asked:
    question = Question("q", "?", (gold,) if gold else (), category)
    return Asked("s", question, Answer(text, abstained, confidence, (), (), Usage(), quotes=text.count("\n")), 0.1)


def _values(measures: Sequence[Measure]) -> dict[str, tuple[float, int]]:
    return {one.name: (round(one.value, 3), one.n) for one in measures}


def test_locomo_scores_the_short_answer_and_counts_evidence_shown_apart() -> None:
    found = [
        _asked("7 May 2023\nAna: it was on the 7th", "7 May, 2023", "2"),
        _asked("at home\nAna: with the girls' choir in Oslo", "the girls' choir", "4"),
        _asked("I don't know. Porto", "Porto", "4", confidence=0.4, abstained=True),
        _asked("Rome", category="5", confidence=0.6),
        _asked("I don't know", category="5", confidence=0.1, abstained=True),
    ]
    assert _values(locomo_answers.measures(found)) == {
        "F1, 2 temporal": (1.0, 1),
        "F1, 4 single-hop": (0.0, 2),
        "F1, 1-4": (0.333, 3),
        "evidence shown, 2 temporal": (1.0, 1),
        "evidence shown, 4 single-hop": (0.5, 2),
        "evidence shown, 1-4": (0.667, 3),
        "abstained, 2 temporal": (0.0, 1),
        "abstained, 4 single-hop": (0.5, 2),
        "abstained, 1-4": (0.333, 3),
        "abstained, 5 adversarial": (0.5, 2),
    }


def test_beam_scores_the_short_answer_apart_from_its_evidence() -> None:
    new = _asked("250 ms\nuser: it was 300 ms")
    old = _asked("300 ms\nuser: now 250 ms")
    silent = _asked("not known: 250 ms", abstained=True)
    no_past = replace(new, question=replace(new.question, id="no past"))
    assert _values(beam_answers.measures(Homes(), [new, old, silent, no_past])) == {
        "short: right": (0.5, 4),
        "short: current value": (0.5, 4),
        "short: outdated value": (0.333, 3),
        "evidence shown: current value": (0.75, 4),
        "evidence shown: outdated value": (0.667, 3),
        "abstained": (0.25, 4),
    }
