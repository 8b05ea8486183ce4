"""Skills: found by their units, counted by outcome, one of each name for an agent."""

from __future__ import annotations

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Scope
from nscma_torch.episodic.log import streams
from nscma_torch.features.skills import rows as skills
from nscma_torch.features.skills.rows import Skill
from tests.helpers.telling import day, micros


def put(memory: Memory, name: str, trigger: str, *steps: str, at: int = 0, agent_id: str | None = None) -> Skill:
    scope = Scope("ada", agent_id)
    origin = skills.origin(scope, name, micros(at))
    (new,) = memory.components.indexer.units("skill", [f"{name}: {trigger}"], [origin])
    with memory.components.database.write(ALL_USERS) as connection:
        streams.touch_user(connection, "ada", changed=True)
        return skills.put(connection, scope, name, trigger, steps, new, micros(at))


def found(memory: Memory, query: str) -> list[str]:
    return [hit.text.partition(":")[0] for hit in memory.search(query, user_id="ada", kinds=("skill",))]


def test_the_same_name_again_is_the_same_skill(memory: Memory) -> None:
    put(memory, "Sourdough", "bread", "wait")
    with memory.components.database.write(ALL_USERS) as connection:
        first = skills.note_outcome(connection, "ada", skills.select_skills(connection, Scope("ada"))[0].id,
                                    success=True, at=micros(1))  # fmt: skip
    again = put(memory, "sourdough ", "pizza dough", "wait longer", at=5)
    assert (again.id, again.successes, again.trigger) == (first.id, 1, "pizza dough")
    assert (again.recorded_at, again.updated_at) == (day(0), day(5))
    assert found(memory, "pizza dough") == ["sourdough "]
    assert memory.stats().units == {"skill": 1}
    put(memory, "Sourdough", "bread", "wait", agent_id="cook")
    with memory.components.database.read(ALL_USERS) as connection:
        assert len(skills.select_skills(connection, Scope("ada"))) == 2
        assert [s.trigger for s in skills.select_skills(connection, Scope("ada", "cook"))] == ["bread"]
    assert memory.verify() == []


def test_a_skill_that_is_removed_is_gone(memory: Memory) -> None:
    skill = put(memory, "Sourdough", "bread", "wait")
    with memory.components.database.write(ALL_USERS) as connection:
        with pytest.raises(NotFoundError, match="nscma skills"):
            skills.require(connection, "bob", skill.id)
        removed = skills.remove(connection, skill.id)
        assert removed["skills"] == removed["units"] == 1 and removed["postings"] > 0
        assert skills.find(connection, "ada", skill.id) is None
        for call in (
            lambda: skills.require(connection, "ada", skill.id),
            lambda: skills.note_outcome(connection, "ada", skill.id, success=True, at=0),
            lambda: skills.set_status(connection, "ada", skill.id, "archived", 0),
        ):
            with pytest.raises(NotFoundError, match="no skill with id"):
                call()
    assert memory.stats().units == {} and memory.verify() == []
