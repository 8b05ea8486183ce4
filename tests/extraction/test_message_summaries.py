"""Summaries of single messages, S_q = LLM(D_q, P_S) in Structural Memory section 3.1, beside those of the hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Unit
from tests.helpers.noting import NotedTasks, day, opener, say, tell

Open = Callable[..., Memory]
ALONE: dict[str, Any] = {"facts": {"units": ["summary"]}}
SAID = ("The kiln is in the shed. It is set to 1240 degrees.", "Our walk led along the river. It rained.")


class FirstSentence(NotedTasks):
    """Summarizes by the first sentence of each unit, or as told."""

    def __init__(self, told: Sequence[str] | None = None) -> None:
        self.told = told
        self.groups: list[list[str]] = []

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        self.groups += [[unit.text for unit in group] for group in groups]
        return [group[0].text.split(".")[0] for group in groups] if self.told is None else list(self.told)


@pytest.fixture
def noted(open_memory: Open, light_surprise: Any) -> Open:
    return opener(open_memory, light_surprise)


def summaries(memory: Memory, question: str = "kiln river") -> dict[str, tuple[str, ...]]:
    hits = memory.search(question, user_id="ada", kinds=("summary",), now=day(9), top_k=50)
    return {hit.text: hit.unit.episode_ids for hit in hits}


def test_each_message_has_its_own(noted: Open) -> None:
    tasks = FirstSentence()
    memory = noted("alone.db", ALONE, tasks=tasks)
    ids = [tell(memory, text, i + 1) for i, text in enumerate(SAID)]
    found = summaries(memory)
    assert found.keys() == {"The kiln is in the shed", "Our walk led along the river"}
    assert set(found.values()) == {(one,) for one in ids} and tasks.groups == [[text] for text in SAID]
    assert memory.verify() == []
    before = memory.digest()
    memory.reextract(user_id="ada")
    memory.flush()
    assert not memory.stats().failures and memory.digest() == before and summaries(memory) == found
    assert len(memory.search("kiln river", user_id="ada", kinds=("summary",), now=day(9))) == 2, "each once"
    memory.update(ids[0], "The loom is in the attic. The kiln was sold.", user_id="ada", now=day(5))
    assert summaries(memory).keys() == {"Our walk led along the river"}
    memory.flush()
    assert summaries(memory).keys() == {"The loom is in the attic", "Our walk led along the river"}
    memory.delete(ids[1], user_id="ada", now=day(6))
    assert summaries(memory).keys() == {"The loom is in the attic"}
    assert memory.erase(user_id="ada", memory_id=ids[0]).found == 0
    assert summaries(memory) == {} and memory.verify() == []


def test_they_stand_beside_those_of_the_hierarchy(noted: Open) -> None:
    hierarchy = {"enabled": True, "min_members": 2, "gamma": 0.0}
    memory = noted("both.db", {**ALONE, "hierarchy": hierarchy}, tasks=FirstSentence())
    for i in range(4):
        tell(memory, f"The kiln is in the shed {i}. It is hot.", i + 1)
    found = summaries(memory)
    assert {len(sources) for sources in found.values()} > {1}, "of one message, and of clusters"
    assert memory.verify() == []
    memory.rebuild(user_id="ada")
    assert set(map(len, summaries(memory).values())) == {1}, "those of clusters are forgotten, the others stay"
    memory.flush()
    assert summaries(memory) == found and memory.verify() == []


@pytest.mark.parametrize("told", [[], ["one", "two"], [" "]])
def test_summaries_that_do_not_fit_fail_the_job(told: list[str], noted: Open) -> None:
    memory = noted("wrong.db", ALONE, tasks=FirstSentence(told))
    say(memory, SAID[0], 1)
    memory.flush()
    assert "summarize was given 1 messages" in str(memory.stats().failures)
    assert summaries(memory) == {}
