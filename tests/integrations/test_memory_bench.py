"""The provider of the open agent-memory-benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.core.errors import StoreClosedError
from nscma_torch.integrations.memory_bench import NscmaMemoryProvider

CONFIG = {"embedder": {"model": "hash"}, "hierarchy": {"enabled": False}}


@dataclass
class Document:
    """As theirs."""

    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, Any]] | None = None
    timestamp: str | None = None
    context: str | None = None


TURNS = [{"speaker": "Ana", "text": "My dog is called Biscuit.", "dia_id": "D1:1"}, {"speaker": "Bo", "text": "Nice!"}]
DOCUMENTS = [
    Document("one", json.dumps(TURNS), "ana", timestamp="2024-03-01T09:00:00+00:00"),
    Document("two", "The kiln is set to 900 degrees.", "ana", timestamp="2024-03-02T09:00:00+00:00"),
    Document("three", "", "bo", [{"role": "user", "content": "My cat is called Mia."}]),
]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[NscmaMemoryProvider]:
    made = NscmaMemoryProvider(CONFIG)
    made.initialize()
    made.prepare(tmp_path, {"ana", "bo"})
    yield made
    made.cleanup()


def test_turns_are_found_under_their_document(provider: NscmaMemoryProvider) -> None:
    provider.ingest(DOCUMENTS)
    found, raw = provider.retrieve("What is the dog called?", 5, "ana", "2024-04-01T00:00:00+00:00")
    assert found[0].id == "one" and found[0].content == "Ana, 1 March 2024: My dog is called Biscuit."
    assert found[0].timestamp == "2024-03-01T09:00:00+00:00" and len(raw["scores"]) == len(found)
    assert {one.id for one in found} <= {"one", "two"}, "nothing of another user"
    assert [one.id for one in provider.retrieve("cat", 5, "bo")[0]] == ["three"]


def test_documents_are_not_stored_twice_and_a_store_is_opened_again(tmp_path: Path) -> None:
    made = NscmaMemoryProvider(CONFIG)
    for reset, expected in ((True, 3), (False, 3), (True, 0)):
        made.prepare(tmp_path, reset=reset)
        if expected:
            made.ingest(DOCUMENTS[:2])
        assert len(made.retrieve("dog kiln nice", 50, "ana")[0]) == expected
    made.cleanup()


def test_it_answers_itself(provider: NscmaMemoryProvider) -> None:
    provider.ingest(DOCUMENTS)
    answer, context, raw = provider.direct_answer("What is the name of Ana's dog?", "ana")
    assert "Biscuit" in answer + context and 0 <= raw["confidence"] <= 1


def test_without_a_store_it_says_what_to_do() -> None:
    with pytest.raises(StoreClosedError, match="call prepare"):
        NscmaMemoryProvider().retrieve("x")
