"""Skills: found by their trigger, counted by their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from torch import Tensor

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EncodingError
from nscma_torch.core.records import Scope
from nscma_torch.features.skills.skills import Skills, success
from tests.helpers.telling import day

ADA = Scope("ada")


@pytest.fixture
def skills(memory: Memory) -> Skills:
    made = Skills(memory.components.database, memory.components.embedder, memory.components.indexer)
    made.add(ADA, "Bake bread", "someone is hungry and there is flour", ["knead", "bake"], at=day(1))
    made.add(ADA, "Reset the router", "the internet connection is down", ["unplug", "wait", "plug in"], at=day(1))
    return made


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
