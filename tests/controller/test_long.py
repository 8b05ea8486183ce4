"""Over a long conversation no call exceeds its budget, and what was said early is still found."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.llm.engines.contract import Request
from tests.controller.scripted import ScriptedEngine, act, answering

Opener = Callable[..., Controller]
PROMPT, REPLY, SUMMARY = 1500, 200, 96
THINGS = (
    *("zeppelin", "accordion", "lighthouse", "orchard", "telescope", "sailboat", "windmill", "cathedral", "kettle"),
    *("ladder", "piano", "canoe", "lantern", "tractor", "parcel", "statue", "wardrobe", "anvil", "saddle", "harp"),
    *("barrel", "compass", "hammock", "quilt", "trellis", "spindle", "turbine", "sleigh", "mortar", "goblet"),
    *("cradle", "paddle", "bellows", "chisel", "easel", "fiddle", "beehive", "carriage", "dinghy", "fountain"),
)
PLACES = ("Porto", "Kyoto", "Bergen", "Lima", "Tartu", "Cork", "Hobart", "Nantes", "Graz", "Izmir", "Turku", "Quito")
TALK = (
    "The weather was fine and we walked along the river until it was dark.",
    "ok",
    "I read half of that long book about bridges, it is a bit dry in the middle.",
    "今天天气不错，我们去公园散步了。",
    "The meeting took three hours, nobody decided anything, and the coffee was cold again.",
    "haha yes",
)


def script(form: str, quoted: Mapping[str, Any], request: Request) -> Any:
    """Answers with the line that tells; talks as long as it may."""
    match form:
        case "DraftForm":
            return {"known": True, "text": "I see."}
        case "SearchAct":
            return act("retrieve_episodic", query=name_in(quoted["said"]))
        case "RolledSummary":
            return {"summary": " ".join(f"{turn['text']}" for turn in quoted["turns"])[:1500] or "nothing"}
    return answering(form, quoted, f"My {name_in(quoted['said'])} stands")


def name_in(question: str) -> str:
    return question.removeprefix("Where does my ").removesuffix(" stand?")


def facts(rng: random.Random, n: int) -> list[tuple[str, str]]:
    """A statement about each of n things, and the thing."""
    return [(f"My {thing} stands in {rng.choice(PLACES)}.", thing) for thing in THINGS[:n]]


def talk(rng: random.Random, turns: int, early: list[tuple[str, str]]) -> Iterator[str]:
    yield from (statement for statement, _ in early)
    for i in range(turns - len(early)):
        words = rng.choice(TALK)
        yield f"{words} It was day {i}. " + "So it went on and on, " * rng.choice((0, 0, 1, 60))


def converse_for(controller: Controller, turns: int, asked: int, seed: int) -> tuple[int, int, int]:
    """Say facts, then talk; returns how many facts are found at the end, how many were asked, and the most words."""
    rng = random.Random(seed)
    early = facts(rng, asked)
    most = 0
    for number, said in enumerate(talk(rng, turns, early), start=1):
        controller.turn(said)
        if number % 16 == 0:
            controller.memory.flush()
            most = max(most, len(controller.working_memory().summary.split()))
    found = 0
    for statement, name in early:
        answer = controller.consider(f"Where does my {name} stand?")
        found += statement.removesuffix(".").rpartition(" ")[2] in answer.short
    return found, len(early), most


def check_prompted(converse: Opener, turns: int, asked: int) -> str:
    engine = ScriptedEngine(script)
    controller = converse(
        engine, prompt_tokens=PROMPT, reply_tokens=REPLY, summary_tokens=SUMMARY, turn_tokens=31_000, turn_words=60
    )
    found, of, _ = converse_for(controller, turns, asked, seed=3)
    assert engine.forms().count("RolledSummary") >= turns // 8, "the summary has been rolled on"
    assert max(engine.spent) <= PROMPT and found == of
    summary = controller.working_memory().summary
    assert len(summary) > 20 and engine.count_tokens([()])[0] < PROMPT
    return (
        f"engine: {turns} turns, {len(engine.requests)} calls, largest prompt {max(engine.spent)} of {PROMPT} tokens, "
        f"{found} of {of} early facts found"
    )


def check_embedded(converse: Opener, turns: int, asked: int) -> str:
    controller = converse(summary_tokens=SUMMARY)
    found, of, words = converse_for(controller, turns, asked, seed=4)
    assert 0 < words <= SUMMARY and found == of
    return f"embedded: {turns} turns, longest summary {words} of {SUMMARY} words, {found} of {of} early facts found"


def test_budgets_and_early_facts_with_an_engine(converse: Opener) -> None:
    check_prompted(converse, turns=20, asked=3)


def test_budgets_and_early_facts_embedded(converse: Opener) -> None:
    check_embedded(converse, turns=16, asked=3)


@pytest.mark.prove
def test_two_thousand_turns_with_an_engine(converse: Opener, capsys: pytest.CaptureFixture[str]) -> None:
    line = check_prompted(converse, turns=2000, asked=40)
    with capsys.disabled():
        print(f"\n{line}")


@pytest.mark.prove
def test_two_thousand_turns_embedded(converse: Opener, capsys: pytest.CaptureFixture[str]) -> None:
    line = check_embedded(converse, turns=2000, asked=40)
    with capsys.disabled():
        print(f"\n{line}")
