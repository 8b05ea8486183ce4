"""`score.importance = "model"`: messages rated from 1 to 10 when they are first read (Generative Agents)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError, ReplyError
from nscma_torch.core.protocols import ImportanceTasks
from nscma_torch.core.records import Unit
from nscma_torch.llm.engines.structured import schema_of
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.llm.prompts import tasks as prompts
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.helpers.noting import EVERYTHING, NotedTasks, day, say
from tests.llm.scripted import ScriptedEngine, data_of, unit

RATED: dict[str, Any] = {**EVERYTHING, "score": {"importance": "model", "gamma": 1.0}, "facts": {"units": ["triple"]}}
Open = Callable[..., Memory]


class RatingTasks(NotedTasks):
    """Rates a message by the number of its exclamation marks."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.result: Any = None

    def rate(self, units: Sequence[Unit]) -> list[int]:
        self.asked += [one.text for one in units]
        return [1 + one.text.count("!") for one in units] if self.result is None else self.result


def importance(memory: Memory, key: str) -> float:
    episode = memory.get(key, user_id="ada", now=day(9))
    assert episode is not None
    return episode.importance


def test_a_rating_is_the_importance_of_a_message_and_its_units(open_memory: Open) -> None:
    tasks = RatingTasks()
    memory = open_memory(config=RATED, tasks=tasks)
    plain = say(memory, "Ben had toast.", 1).id
    great = say(memory, "{Ben|lives_in|Oslo} !!!!!!!!!", 1).id
    memory.flush()
    assert (importance(memory, plain), importance(memory, great)) == (0.0, 1.0)
    hits = memory.search("Ben", user_id="ada", kinds=["chunk", "triple"], now=day(2), explain=True)
    parts = {(hit.unit.kind, hit.id == great): hit.parts["importance"] for hit in hits if "importance" in hit.parts}
    assert parts == {("chunk", True): 1.0, ("triple", True): 1.0, ("chunk", False): 0.0}
    assert memory.verify() == []


def test_a_message_is_rated_once_and_again_when_it_is_edited(open_memory: Open) -> None:
    tasks = RatingTasks()
    memory = open_memory(config=RATED, tasks=tasks)
    key = say(memory, "Hello!!!", 1).id
    memory.flush()
    memory.feedback(key, user_id="ada", helpful=False, now=day(2))
    assert importance(memory, key) == pytest.approx(3 / 18)
    memory.reextract(user_id="ada")
    memory.flush()
    assert tasks.asked == ["Hello!!!"] and importance(memory, key) == pytest.approx(3 / 18)
    memory.update(key, "Hello!!!!!!", user_id="ada", now=day(3))
    memory.flush()
    assert importance(memory, key) == pytest.approx(6 / 9)


@pytest.mark.parametrize("result", [[], [0], [11], [5.5], ["5"]])
def test_a_rating_that_is_none_fails_the_job_and_changes_nothing(open_memory: Open, result: Any) -> None:
    tasks = RatingTasks()
    memory = open_memory(config=RATED, tasks=tasks)
    key = say(memory, "{Ben|lives_in|Oslo}", 1).id
    before, tasks.result = importance(memory, key), result
    memory.flush()
    assert memory.stats().jobs_failed == 1 and "whole number for each, from 1 to 10" in memory.stats().failures[0]
    assert importance(memory, key) == before and memory.facts(user_id="ada") == []
    tasks.result = None
    memory.retry_failed()
    memory.flush()
    assert importance(memory, key) == 0.0 and memory.facts(user_id="ada")


def test_by_default_nothing_is_rated(open_memory: Open) -> None:
    tasks = RatingTasks()
    memory = open_memory(config=EVERYTHING, tasks=tasks)
    say(memory, "Hello!!!", 1)
    memory.flush()
    assert tasks.asked == []


def test_tasks_that_cannot_rate_are_refused_by_name(open_memory: Open) -> None:
    memory = open_memory(config=RATED, tasks=NotedTasks())
    say(memory, "Hello!!!", 1)
    with pytest.raises(ConfigError, match="NotedTasks"):
        memory.flush()


def test_a_model_rates_each_message_alone_from_1_to_10() -> None:
    ratings = iter([3, 10])
    engine = ScriptedEngine(lambda _: {"importance": next(ratings)})
    tasks = PromptedTasks(engine)
    assert isinstance(tasks, ImportanceTasks)
    assert tasks.rate([unit("We had soup."), unit("My son was born.")]) == [3, 10]
    asked = [data_of(request.turns)["message"]["text"] for batch in engine.batches for request in batch]
    assert asked == ["We had soup.", "My son was born."]
    assert schema_of(prompts.RatingForm)
    for reply in ({"importance": 0}, {"importance": 11}, {"importance": "high"}):
        with pytest.raises(ReplyError):
            PromptedTasks(ScriptedEngine(lambda _, reply=reply: reply)).rate([unit("We had soup.")])  # type: ignore[misc]


def test_without_a_model_it_is_how_likely_a_message_is_needed_later() -> None:
    assert isinstance(EmbeddedTasks(), ImportanceTasks)
    small, vital = EmbeddedTasks().rate([unit("ok thanks"), unit("Remember that I am allergic to penicillin.")])
    assert 1 <= small < vital <= 10
    shares = {"a": 0.0, "b": 0.5, "c": 1.0}
    by_head = EmbeddedTasks(importance=lambda texts: [shares[text] for text in texts])
    assert by_head.rate([unit(text) for text in "abc"]) == [1, 5, 10]
