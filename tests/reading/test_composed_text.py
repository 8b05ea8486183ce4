"""Statements of a composed text stand in the text as it was written."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Scope, Statement, Unit
from nscma_torch.reading.composed_text import composed, placed


def unit(text: str) -> Unit:
    return Unit("1", Scope("user"), "chunk", text, (), datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("text", ["José and Zoë moved.", "가나다 and Zoë", "Ångström met Zoë"])
def test_a_statement_keeps_its_place(text: str) -> None:
    written = unicodedata.normalize("NFD", text)
    read = composed(unit(written)).text
    assert read == unicodedata.normalize("NFC", text)
    at = read.index("Zoë")
    (one,) = placed([Statement("Zoë", "lives_in", "Rome", start=at, end=at + 3)], written)
    assert unicodedata.normalize("NFC", written[one.start : one.end]) == "Zoë"


def test_many_marks_on_one_letter_take_linear_time() -> None:
    assert composed(unit("e" + "\u0301\u0316" * 50_000)).text
