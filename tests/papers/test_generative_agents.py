"""The retrieval score of Generative Agents in plain Python, against the library under `papers/generative_agents`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import read_toml
from nscma_torch.core.records import Message, SourcedLine, Unit
from tests.extraction.test_rated_importance import RatingTasks
from tests.papers.presets import FOLDER
from tests.papers.scores import NOW, SAID, START


def test_recency_importance_and_relevance(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """score = recency + importance + relevance, each brought to [0, 1] over all memories, with recency = 0.995^hours
    since a memory was last retrieved.
    """
    memory = open_memory("agents.db", read_toml(FOLDER / "generative_agents.toml"), surprise_model=light_surprise)
    last: dict[str, datetime] = {}
    for i, text in enumerate(SAID):  # of one sitting, so that each has neighbours
        last[text] = START + timedelta(days=9 * i)
        memory.add([Message("user", text, last[text], "Ada", session="s")], user_id="ada", now=NOW)
    memory.flush()
    embedder = memory.components.embedder
    for hours, question, most in ((0, "Where is the kettle?", 2), (50, "Which colour?", 1), (90, "A pier?", 9)):
        now = NOW + timedelta(hours=hours)
        hits = memory.search(question, user_id="ada", now=now, top_k=most, explain=True)
        asked = embedder.embed_query(question)
        importances = {text: importance_of(memory, text, now) for text in SAID}
        relevance = {text: float(embedder.embed([text])[0] @ asked) for text in SAID}
        recency = {text: 0.995 ** ((now - last[text]) / timedelta(hours=1)) for text in SAID}
        parts = [normalized(part) for part in (recency, importances, relevance)]
        expected = {text: sum(part[text] for part in parts) for text in SAID}
        best = sorted(expected, key=lambda text: -expected[text])[:most]
        assert [hit.text for hit in hits] == best
        assert [hit.score for hit in hits] == pytest.approx([expected[text] for text in best], abs=1e-5)
        last |= dict.fromkeys(best, now)


def importance_of(memory: Memory, text: str, now: datetime) -> float:
    (found,) = (episode for episode in memory.get_all(user_id="ada", now=now) if episode.text == text)
    return found.importance


def normalized(values: dict[str, float]) -> dict[str, float]:
    """Min-max scaling; what is the same for all is in the middle."""
    least, most = min(values.values()), max(values.values())
    return {key: (value - least) / (most - least) if most > least else 0.5 for key, value in values.items()}


def test_importance_is_what_a_model_rates(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """1 is mundane, 10 is of the highest importance: evenly in [0, 1]."""
    config = read_toml(FOLDER / "generative_agents.toml")
    memory = open_memory("rated.db", config, surprise_model=light_surprise, tasks=RatingTasks())
    said = {"I brushed my teeth": 1, "We married!!!!!!!!!": 10, "I found a job!!!!!": 6}
    for text in said:
        memory.add(text, user_id="ada", now=NOW)
    memory.flush()
    hits = memory.search("What happened?", user_id="ada", now=NOW, top_k=3, explain=True)
    found = {hit.text: hit.parts["importance"] for hit in hits}
    assert found == pytest.approx({text: (rating - 1) / 9 for text, rating in said.items()})


class ReflectingTasks(RatingTasks):
    """Notes what it is asked; asks 4 questions, and concludes 6 lines on each."""

    def __init__(self) -> None:
        super().__init__()
        self.recent: list[list[str]] = []
        self.found: list[list[str]] = []

    def questions(self, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
        self.recent += [[unit.text for unit in group] for group in groups]
        return [[f"What is event {i}?" for i in range(4)][:most] for _ in groups]

    def reflections(self, asked: Sequence[tuple[str, Sequence[Unit]]], most: int) -> list[list[SourcedLine]]:
        self.found += [[unit.text for unit in found] for _, found in asked]
        own = len(self.recent)
        return [[SourcedLine(f"Thought {own}.{q}.{i}", (0, 1)) for i in range(6)][:most] for q in range(len(asked))]


def test_reflection(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    """Where the importance of the latest events sums up to more than 150: 100 memories, 3 questions, 5 insights."""
    tasks = ReflectingTasks()
    memory = open_memory(
        "mind.db", read_toml(FOLDER / "generative_agents.toml"), surprise_model=light_surprise, tasks=tasks
    )
    ratings = [1 + i * i % 3 for i in range(200)]
    events = [f"event {i}" + "!" * (rating - 1) for i, rating in enumerate(ratings)]
    said = [Message("user", text, NOW + timedelta(minutes=i), "Kim") for i, text in enumerate(events)]
    list(memory.add_many(said, user_id="kim", now=NOW + timedelta(days=1)))
    memory.sleep(user_id="kim", now=NOW + timedelta(days=1))
    stream: list[str] = []
    total, rounds = 0, 0
    for event, rating in zip(events, ratings, strict=True):
        stream.append(event)
        total += rating
        if total > 150:
            assert tasks.recent[rounds] == stream[-100:]
            rounds, total = rounds + 1, 0
            stream += [f"Thought {rounds}.{question}.{i}" for question in range(3) for i in range(5)]
    assert rounds == len(tasks.recent) == 2 and len(tasks.found) == 3 * rounds
    assert all(len(found) == 30 for found in tasks.found)
    thoughts = [text for text in stream if text.startswith("Thought")]
    assert sorted(one.text for one in memory.derived("reflection", user_id="kim")) == sorted(thoughts)
