"""Procedural memory through `Memory`: skills are found by their trigger, count their outcomes, and belong to a user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from tests.helpers.noting import day, say, tell

Open = Callable[..., Memory]


def add(memory: Memory, name: str, trigger: str, *steps: str, user: str = "ada", **more: Any) -> Any:
    return memory.add_skill(name, trigger=trigger, steps=steps or ("do it",), user_id=user, now=day(1), **more)


def names(memory: Memory, situation: str, user: str = "ada", **more: Any) -> list[str]:
    return [found.skill.name for found in memory.find_skills(situation, user_id=user, **more)]


def test_a_skill_is_found_by_a_situation_like_its_trigger(memory: Memory) -> None:
    add(memory, "sourdough", "bake bread without yeast", "feed the starter", "knead", "bake at 240 degrees")
    add(memory, "puncture", "repair a flat bicycle tyre", "remove the wheel", "patch the tube")
    add(memory, "visa", "apply for a travel visa", "fill in the form")
    found = memory.find_skills("the tyre of my bicycle is flat", user_id="ada")
    assert found[0].skill.name == "puncture"
    assert found[0].skill.steps == ("remove the wheel", "patch the tube")
    assert [one.similarity for one in found] == sorted((one.similarity for one in found), reverse=True)
    assert -1 <= found[-1].similarity <= found[0].similarity <= 1 + 1e-6
    assert names(memory, "how do I bake bread?", top_k=1) == ["sourdough"]
    assert memory.stats(user_id="ada").units["skill"] == 3


def test_the_kind_skill_is_searched_on_request_alone(memory: Memory) -> None:
    tell(memory, "We should bake bread on Sunday.", 1)
    add(memory, "sourdough", "bake bread without yeast")
    assert [hit.unit.kind for hit in memory.search("bake bread", user_id="ada", now=day(2))] == ["chunk"]
    (hit,) = memory.search("bake bread", user_id="ada", kinds=("skill",), now=day(2))
    assert hit.unit.kind == "skill" and "sourdough" in hit.text
    memory.sleep(now=day(3))
    assert memory.verify() == []


def test_a_skill_of_the_same_name_is_replaced_and_keeps_its_outcomes(memory: Memory) -> None:
    first = add(memory, "Sourdough", "bake bread", "knead")
    memory.skill_outcome(first.id, user_id="ada", success=True, now=day(2))
    second = add(memory, "sourdough", "prepare pizza dough", "stretch", "fold")
    assert second.id == first.id
    assert (second.trigger, second.steps, second.successes) == ("prepare pizza dough", ("stretch", "fold"), 1)
    (found,) = memory.find_skills("pizza dough", user_id="ada")
    assert found.skill == second
    assert not memory.search("bread", user_id="ada", kinds=("skill",), now=day(3), threshold=0.5)


def test_outcomes_are_counted(memory: Memory) -> None:
    skills = [add(memory, name, "open the jar", name) for name in ("twist", "tap", "heat")]
    for _ in range(3):
        memory.skill_outcome(skills[2].id, user_id="ada", success=True, now=day(2))
    last = memory.skill_outcome(skills[0].id, user_id="ada", success=False, now=day(2))
    assert (last.successes, last.failures, last.updated_at) == (0, 1, day(2))
    counted = {one.skill.name: (one.skill.successes, one.skill.failures)
               for one in memory.find_skills("open the jar", user_id="ada")}  # fmt: skip
    assert counted == {"heat": (3, 0), "tap": (0, 0), "twist": (0, 1)}


def test_equally_fitting_skills_come_by_success(memory: Memory) -> None:
    poor, good = (add(memory, "jar", "open the jar", agent_id=agent) for agent in ("one", "two"))
    memory.skill_outcome(poor.id, user_id="ada", success=False, now=day(2))
    memory.skill_outcome(good.id, user_id="ada", success=True, now=day(2))
    found = memory.find_skills("open the jar", user_id="ada")
    assert [one.skill.id for one in found] == [good.id, poor.id]
    assert found[0].similarity == pytest.approx(found[1].similarity)


def test_skills_of_agents_and_users_are_apart(memory: Memory) -> None:
    mine = add(memory, "jar", "open the jar", "mine")
    add(memory, "jar", "open the jar", "the cook's", agent_id="cook")
    theirs = add(memory, "jar", "open the jar", "of another", user="eve")
    steps = lambda **more: sorted(found.skill.steps[0] for found in memory.find_skills("open the jar", **more))  # noqa: E731
    assert steps(user_id="ada") == ["mine", "the cook's"]
    assert steps(user_id="ada", agent_id="cook") == ["the cook's"]
    assert steps(user_id="eve") == ["of another"]
    assert steps(user_id="nobody") == steps(user_id="ada", agent_id="nobody") == []
    digest = memory.digest(user_id="eve")
    for user, key in (("ada", theirs.id), ("eve", mine.id), ("nobody", mine.id), ("ada", "no such id")):
        with pytest.raises(NotFoundError):
            memory.skill_outcome(key, user_id=user, success=True)
    memory.skill_outcome(mine.id, user_id="ada", success=True, now=day(2))
    memory.erase(user_id="ada")
    assert steps(user_id="ada") == [] and memory.digest(user_id="eve") == memory.digest() == digest


@pytest.mark.parametrize(
    "name, trigger, steps",
    [("", "t", ["s"]), ("  ", "t", ["s"]), ("n", "", ["s"]), ("n", "\t", ["s"]), ("n", "t", []), ("n", "t", ["s", " "]),
     ("n", "t", "knead"), ("n", "t", [5]), ("n", "t", None), ("n", "t", iter(["s"]))],
)  # fmt: skip
def test_a_skill_needs_name_trigger_and_steps(name: str, trigger: str, steps: Any, memory: Memory) -> None:
    tell(memory, "Hello.", 1)
    digest = memory.digest()
    with pytest.raises(InvalidInputError):
        memory.add_skill(name, trigger=trigger, steps=steps, user_id="ada")
    assert memory.digest() == digest


def test_bad_questions_are_refused(memory: Memory) -> None:
    add(memory, "jar", "open the jar")
    with pytest.raises(InvalidInputError):
        memory.find_skills("  ", user_id="ada")
    with pytest.raises(InvalidInputError):
        memory.find_skills("jar", user_id="ada", top_k=0)


def test_no_more_than_asked_for(memory: Memory) -> None:
    for i in range(7):
        add(memory, f"jar {i}", "open the jar")
    assert len(names(memory, "open the jar")) == 5
    assert len(names(memory, "open the jar", top_k=2)) == 2
    assert len(names(memory, "open the jar", top_k=50)) == 7


def test_chinese_skills(memory: Memory) -> None:
    add(memory, "换轮胎", "自行车轮胎没气了", "拆下轮子", "补内胎")
    add(memory, "做面包", "想吃新鲜面包", "和面", "烤")
    assert names(memory, "我的自行车轮胎坏了", top_k=1) == ["换轮胎"]


def test_skills_outlive_process_export_and_sleep(noted: Open) -> None:
    memory, copy = noted("memory.db"), noted("copy.db")
    skill = add(memory, "jar", "open the jar", "twist")
    memory.skill_outcome(skill.id, user_id="ada", success=True, now=day(2))
    before = memory.find_skills("the jar", user_id="ada")
    memory.sleep(now=day(900))
    assert memory.find_skills("the jar", user_id="ada") == before
    copy.import_(list(memory.export()))
    assert copy.digest() == memory.digest()
    assert copy.find_skills("the jar", user_id="ada") == before
    memory.close()
    assert noted("memory.db").find_skills("the jar", user_id="ada") == before
    assert copy.verify() == []


def test_the_same_skills_give_the_same_digest(noted: Open) -> None:
    one, other = noted("one.db"), noted("other.db")
    for memory, order in ((one, ("a", "b")), (other, ("b", "a"))):
        for name in order:
            add(memory, name, f"trigger of {name}")
    assert one.digest() == other.digest()
    other.skill_outcome(add(other, "a", "trigger of a").id, user_id="ada", success=True)
    assert one.digest() != other.digest()


def test_skills_do_not_disturb_messages_and_facts(noted: Open, tmp_path: Path) -> None:
    with_, without = noted("with.db"), noted("without.db")
    for memory in (with_, without):
        if memory is with_:
            add(memory, "bread", "bread and tea", "{Ben|lives_in|Oslo}")
        for at, text in enumerate(("We like bread. {Ben|lives_in|Rome}", "And tea? {Ben|likes|tea}")):
            say(memory, text, at)
        memory.flush()
    found = [
        [(hit.text, hit.score) for hit in memory.search("bread and tea", user_id="ada", now=day(3))]
        for memory in (with_, without)
    ]
    assert found[0] == found[1]
    assert with_.facts(user_id="ada") == without.facts(user_id="ada")


def test_archived_skills_come_back(memory: Memory) -> None:
    jar = add(memory, "jar", "open the jar")
    add(memory, "tea", "make tea")
    listed = lambda **more: [skill.name for skill in memory.skills(user_id="ada", **more)]  # noqa: E731
    assert listed() == ["jar", "tea"] == names(memory, "the jar")
    before = memory.digest()
    hidden = memory.archive_skill(jar.id, user_id="ada", now=day(2))
    assert (hidden.status, hidden.updated_at) == ("archived", day(2)) and memory.digest() != before
    assert names(memory, "the jar") == listed() == ["tea"] and listed(archived=True) == ["jar", "tea"]
    assert listed(agent_id="cook", archived=True) == [] == memory.skills(user_id="eve", archived=True)
    assert [hit.text for hit in memory.search("open the jar", user_id="ada", kinds=("skill",))] == []
    assert memory.stats(user_id="ada").units["skill"] == 1 and memory.verify() == []
    assert memory.restore_skill(jar.id, user_id="ada", now=day(3)).status == "active"
    assert names(memory, "the jar") == listed() == ["jar", "tea"] and memory.digest() == before
    assert memory.search("open the jar", user_id="ada", kinds=("skill",))[0].text == jar.text
    memory.archive_skill(jar.id, user_id="ada", now=day(4))
    add(memory, "Jar", "open a glass")
    assert listed() == ["Jar", "tea"], "to add it anew brings it back"
    for call in (memory.archive_skill, memory.restore_skill):
        for user, key in (("eve", jar.id), ("ada", "no such id")):
            with pytest.raises(NotFoundError, match="nscma skills --archived"):
                call(key, user_id=user)
    assert memory.verify() == []
