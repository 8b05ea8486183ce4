"""Searches under a preset, with what the equation of a score is computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import read_toml
from nscma_torch.core.records import Hit, Message
from tests.papers.presets import FOLDER

START = datetime(2024, 3, 1, tzinfo=UTC)
NOW = START + timedelta(days=40)
SAID = (
    "The kettle is in the blue cupboard.",
    "Lanterns hang over the pier in winter.",
    "My bicycle has a broken chain, and the kettle leaks.",
    "蓝色是我最喜欢的颜色。",
)


def hits_by_equation(
    name: str, open_memory: Callable[..., Memory], light_surprise: Any
) -> Iterator[tuple[Hit, float, float]]:
    """Each hit of a question among messages of several days, its cosine to the question, and its age in days."""
    memory = open_memory(f"{name}.db", read_toml(FOLDER / f"{name}.toml"), surprise_model=light_surprise)
    for i, text in enumerate(SAID):  # of one sitting, so that each has neighbours
        said = Message("user", text, START + timedelta(days=9 * i), "Ada", session="s")
        memory.add([said], user_id="ada", now=NOW)
    question = "Where does Ada keep the kettle?"
    hits = memory.search(question, user_id="ada", now=NOW, explain=True)
    assert len(hits) == len(SAID)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    embedder = memory.components.embedder
    asked = embedder.embed_query(question)
    for hit in hits:
        yield hit, float(embedder.embed([hit.text])[0] @ asked), (NOW - hit.occurred_at) / timedelta(days=1)
