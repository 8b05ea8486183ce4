"""Skills: found by their trigger, counted by their outcomes."""

from __future__ import annotations

import pytest

from nscma_torch.curator.skills import Skills, success
from nscma_torch.errors import InvalidInputError, NotFoundError
from nscma_torch.memory import Memory
from nscma_torch.records import Scope
from tests.storage.telling import day

ADA = Scope("ada")


@pytest.fixture
def skills(memory: Memory) -> Skills:
    made = Skills(memory.components.database, memory.components.embedder, memory.components.indexer)
    made.add(ADA, "Bake bread", "someone is hungry and there is flour", ["knead", "bake"], at=day(1))
    made.add(ADA, "Reset the router", "the internet connection is down", ["unplug", "wait", "plug in"], at=day(1))
    return made


def test_a_skill_is_found_by_its_trigger(skills: Skills) -> None:
    best = skills.find(ADA, "my internet connection is down again")[0]
    assert best.skill.name == "Reset the router"
    assert best.skill.steps == ("unplug", "wait", "plug in")
    assert best.similarity > skills.find(ADA, "my internet connection is down again")[1].similarity
    assert len(skills.find(ADA, "hungry", top_k=1)) == 1


def test_skills_do_not_cross_users(skills: Skills) -> None:
    assert skills.find(Scope("eve"), "the internet connection is down") == []


def test_outcomes_are_counted_and_break_ties(skills: Skills, memory: Memory) -> None:
    skill = skills.find(ADA, "hungry and there is flour")[0].skill
    assert success(skill) == 0.5
    skills.outcome("ada", skill.id, success=True, at=day(2))
    after = skills.outcome("ada", skill.id, success=False, at=day(3))
    assert (after.successes, after.failures) == (1, 1)
    with pytest.raises(NotFoundError):
        skills.outcome("eve", skill.id, success=True, at=day(2))
    assert memory.verify() == []


def test_a_skill_of_the_same_name_is_replaced(skills: Skills, memory: Memory) -> None:
    first = skills.find(ADA, "flour")[0].skill
    skills.outcome("ada", first.id, success=True, at=day(2))
    again = skills.add(ADA, "bake Bread", "a party with guests", ["buy bread"], at=day(5))
    assert (again.id, again.steps, again.successes) == (first.id, ("buy bread",), 1)
    assert len(skills.find(ADA, "guests")) == 2
    assert memory.verify() == []


@pytest.mark.parametrize(
    ("name", "trigger", "steps"), [("", "x", ["y"]), ("x", " ", ["y"]), ("x", "y", []), ("x", "y", [" "])]
)
def test_a_skill_needs_words(skills: Skills, name: str, trigger: str, steps: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        skills.add(ADA, name, trigger, steps, at=day(1))
