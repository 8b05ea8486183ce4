"""The threshold: as few retrievals as the bound on wrong answers allows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from nscma_torch.controller.calibration import LabelledTrace, at_threshold, choose_threshold, labelled
from nscma_torch.controller.controller import Controller
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.llm.engines.contract import Request
from nscma_torch.llm.prompted_answers import pooled
from tests.controller.scripted import ScriptedEngine, act, answering

NO_FACTS = {"facts": {"answer": False}}
TRACES = [
    LabelledTrace(0.1, True, True),
    LabelledTrace(0.2, True, False),
    LabelledTrace(0.3, False, True),
    LabelledTrace(0.4, True, True),
    LabelledTrace(0.9, False, False),
]


def test_it_saves_most_within_the_bound() -> None:
    chosen = choose_threshold(TRACES, most_wrong=0.0)
    assert (chosen.threshold, chosen.saved, chosen.wrong, chosen.right) == (0.2, 0.4, 0.0, 0.8)
    chosen = choose_threshold(TRACES, most_wrong=0.2)
    assert (chosen.threshold, chosen.saved, chosen.wrong) == (0.9, 1.0, 0.2)


def test_where_nothing_keeps_the_bound_it_always_retrieves() -> None:
    chosen = choose_threshold([LabelledTrace(0.0, False, True)], most_wrong=0.5)
    assert (chosen.threshold, chosen.saved, chosen.right) == (0.0, 0.0, 1.0)


def test_no_other_threshold_saves_more() -> None:
    rng = random.Random(1)
    for _ in range(50):
        traces = [LabelledTrace(rng.randint(0, 9) / 9, rng.random() < 0.5, rng.random() < 0.8) for _ in range(20)]
        chosen = choose_threshold(traces, most_wrong=0.15)
        others = [at_threshold(traces, i / 90) for i in range(91)]
        assert chosen.wrong <= 0.15
        assert chosen.saved == max(one.saved for one in others if one.wrong <= 0.15)


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="labelled trace"):
        choose_threshold([])
    with pytest.raises(InvalidInputError, match="most_wrong"):
        choose_threshold(TRACES, most_wrong=1.5)


ADJECTIVES = ("red", "blue", "old", "tall", "little", "broken", "heavy", "quiet")
NOUNS = ("kettle", "zeppelin", "ladder", "piano", "canoe", "lantern", "tractor", "parcel", "statue", "wardrobe")
PLACES = ("Porto", "the cellar", "Bergen", "the attic", "Lima", "the barn", "Cork", "the museum", "Quito", "the yard")


@pytest.mark.parametrize("configured", [0.0, 0.25])
def test_uncertainty_is_measured_whatever_is_configured(converse: Callable[..., Controller], configured: float) -> None:
    def script(form: str, _quoted: Mapping[str, Any], _request: Request) -> Any:
        if form == "DraftForm":
            return {"known": True, "text": "Porto"}
        return act("answer", text="Lima", evidence=[])

    engine = ScriptedEngine(script, logprob=-0.5)
    (trace,) = labelled(converse(engine, threshold=configured), [("Say a town.", place_of("Lima"))])
    assert trace.uncertainty == pytest.approx(1 - math.exp(-0.5))
    assert (trace.draft_right, trace.retrieved_right) == (False, True)


@pytest.mark.parametrize("configured", [0.0, 0.25])
def test_the_uncertainty_of_an_answer_is_that_of_the_context(
    converse: Callable[..., Controller], configured: float
) -> None:
    def script(form: str, quoted: Mapping[str, Any], _request: Request) -> Any:
        newest = "Lima" if any("Lima" in line for line in quoted["lines"]) else "Porto"
        return answering(form, quoted, "harp", newest)

    controller = converse(ScriptedEngine(script, logprob=-0.3), threshold=configured, config=NO_FACTS)
    controller.memory.add("My harp stands in Porto.", user_id="ada", run_id="chat")
    controller.memory.add("My harp stands in Lima now.", user_id="ada", run_id="elsewhere")
    (trace,) = labelled(controller, [("Where does my harp stand?", place_of("Lima"))])
    assert trace.uncertainty == pytest.approx(1 - pooled(math.exp(-0.3), 0.5))
    assert (trace.draft_right, trace.retrieved_right) == (False, True)


def test_a_threshold_can_be_written_as_it_was_judged() -> None:
    traces = [LabelledTrace(1 / 3, True, True), LabelledTrace(2 / 3, False, True)]
    chosen = choose_threshold(traces, most_wrong=0.0)
    assert (chosen.threshold, chosen.saved) == (0.3334, 0.5)
    assert at_threshold(traces, float(f"{chosen.threshold:.4f}")) == chosen


def place_of(place: str) -> Callable[[str], bool]:
    return lambda answer: place.removeprefix("the ") in answer


def unknown(answer: str) -> bool:
    return answer.startswith("I don't know")


def dialogue(controller: Controller, rng: random.Random) -> list[LabelledTrace]:
    """Where twelve things stand, some of them moved later; asked for all, and for four others."""
    things = rng.sample([f"{adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS], 16)
    places: dict[str, str] = {}
    for thing in (*things[:12], *rng.sample(things[:12], 3)):
        places[thing] = rng.choice(PLACES)
        controller.turn(f"The {thing} is in {places[thing]} now.")
    turns = [(f"Where is the {thing}?", place_of(places[thing]) if thing in places else unknown) for thing in things]
    return labelled(controller, turns)


def traces_of(converse: Callable[..., Controller], dialogues: int, seed: int) -> list[LabelledTrace]:
    rng = random.Random(seed)
    return [
        trace
        for number in range(dialogues)
        for trace in dialogue(converse(name=f"{number}.db", flush=number % 2 == 0), rng)
    ]


def test_the_default_threshold_keeps_its_bound(converse: Callable[..., Controller]) -> None:
    traces = dialogue(converse(), random.Random(1))
    done = at_threshold(traces, converse().policy.threshold)
    assert done.wrong <= 0.02 and len(traces) == 16


@pytest.mark.prove
def test_the_embedded_threshold(converse: Callable[..., Controller], capsys: pytest.CaptureFixture[str]) -> None:
    traces = traces_of(converse, 40, seed=23)
    threshold = converse().policy.threshold
    done, chosen = at_threshold(traces, threshold), choose_threshold(traces, most_wrong=0.01)
    always, never = at_threshold(traces, 0.0), at_threshold(traces, 1.0)
    assert done.wrong <= 0.02
    with capsys.disabled():
        print(
            f"\nuncertainty, embedded, {len(traces)} questions: at {threshold:.2f} {done.saved:.1%} of the retrievals "
            f"saved, {done.right:.1%} right, {done.wrong:.1%} wrong by it; always {always.right:.1%}, never "
            f"{never.right:.1%} right; chosen for at most 1%: {chosen.threshold:.2f}, saving {chosen.saved:.1%}"
        )
