"""Answerability: does the memory hold an answer at all?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import torch

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message, Scope
from nscma_torch.search.search import Searcher
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)


def support(memory: Memory, question: str, user: str = "ada") -> float:
    return memory.components.searcher.rank(question, Bounds(Scope(user), NOW), 1).answerability()


def test_what_was_said_supports_more_than_what_was_not(memory: Memory) -> None:
    for text in ("My sister Ana moved to Bergen.", "The kettle is blue.", "Grandfather sold the bicycle."):
        memory.add(text, user_id="ada", now=NOW)
    said = support(memory, "where did sister Ana move?")
    assert said > support(memory, "which violin did the dentist tune?")
    assert -1 <= said <= 2


def test_a_topic_of_somebody_else_counts_against(memory: Memory) -> None:
    memory.add(Message("user", "I adopted a parrot named Coco.", NOW, name="Kim"), user_id="ada", now=NOW)
    memory.add(Message("user", "I painted the fence.", NOW, name="Robin"), user_id="ada", now=NOW)
    assert support(memory, "Did Kim adopt a parrot?") > support(memory, "Did Robin adopt a parrot?")


def test_nothing_supports_nothing(memory: Memory) -> None:
    assert support(memory, "where did Ana move?") == 0


def test_it_is_the_less_the_more_others_said_of_it(open_memory: Open) -> None:
    """The same messages of Robin's, and once somebody else who spoke of what is asked."""
    alone, beside = open_memory("alone.db"), open_memory("beside.db")
    for memory in (alone, beside):
        memory.add(Message("user", "I painted the fence.", NOW, name="Robin"), user_id="ada", now=NOW)
        memory.add(Message("user", "The weather is fine.", NOW, name="Kim"), user_id="ada", now=NOW)
    beside.add(Message("user", "I adopted a parrot named Coco.", NOW, name="Kim"), user_id="ada", now=NOW)
    question = "Did Robin adopt the parrot Coco?"
    assert support(beside, question) < support(alone, question) - 0.3


class _Misled(HashEmbedder):
    """Takes every question for one about a kettle."""

    def embed_query(self, text: str) -> torch.Tensor:  # noqa: ARG002
        return super().embed_query("the kettle is blue")


def test_questions_have_an_embedder_of_their_own_but_the_estimate_does_not(memory: Memory) -> None:
    for text in ("My sister Ana moved to Bergen.", "The kettle is blue."):
        memory.add(text, user_id="ada", now=NOW)
    parts = memory.components
    misled = Searcher(parts.database, parts.embedder, parts.config, parts.device, _Misled())
    plain = Searcher(parts.database, parts.embedder, parts.config, parts.device)
    question, bounds = "where did sister Ana move?", Bounds(Scope("ada"), NOW)
    other, own = misled.rank(question, bounds, 2, explain=True), plain.rank(question, bounds, 2, explain=True)
    kettle, moved = ([part["vector_score"] for part in found.parts.values()] for found in (other, own))
    assert max(kettle) > 0.9 > max(moved)
    assert other.answerability() == pytest.approx(own.answerability())
    assert misled.nearest(question, bounds).scores == plain.nearest(question, bounds).scores
