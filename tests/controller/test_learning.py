"""Feedback on replies: it is counted, a success becomes a skill, and a skill is shown where it fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.controller.trace import ControllerAnswer
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import EngineUnavailableError, InvalidInputError, NotFoundError, StoreBusyError
from nscma_torch.episodic.log import episodes
from nscma_torch.llm.engines.contract import Request
from tests.controller.scripted import ScriptedEngine, act, answering, form_of

START = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = "zebra4711quux"
Opener = Callable[..., Controller]
FOUND: dict[str, Any] = {
    "worth": True,
    "name": "Find a place",
    "trigger": "The user asks where a thing was put.",
    "steps": [
        {"action": "retrieve_episodic", "how": "search the thing with the room"},
        {"action": "answer", "how": "name the newest room"},
    ],
}


def looking(learnt: Any = None) -> Callable[[str, Mapping[str, Any], Request], Any]:
    """Looks once, answers with the first memory, and writes `learnt` as its skill; a question about a ladder it can't
    answer.
    """

    def script(form: str, quoted: Mapping[str, Any], _: Request) -> Any:
        match form:
            case "DraftForm":
                return {"known": False, "text": "?"}
            case "SkillForm":
                return learnt(quoted) if callable(learnt) else learnt or FOUND
            case "RolledSummary":
                return {"summary": "nothing"}
            case "SearchAct":
                return act("retrieve_episodic", query="ladder")
            case "Conclusion":
                return {"text": "I do not know.", "evidence": []}
        if "lines" in quoted:
            return answering(form, quoted, "nowhere" if "ladder" in quoted["said"] else "the lamp")
        found = quoted.get("found", [])
        return act("answer", text=found[0]["text"], evidence=[1]) if found else act("retrieve_episodic", query="lamp")

    return script


def asked(controller: Controller, after: int = 1, said: str = "Where is the lamp?") -> ControllerAnswer:
    return controller.turn(said, now=START + timedelta(hours=after))


@pytest.fixture
def told(converse: Opener) -> Callable[..., tuple[Controller, ScriptedEngine, str]]:
    def open_(learnt: Any = None, **keys: Any) -> tuple[Controller, ScriptedEngine, str]:
        engine = ScriptedEngine(looking(learnt))
        keys = {"write_skills": True, "skills": 2, "least_alike": 0.0, **keys}
        controller = converse(engine, config={"facts": {"answer": False}}, **keys)
        stored = controller.memory.add(f"I put the lamp in room {SECRET}.", user_id="ada", now=START)[0].id
        return controller, engine, stored

    return open_


def test_a_helpful_reply_becomes_a_skill_that_the_next_prompt_shows(told: Any) -> None:
    controller, engine, _ = told()
    answer = asked(controller)
    assert all("skills" not in request.turns[-1].content for request in engine.requests), "there is none yet"
    learnt = controller.feedback(answer, helpful=True, now=START + timedelta(hours=2))
    assert learnt.skill is not None and learnt.usage.llm_calls == 1
    assert learnt.skill.steps == (
        "retrieve_episodic: search the thing with the room",
        "answer: name the newest room",
    )
    assert (learnt.skill.name, learnt.skill.successes) == ("Find a place", 0)
    (noted,) = controller.memory.derived("skill", user_id="ada")
    assert {answer.turn_id, answer.reply_id} < set(noted.episode_ids) and noted.id == learnt.skill.id
    (hit,) = controller.memory.search("find a place", user_id="ada", kinds=["skill"], now=START + timedelta(hours=3))
    assert set(hit.unit.episode_ids) == set(noted.episode_ids)
    assert controller.memory.verify() == []
    for said, forms in (("Find the ladder.", ["DraftForm", "Act", "Act"]), ("Where is my ladder?", ["SearchAct"])):
        engine.requests.clear()
        again = asked(controller, 3, said)
        shown = [request for request in engine.requests if '"skills"' in request.turns[-1].content]
        assert [form_of(request) for request in shown] == forms and again.skills == (learnt.skill.id,)
        data, _, task = shown[0].turns[-1].content.partition("\n\nThe user says now: ")
        assert "search the thing with the room" in data, "it is quoted as data"
        assert "search the thing" not in task and '"skills" describes' in task
        assert any("matching skill: Find a place" in line for line in again.trace)


def test_a_reply_may_repeat_what_a_skill_was_written_from(told: Any) -> None:
    controller, _, _ = told(active_turns=1, recent_turns=1, summary_batch=1)
    first = asked(controller)
    controller.feedback(first, helpful=True, now=START + timedelta(hours=2))
    for hours in (3, 4, 5):
        asked(controller, hours, "I like tea.")
    reply = controller.memory.get(asked(controller, 6).reply_id, user_id="ada")
    assert reply is not None and {first.turn_id, first.reply_id} < set(reply.metadata["evidence"]), "out of context"


def test_what_was_shown_is_counted_and_no_second_one_is_written(told: Any) -> None:
    controller, engine, _ = told()
    skill = controller.feedback(asked(controller), helpful=True, now=START + timedelta(hours=2)).skill
    for helpful, counts in ((True, (1, 0)), (False, (1, 1)), (False, (1, 2))):
        answer = asked(controller, 3)
        assert answer.skills == (skill.id,)
        assert controller.feedback(answer, helpful=helpful, now=START + timedelta(hours=3)).skill is None
        (known,) = controller.memory.skills(user_id="ada")
        assert (known.successes, known.failures) == counts
    assert engine.forms().count("SkillForm") == 1
    assert asked(controller, 4).skills == (), "it failed more often than it worked"


def test_a_skill_goes_with_what_it_was_written_from(told: Any, tmp_path: Path) -> None:
    controller, _, stored = told(lambda quoted: {**FOUND, "trigger": quoted["reply"]})
    memory = controller.memory
    controller.feedback(asked(controller), helpful=True, now=START + timedelta(hours=2))
    assert SECRET in memory.skills(user_id="ada")[0].trigger
    receipt = memory.erase(user_id="ada", memory_id=stored)
    assert receipt.found == 0 and receipt.rows["skills"] == 1
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.glob("store.db*"))
    assert memory.skills(user_id="ada", archived=True) == [] and memory.derived("skill", user_id="ada") == []
    assert memory.search("lamp", user_id="ada", kinds=["skill"]) == [] and memory.verify() == []


def test_skills_of_the_user_are_shown_and_never_replaced(told: Any) -> None:
    controller, _, stored = told()
    memory = controller.memory
    answer = asked(controller)
    own = memory.add_skill("find a  Place", trigger="something is lost", steps=["look below the sofa"], user_id="ada")
    learnt = controller.feedback(answer, helpful=True, now=START + timedelta(hours=2))
    assert learnt.skill is None and "is yours" in learnt.reason
    assert [skill.trigger for skill in memory.skills(user_id="ada")] == ["something is lost"]
    assert asked(controller, 3, "Something is lost, find the place!").skills == (own.id,)
    memory.erase(user_id="ada", memory_id=stored)
    assert [skill.id for skill in memory.skills(user_id="ada")] == [own.id]


def test_an_archived_skill_stays_archived(told: Any) -> None:
    controller, _, _ = told()
    memory = controller.memory
    first = controller.feedback(asked(controller), helpful=True, now=START + timedelta(hours=2)).skill
    memory.components.skills.set_status("ada", first.id, "archived", at=START + timedelta(hours=3))
    learnt = controller.feedback(asked(controller, 4), helpful=True, now=START + timedelta(hours=5))
    assert learnt.skill is None and "archived" in learnt.reason
    assert memory.skills(user_id="ada") == []
    assert [one.status for one in memory.skills(user_id="ada", archived=True)] == ["archived"]


def test_what_the_user_rewrites_is_his_own(told: Any) -> None:
    controller, _, stored = told()
    memory = controller.memory
    controller.feedback(asked(controller), helpful=True, now=START + timedelta(hours=2))
    memory.add_skill("Find a place", trigger="something is lost", steps=["look below the sofa"], user_id="ada")
    assert memory.derived("skill", user_id="ada") == []
    memory.erase(user_id="ada", memory_id=stored)
    (kept,) = memory.skills(user_id="ada")
    assert kept.trigger == "something is lost" and memory.verify() == []
    assert memory.erase(user_id="ada", skill_id=kept.id).found == 0


def test_a_written_skill_can_be_erased_exported_and_imported(told: Any, open_memory: Any) -> None:
    controller, _, _ = told()
    memory = controller.memory
    skill = controller.feedback(asked(controller), helpful=True, now=START + timedelta(hours=2)).skill
    memory.flush()
    other = open_memory("other.db")
    other.import_(list(memory.export()))
    assert other.digest() == memory.digest() and other.verify() == []
    assert other.derived("skill", user_id="ada")[0].id == skill.id
    assert memory.erase(user_id="ada", skill_id=skill.id).found == 0
    assert memory.derived("skill", user_id="ada") == [] and memory.verify() == []


@pytest.mark.parametrize(
    "learnt",
    [{**FOUND, "worth": False}, {**FOUND, "steps": [{"action": "memorize", "how": "keep the room"}]}],
)
def test_nothing_is_written_that_was_not_done_or_is_not_worth_it(told: Any, learnt: Any) -> None:
    controller, engine, _ = told(learnt)
    done = controller.feedback(asked(controller), helpful=True, now=START + timedelta(hours=2))
    assert done.skill is None and "wrote no skill" in done.reason and engine.forms()[-1] == "SkillForm"
    assert controller.memory.skills(user_id="ada") == []


def test_feedback_is_counted_on_the_reply_and_what_it_cites(told: Any) -> None:
    controller, engine, stored = told(write_skills=False)
    memory = controller.memory
    answer = asked(controller)
    assert controller.feedback(answer, helpful=True, now=START + timedelta(hours=2)).reason == "counted"
    assert "SkillForm" not in engine.forms(), "off by default"
    for one in (answer.reply_id, stored):
        assert memory.history(one, user_id="ada")[-1].reason == "helpful"
    controller.feedback(answer, helpful=False, now=START + timedelta(hours=3))
    assert memory.history(answer.reply_id, user_id="ada")[-1].reason == "not helpful"
    assert memory.history(stored, user_id="ada")[-1].reason == "helpful, withdrawn", "the message is not to blame"


def counted(controller: Controller, *ids: str) -> list[tuple[int, float]]:
    """How often each of these messages was recalled, and its importance, once sleep has counted that."""
    controller.memory.sleep(now=START + timedelta(hours=9))
    found = [controller.memory.get(one, user_id="ada") for one in ids]
    return [(one.accesses, round(one.importance, 9)) for one in found if one is not None]


@pytest.mark.parametrize(
    ("ratings", "slept"),
    [((True, True), False), ((False, True), True), ((True, False), False), ((True, False, True), True)],
)
def test_feedback_on_a_reply_counts_once_and_the_newest_stands(
    told: Any, ratings: tuple[bool, ...], slept: bool
) -> None:
    states = []
    for given in (ratings[-1:], ratings):
        controller, _, stored = told(write_skills=False)
        controller.memory.add_skill("Find", trigger="where is the lamp", steps=["look"], user_id="ada")
        answer = asked(controller)
        for helpful in given:
            controller.feedback(answer, helpful=helpful, now=START + timedelta(hours=2))
            if slept:
                controller.memory.sleep(now=START + timedelta(hours=3))
        (skill,) = controller.memory.skills(user_id="ada")
        assert controller.feedback(answer, helpful=ratings[-1]).reason == "counted before"
        states.append((counted(controller, answer.reply_id, stored), skill.successes, skill.failures))
        assert controller.memory.verify() == []
        controller.memory.erase(user_id="ada")
    assert states[0] == states[1]
    assert states[0][1:] == ((1, 0) if ratings[-1] else (0, 1))


def test_a_skill_goes_with_the_praise_that_it_was_written_after(told: Any) -> None:
    controller, engine, _ = told()
    answer = asked(controller)
    skill = controller.feedback(answer, helpful=True, now=START + timedelta(hours=2)).skill
    assert controller.feedback(answer, helpful=True, now=START + timedelta(hours=2)).skill is None
    assert controller.memory.skills(user_id="ada") == [skill] and engine.forms().count("SkillForm") == 1
    controller.feedback(answer, helpful=False, now=START + timedelta(hours=3))
    assert controller.memory.skills(user_id="ada") == [] == controller.memory.derived("skill", user_id="ada")
    assert controller.memory.verify() == []
    assert controller.feedback(answer, helpful=True, now=START + timedelta(hours=4)).skill is not None


def test_praise_that_is_taken_back_leaves_what_else_was_said_of_a_reply(told: Any) -> None:
    controller, _, stored = told(write_skills=False)
    memory = controller.memory
    memory.feedback(stored, user_id="ada", helpful=True, now=START + timedelta(hours=1))
    answer = asked(controller)
    for helpful in (True, False):
        controller.feedback(answer, helpful=helpful, now=START + timedelta(hours=2))
    assert counted(controller, stored)[0][0] == 4, "and the search found it"


def test_feedback_passes_over_what_it_cites_and_is_gone(told: Any) -> None:
    controller, _, stored = told(write_skills=False)
    answer = asked(controller)
    with controller.memory.components.database.write(ALL_USERS) as connection:
        seq, reply = episodes.require(connection, "ada", answer.reply_id)
        episodes.set_columns(connection, seq, metadata="{}")  # a reply that does not name what it was written from
    controller.memory.erase(user_id="ada", memory_id=stored)
    assert controller.feedback(answer, helpful=True).reason == "counted"
    assert reply.id in {one.id for one in controller.memory.get_all(user_id="ada")}


def test_what_cannot_have_feedback(told: Any, converse: Opener) -> None:
    controller, _, _ = told()
    with pytest.raises(NotFoundError, match="ask again first"):
        controller.feedback(controller.consider("Where is the lamp?"), helpful=True)
    answer = asked(controller)
    controller.memory.delete(answer.reply_id, user_id="ada")
    with pytest.raises(NotFoundError):
        controller.feedback(answer, helpful=True)
    with pytest.raises(InvalidInputError):
        controller.feedback("good", helpful=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        controller.feedback(asked(controller, 2), helpful="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("change", ["delete", "update"])
def test_what_changes_while_a_skill_is_written(told: Any, change: str) -> None:
    def meanwhile(_: Mapping[str, Any]) -> Any:
        if change == "delete":
            controller.memory.delete(stored, user_id="ada")
        else:
            controller.memory.update(stored, "I put the lamp away.", user_id="ada")
        return FOUND

    controller, _, stored = told(meanwhile)
    with pytest.raises(StoreBusyError, match="while a skill was written"):
        controller.feedback(asked(controller), helpful=True, now=START + timedelta(hours=2))
    assert controller.memory.skills(user_id="ada") == [] and controller.memory.verify() == []


def test_an_engine_that_is_away_leaves_the_feedback(told: Any) -> None:
    controller, _, _ = told(lambda _: EngineUnavailableError("away"))
    answer = asked(controller)
    for _ in range(2):
        with pytest.raises(EngineUnavailableError):
            controller.feedback(answer, helpful=True, now=START + timedelta(hours=2))
    assert [one.event for one in controller.memory.history(answer.reply_id, user_id="ada")] == ["ADD", "FEEDBACK"]
    assert controller.memory.history(answer.reply_id, user_id="ada")[-1].reason == "helpful"


def test_without_an_action_there_is_nothing_to_learn(converse: Opener) -> None:
    engine = ScriptedEngine(lambda *_: {"known": True, "text": "Hello!"})
    controller = converse(engine, write_skills=True)
    learnt = controller.feedback(controller.turn("Hi there"), helpful=True)
    assert learnt.skill is None and "nothing was looked up" in learnt.reason and engine.forms() == ["DraftForm"]


def test_rules_write_no_skill_and_follow_none(converse: Opener) -> None:
    controller = converse(write_skills=True, skills=2, least_alike=0.0)
    memory = controller.memory
    memory.add("I put the lamp in room 12.", user_id="ada", now=START)
    memory.add_skill("Find", trigger="where is the lamp", steps=["look"], user_id="ada")
    answer = asked(controller)
    learnt = controller.feedback(answer, helpful=True, now=START + timedelta(hours=2))
    assert answer.skills == () and learnt.skill is None and "embedded wrote no skill" in learnt.reason
    assert len(memory.skills(user_id="ada")) == 1


def test_only_skills_that_are_alike_enough(told: Any) -> None:
    controller, _, _ = told(least_alike=0.99)
    controller.memory.add_skill("Bake", trigger="bread", steps=["knead"], user_id="ada")
    assert asked(controller).skills == ()
