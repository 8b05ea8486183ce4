"""eval/experiments/retrieval/controller_calls.py: what counts as right, as valid, and what it costs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from eval.experiments.retrieval.controller_calls import QUESTIONS, Outcome, Tally, calibration, labelled_traces, measure
from nscma_torch.controller.calibration import choose_threshold
from nscma_torch.controller.trace import ControllerAnswer, Taken
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import EngineError
from nscma_torch.core.records import Usage
from nscma_torch.llm.engines.contract import Reply, Request, Turn
from train.controller.controller_dialogues import Dialogue, Said, Wording

LIGHT = {"device": "cpu", "embedder": {"model": "hash"}, "reading": {"model": "none"}}
WORDING = Path(__file__).parents[3] / "configs/train/controller_dialogues.toml"


class Babbling:
    """An engine that never fills a form."""

    name = "babbling"
    context = 8192

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        return [100 for _ in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        return [Reply("well, well", 100, 3, True) for _ in requests]

    def close(self) -> None:
        self.context = 0


@pytest.fixture(scope="module")
def dialogues() -> list[Dialogue]:
    torch.set_num_threads(1)
    rng, wording = random.Random(2), Wording.load(WORDING)
    return [wording.dialogue(rng, "held out") for _ in range(3)]


@pytest.fixture(scope="module")
def tallies(dialogues: list[Dialogue], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tally]:
    return measure(dialogues, load_config(LIGHT), None, tmp_path_factory.mktemp("calls") / "store.db")


def answered(text: str, *steps: str) -> ControllerAnswer:
    taken = tuple(Taken(action, "x", "y") for action in steps)
    return ControllerAnswer(text, False, (), 0.1, 0.5, 0.5, taken, (), Usage())


def test_a_right_turn_is_told_from_a_wrong_one(dialogues: list[Dialogue]) -> None:
    said: dict[str, Said] = {turn.situation: turn for dialogue in dialogues for turn in dialogue.turns}
    asked = said["in memory"]
    assert asked.fact is not None
    assert Outcome(asked, answered(f"It is {asked.reply}.", asked.fact.tool)).right
    assert not Outcome(asked, answered(f"It is {asked.reply}x.", asked.fact.tool)).right
    quoting = replace(answered(f"Nowhere\nuser: It is {asked.reply}.", asked.fact.tool), quotes=1)
    assert not Outcome(asked, quoting).right, "quotations are not scored as answers"
    for tool in ("retrieve_semantic", "retrieve_episodic"):
        assert Outcome(asked, answered("", tool, "memorize")).first_right
    assert not Outcome(asked, answered(asked.reply)).first_right
    assert Outcome(said["told"], answered("Noted.")).first_right
    assert Outcome(said["unknown"], answered("I don't know that.")).right
    assert not Outcome(said["unknown"], answered("Porto")).right
    nothing = Outcome(asked, None)
    assert not nothing.right and not nothing.first_right


def test_the_rules_differ_in_what_they_look_up(tallies: dict[str, Tally]) -> None:
    rows = {rule: tally.row() for rule, tally in tallies.items()}
    assert rows["never"]["retrievals"] == 0 < rows["uncertainty"]["retrievals"] < rows["always"]["retrievals"]
    assert rows["never"]["in memory"] < rows["always"]["in memory"]
    assert all(row["calls"] == row["tokens"] == 0 and row["valid"] == 1 for row in rows.values())


def test_replies_that_fill_no_form_are_counted(dialogues: list[Dialogue], tmp_path: Path) -> None:
    tallies = measure(dialogues[:1], load_config(LIGHT), Babbling(), tmp_path / "store.db")
    for tally in tallies.values():
        failed = sum(outcome.answer is None for outcome in tally.outcomes)
        assert tally.replies == tally.invalid == 2 * failed > 0, "each is requested twice"
        answers = [outcome.answer for outcome in tally.outcomes if outcome.answer is not None]
        assert not any(answer.usage.llm_calls for answer in answers), "of facts, or without anything to read"
        assert tally.row()["valid"] == 0


def test_a_threshold_is_calibrated_on_questions(dialogues: list[Dialogue], tallies: dict[str, Tally]) -> None:
    traces = labelled_traces(tallies)
    asked = sum(turn.situation in QUESTIONS for dialogue in dialogues for turn in dialogue.turns)
    assert len(traces) == asked > 0
    assert any(trace.uncertainty < 1 for trace in traces) and any(trace.retrieved_right for trace in traces)
    table = calibration(tallies, load_config(), embedded=True, most_wrong=0.0)
    chosen = choose_threshold(traces, most_wrong=0.0)
    assert list(table.columns[1].cells)[:2] == [f"{chosen.threshold:.4f}", "0.5000"]
    assert next(iter(table.columns[3].cells)) == "0.0%"
