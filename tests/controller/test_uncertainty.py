"""Uncertainty: over the tokens of the value, whatever stands around it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.controller.uncertainty import uncertainty, value_span
from nscma_torch.llm.engines.contract import Reply, Token


def reply(*tokens: tuple[str, float]) -> Reply:
    return Reply("".join(text for text, _ in tokens), 1, len(tokens), True, tuple(Token(*token) for token in tokens))


def test_only_the_tokens_of_the_value_count() -> None:
    sure = reply(('{"known": ', -9.0), ("true", -9.0), (', "text": "', -9.0), ("Por", -0.1), ("to", -0.3), ('"}', -9.0))
    assert uncertainty(sure, "text") == pytest.approx(1 - math.exp(-0.2))


def test_a_token_that_holds_a_part_of_the_value_counts() -> None:
    assert uncertainty(reply(('{"text":"Por', -1.0), ('to"}', -3.0)), "text") == pytest.approx(1 - math.exp(-2.0))


def test_without_a_value_or_log_probabilities_nothing_is_sure() -> None:
    assert uncertainty(reply(('{"text": ""}', 0.0)), "text") == 1.0
    assert uncertainty(reply(('{"other": "x"}', 0.0)), "text") == 1.0
    assert uncertainty(Reply('{"text": "x"}', 1, 1, True), "text") == 1.0


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=30), st.text(max_size=30), st.booleans())
def test_the_span_is_the_value_however_it_is_written(before: str, value: str, ascii_only: bool) -> None:
    text = json.dumps({"act": {"action": before, "text": value, "evidence": [1]}}, ensure_ascii=ascii_only)
    span = value_span(text, "text")
    assert span is not None
    assert json.loads(f'"{text[slice(*span)]}"') == value


def test_a_key_inside_a_value_is_no_key() -> None:
    text = json.dumps({"note": '"text": "no"', "text": "yes"})
    span = value_span(text, "text")
    assert span is not None and text[slice(*span)] == "yes"
