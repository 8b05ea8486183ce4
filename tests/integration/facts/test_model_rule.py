"""`curator.rule = "model"` from `Memory`: a language model is asked by `flush`, and never by a question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError, EngineUnavailableError
from nscma_torch.llm.prompted import PromptedTasks
from tests.helpers.noting import EVERYTHING, NotedTasks, day
from tests.llm.scripted import Said, ScriptedEngine

RULE = {**EVERYTHING, "curator": {"rule": "model"}}
Open = Callable[..., Memory]


class NotedAndPrompted(NotedTasks):
    """Reads the notation, and has an engine choose the operations."""

    def __init__(self, reply: Callable[[dict[str, Any]], Said]) -> None:
        self.engine = ScriptedEngine(reply)
        self.operate = PromptedTasks(self.engine).operate


def moves(data: dict[str, Any]) -> Said:
    """A newer home takes the place of the home before."""
    if "lives in" not in data["new"]["fact"]:
        return {"operation": "ADD", "facts": []}
    before = [int(i) for i, one in data["known"].items() if "lives in" in one["fact"]]
    return {"operation": "UPDATE" if before else "ADD", "facts": before}


def homes(memory: Memory) -> list[str]:
    return [fact.object for fact in memory.facts(user_id="ada")]


def test_flush_asks_the_model_and_keeps_its_choice(open_memory: Open) -> None:
    tasks = NotedAndPrompted(moves)
    memory = open_memory(config=RULE, tasks=tasks)
    memory.add("{Ben|lives_in|Rome} {Ben|likes|tea}", user_id="ada", now=day(1))
    memory.add("{Ben|lives_in|Oslo}", user_id="ada", now=day(9))
    assert "facts are not derived yet" not in str(memory.ask("Where does Ben live?", user_id="ada").notes)
    memory.flush()
    assert sorted(homes(memory)) == ["Oslo", "tea"]
    made = memory.decisions(user_id="ada")[0]
    assert (made.action, made.object) == ("UPDATE", "Oslo") and "NotedAndPrompted" in made.reason
    asked = len(tasks.engine.batches)
    memory.sleep(user_id="ada", now=day(10))
    memory.flush()
    assert len(tasks.engine.batches) == asked and memory.verify() == []
    memory.undo(made.id, user_id="ada")
    assert sorted(homes(memory)) == ["Rome", "tea"]


def test_a_question_does_not_wait_for_the_model(open_memory: Open) -> None:
    def down(_: dict[str, Any]) -> Said:
        return EngineUnavailableError("away")

    tasks = NotedAndPrompted(down)
    memory = open_memory(config=RULE, tasks=tasks)
    memory.add("{Ben|lives_in|Rome}", user_id="ada", now=day(1))
    memory.add("{Ben|lives_in|Oslo}", user_id="ada", now=day(9))
    memory.flush()
    assert homes(memory) == ["Rome"] and memory.stats().failures == ("EngineUnavailableError: away",)
    asked = len(tasks.engine.batches)
    answer = memory.ask("Where does Ben live?", user_id="ada")
    assert len(tasks.engine.batches) == asked
    assert any("facts are not derived yet" in note for note in answer.notes)
    tasks.engine.reply = moves
    memory.retry_failed()
    memory.flush()
    assert homes(memory) == ["Oslo"]


def test_tasks_that_cannot_choose_are_refused_by_name(open_memory: Open) -> None:
    memory = open_memory(config=RULE, tasks=NotedTasks())
    memory.add("{Ben|lives_in|Rome}", user_id="ada", now=day(1))
    with pytest.raises(ConfigError, match="NotedTasks"):
        memory.flush()
