"""Few-shot examples: helpful exchanges that are like what is said, read from where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.controller.prompt_budget import fit_desk
from nscma_torch.controller.trace import ControllerAnswer
from nscma_torch.llm.engines.contract import Request, Turn
from nscma_torch.llm.prompts.acting import Desk
from tests.controller.scripted import ScriptedEngine, act, quoted_in

START = datetime(2026, 3, 1, tzinfo=UTC)
Opener = Callable[..., Controller]
KEYS: dict[str, Any] = {"examples": 2, "least_alike": 0.1, "active_turns": 1, "recent_turns": 1, "summary_batch": 1}


def looking(form: str, quoted: Mapping[str, Any], _: Request) -> Any:
    match form:
        case "Draft":
            return {"known": False, "text": "?"}
        case "RolledSummary":
            return {"summary": "nothing"}
        case "Conclusion":
            return {"text": "I do not know", "evidence": []}
    found = quoted.get("found", [])
    return act("answer", text="there", evidence=[1]) if found else act("retrieve_episodic", query=quoted["said"])


def at(hours: int) -> datetime:
    return START + timedelta(hours=hours)


def asked(controller: Controller, said: str, hours: int) -> ControllerAnswer:
    return controller.turn(said, now=at(hours))


@pytest.fixture
def told(converse: Opener) -> tuple[Controller, ScriptedEngine]:
    engine = ScriptedEngine(looking)
    controller = converse(engine, **KEYS)
    controller.memory.add("I put the lamp in room 12.", user_id="ada", now=START)
    controller.memory.add("I put the ladder in room 14.", user_id="ada", now=START)
    return controller, engine


def shown(engine: ScriptedEngine) -> list[list[dict[str, Any]]]:
    """The examples of each prompt but for summaries."""
    prompts = [one for one in engine.requests if "The user says now" in one.turns[-1].content]
    return [quoted_in(one).get("examples", []) for one in prompts]


def test_a_reply_whose_question_is_gone_is_no_example_of_an_earlier_question(
    told: tuple[Controller, ScriptedEngine],
) -> None:
    controller, engine = told
    memory = controller.memory
    for hour, (role, text) in enumerate(
        [
            ("user", "Where is the lamp?"),
            ("assistant", "In room 12."),
            ("user", "Where is Bob?"),
            ("assistant", "In Rome."),
        ]
    ):
        memory.add([{"role": role, "content": text}], user_id="ada", run_id="s", now=at(hour))
    *_, question, reply = memory.log(user_id="ada", run_id="s")
    memory.feedback(reply.id, user_id="ada", helpful=True, now=at(5))
    memory.delete(question.id, user_id="ada", now=at(6))
    asked(controller, "Where is the lamp, in which room?", 7)
    assert not any(shown(engine))


def test_a_helpful_exchange_is_shown_with_the_memories_that_it_cites(
    told: tuple[Controller, ScriptedEngine],
) -> None:
    controller, engine = told
    lamp = asked(controller, "Where is the lamp?", 1)
    ladder = asked(controller, "Where is the ladder?", 2)
    asked(controller, "Thanks, I like tea.", 3)
    assert not any(shown(engine)), "nothing was called helpful"
    controller.feedback(lamp, helpful=True, now=at(4))
    controller.memory.feedback(ladder.reply_id, user_id="ada", helpful=True, now=at(4))
    engine.requests.clear()
    answer = asked(controller, "Where is the lamp, where is the lamp, where is the ladder?", 5)
    (first, second) = shown(engine)[0]
    assert first["question"] == "Where is the lamp?" and first["memories"] == ["I put the lamp in room 12."]
    assert (second["question"], second["reply"]) == ("Where is the ladder?", "there"), "however it was called so"
    assert 'Under "examples"' in engine.requests[-1].turns[0].content
    assert any("2 examples at hand" in line for line in answer.trace)
    reply = controller.memory.get(answer.reply_id, user_id="ada")
    assert reply is not None and {lamp.turn_id, lamp.reply_id} <= set(reply.metadata["evidence"])


@pytest.mark.parametrize("how", ["unhelpful", "delete question", "delete memory", "unlike", "context", "off"])
def test_what_is_no_example(told: tuple[Controller, ScriptedEngine], converse: Opener, how: str) -> None:
    controller, engine = told
    memory = controller.memory
    lamp = asked(controller, "Where is the lamp?", 1)
    controller.feedback(lamp, helpful=True, now=at(2))
    if how != "context":
        asked(controller, "I like tea.", 3)
        asked(controller, "I like jam.", 4)
    said = "Where is the lamp now?"
    match how:
        case "unhelpful":
            controller.feedback(lamp, helpful=False, now=at(5))
        case "delete question":
            memory.delete(lamp.turn_id, user_id="ada")
        case "delete memory":
            memory.delete(lamp.evidence[0].hit.id, user_id="ada")
        case "unlike":
            said = "How old am I?"
        case "off":
            controller = converse(engine, **{**KEYS, "examples": 0})
    engine.requests.clear()
    asked(controller, said, 6)
    assert engine.requests and not any(shown(engine))


def test_examples_and_skills_are_the_first_to_leave_a_full_prompt() -> None:
    one: dict[str, Any] = {"text": "x"}
    desk = Desk(
        "today", "said", context=(one, one), done=("d",), notes=("a", "b"), skills=(one,) * 2, examples=(one,) * 2
    )

    def size(desk: Desk) -> int:
        return sum(len(part) for part in (desk.context, desk.done, desk.notes, desk.skills, desk.examples))

    def left(limit: int) -> tuple[int, int, int, tuple[str, ...], int]:
        _, fit = fit_desk(lambda turns: int(turns[0].content), lambda own: (Turn("user", str(size(own))),), desk, limit)
        return len(fit.examples), len(fit.skills), len(fit.context), fit.notes, len(fit.done)

    assert [left(limit) for limit in range(9, -1, -1)] == [
        (2, 2, 2, ("a", "b"), 1),
        (1, 2, 2, ("a", "b"), 1),
        (0, 2, 2, ("a", "b"), 1),
        (0, 1, 2, ("a", "b"), 1),
        (0, 0, 2, ("a", "b"), 1),
        (0, 0, 1, ("a", "b"), 1),
        (0, 0, 0, ("a", "b"), 1),
        (0, 0, 0, ("b",), 1),
        (0, 0, 0, (), 1),
        (0, 0, 0, (), 0),
    ]


def test_another_user_has_none_of_it(told: tuple[Controller, ScriptedEngine]) -> None:
    controller, engine = told
    controller.feedback(asked(controller, "Where is the lamp?", 1), helpful=True, now=at(2))
    other = Controller(controller.memory, engine, user_id="eve", flush=False)
    engine.requests.clear()
    asked(other, "Where is the lamp?", 3)
    assert not any(shown(engine))
