"""Whom "I" means, and under which name a unit is shown to a language model."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Scope, Unit
from nscma_torch.llm.prompts.tasks import said
from nscma_torch.reading.first_person import author, first_person


@pytest.mark.parametrize(
    ("role", "name", "source", "first", "shown"),
    [
        ("document", "Health", "about.md", "user", "user"),
        ("document", None, "daily/2026-05-14.markdown", "user", "user"),
        ("document", "Chapter 1", "novel.txt", "", "Chapter 1"),
        ("document", None, None, "", "document"),
        ("user", "Ana", None, "Ana", "Ana"),
        ("assistant", None, "about.md", "assistant", "assistant"),
    ],
)
def test_the_user_speaks_in_notes_and_a_heading_never(
    role: str, name: str | None, source: str | None, first: str, shown: str
) -> None:
    unit = Unit("1", Scope("u"), "chunk", "I am.", (), datetime(2026, 5, 14, tzinfo=UTC), role, name, source=source)
    assert (first_person(unit), author(unit), said(unit)["by"]) == (first, shown, shown)
