"""Skills: found by their trigger, counted by their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from torch import Tensor

from nscma_torch.curator.skills import Skills, success
from nscma_torch.errors import EncodingError, InvalidInputError, NotFoundError
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


def test_the_probability_of_success_is_laplaces(skills: Skills) -> None:
    made = skills.find(ADA, "flour")[0].skill
    for successes, failures, expected in ((0, 0, 1 / 2), (1, 0, 2 / 3), (0, 1, 1 / 3), (3, 1, 4 / 6), (2, 6, 3 / 10)):
        assert success(replace(made, successes=successes, failures=failures)) == pytest.approx(expected)


def test_a_long_trigger_fits_by_its_best_part(skills: Skills) -> None:
    """It has several units; a skill that is unlike what is asked keeps its own, negative, likeness."""
    trigger = " ".join(f"The {thing} is broken." for thing in ("fence", "roof", "lamp", "door", "stove") * 80)
    skills.add(ADA, "Repair", f"{trigger} The zeppelin has lost its helium.", ["fix it"], at=day(1))
    found = {one.skill.name: one.similarity for one in skills.find(ADA, "The zeppelin has lost its helium.")}
    assert len(found) == 3 and max(found, key=found.__getitem__) == "Repair"

    class Opposed(type(skills._embedder)):  # type: ignore[misc]
        def embed(self, texts: Sequence[str]) -> Tensor:
            return -super().embed(texts)

    skills._embedder = Opposed()
    unlike = {one.skill.name: one.similarity for one in skills.find(ADA, "someone is hungry and there is flour")}
    assert -1 <= unlike["Bake bread"] < -0.5


@pytest.mark.parametrize("place", range(3))
def test_what_has_no_utf8_form_is_refused_and_nothing_is_stored(place: int, skills: Skills, memory: Memory) -> None:
    before = memory.digest()
    name, trigger, step = ("\ud800" if i == place else "fine" for i in range(3))
    with pytest.raises(EncodingError, match="surrogate"):
        skills.add(ADA, name, trigger, [step], at=day(1))
    assert memory.digest() == before
