"""Query strategies without a model: passages of a first search, and a question by its sentences and names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Hit, Scope, Unit
from nscma_torch.reading.query_parts import divided, imagined


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What do Ana and Ben like?", ["What do Ana and like?", "What do and Ben like?"]),
        ("Where is Ana? When did she move?", ["Where is Ana?", "When did she move?"]),
        ("Where does Ana live?", []),
        ("what is it", []),
    ],
)
def test_a_question_is_divided_by_sentences_and_names(question: str, parts: list[str]) -> None:
    assert divided(question) == parts


def test_passages_are_the_best_of_the_hits() -> None:
    said = datetime(2026, 5, 1, tzinfo=UTC)
    texts = ("I moved to Porto in March.", "I moved to Porto in March.", "Tea is fine.")
    hits = [Hit(Unit("1", Scope("ada"), "chunk", text, ("1",), said), 1.0) for text in texts]
    assert imagined("Where did I move?", hits) == ["I moved to Porto in March.", "Tea is fine."]
    assert imagined("Where did I move?", []) == []
