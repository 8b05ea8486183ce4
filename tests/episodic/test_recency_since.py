"""`score.recency_since = "recalled"`: an index follows when messages were last found, also by another process."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import ConfigError
from nscma_torch.episodic.index.user_index import UserIndex

Open = Callable[..., Memory]
BEGIN = datetime(2024, 3, 1, tzinfo=UTC)
TIMED: dict[str, Any] = {
    "gate": {"rule": "everything"},
    "hierarchy": {"enabled": False},
    "score": {"beta": 1.0, "half_life": 3.0, "recency_since": "recalled"},
    "retrieval": {"lanes": ["vector"], "fusion": "sum", "speaker_boost": 0.0, "strategy": "single-step"},
}


def read(memory: Memory, index: UserIndex | None = None) -> UserIndex:
    if index is None:
        index = UserIndex("ada", memory.components.embedder.dimension, torch.device("cpu"), timed=True)
    with memory.components.database.read(ALL_USERS) as connection:
        index.catch_up(connection)
    return index


def since(index: UserIndex, now: datetime) -> dict[int, int]:
    """Of the units that are there, by their row numbers."""
    alive = index.alive
    return dict(zip(index.seqs[alive].tolist(), index.since(to_micros(now))[alive].tolist(), strict=True))


@pytest.mark.parametrize("seed", range(2))
def test_following_equals_reading_everything_and_the_searches(
    seed: int, open_memory: Open, light_surprise: Any
) -> None:
    chance = random.Random(seed)
    one, other = (open_memory("store.db", TIMED, surprise_model=light_surprise) for _ in range(2))
    steady, last = read(one), dict[str, datetime]()
    for day in range(25):
        now = BEGIN + timedelta(days=day)
        ids = [episode.id for episode in one.log(user_id="ada")]
        memory, action = (
            chance.choice([one, other]),
            chance.choice(["add", "search", "search", "flush", "update", "erase"]),
        )
        if action == "add" or not ids:
            text = f"The {chance.choice(['kettle', 'boat'])} number {day} is in Porto."
            last[memory.add(text, user_id="ada", timestamp=now, now=now)[0].id] = now
        elif action == "search":
            for hit in memory.search("Where is the kettle?", user_id="ada", now=now, top_k=2):
                last[hit.id] = now
        elif action == "update":
            memory.update(chance.choice(ids), f"The tea of day {day} is green.", user_id="ada", now=now)
        elif action == "erase" and len(ids) > 3:
            memory.erase(user_id="ada", memory_id=chance.choice(ids))
        else:
            memory.flush()
        read(one, steady)
        assert since(steady, now) == since(read(one), now)
        units = one.components.searcher.load(list(since(steady, now)), "ada")
        assert units.keys() == since(steady, now).keys()
        for seq, at in since(steady, now).items():
            (source,) = units[seq].episode_ids
            assert at == to_micros(last[source])


def test_a_recall_later_than_the_question_counts_as_now(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory("store.db", TIMED, surprise_model=light_surprise)
    memory.add("The kettle is in the shed.", user_id="ada", timestamp=BEGIN, now=BEGIN)
    late, early = BEGIN + timedelta(days=30), BEGIN + timedelta(days=2)
    memory.search("Where is the kettle?", user_id="ada", now=late)
    cosine = memory.search("Where is the kettle?", user_id="ada", now=late)[0].score - 1.0
    assert memory.search("Where is the kettle?", user_id="ada", now=early)[0].score == pytest.approx(cosine + 1.0)
    after = memory.search("Where is the kettle?", user_id="ada", now=late + timedelta(days=3))
    assert after[0].score == pytest.approx(cosine + 0.5), "of the last recall, not of the last but one"


def test_without_the_key_nothing_is_written_by_a_search(open_memory: Open, light_surprise: Any) -> None:
    plain = open_memory("plain.db", {**TIMED, "score": {"beta": 1.0, "half_life": 3.0}}, surprise_model=light_surprise)
    message = plain.add("The kettle is in the shed.", user_id="ada", timestamp=BEGIN, now=BEGIN)[0]
    for _ in range(2):
        found = plain.search("Where is the kettle?", user_id="ada", now=BEGIN + timedelta(days=3))
    again = plain.search("Where is the kettle?", user_id="ada", now=BEGIN + timedelta(days=3))
    assert again[0].score == found[0].score
    plain.flush()
    assert [event.event for event in plain.history(message.id, user_id="ada")] == ["ADD"]


@pytest.mark.parametrize("score", [{"scaling": "min-max"}, {"recency_since": "recalled"}])
def test_faiss_cannot_follow(score: dict[str, str], tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=r"set index\.backend to 'torch'"):
        Memory(tmp_path / "store.db", config={"index": {"backend": "faiss"}, "score": score})
