"""Half of a surrogate pair is found in any text, also inside lists and mappings."""

from __future__ import annotations

from typing import Any

import pytest

from nscma_torch.core.errors import EncodingError
from nscma_torch.text.surrogates import joined_pairs, refuse_surrogates

HALF = "tea \ud83d"
LOOP: list[Any] = ["tea"]
LOOP.append(LOOP)


@pytest.mark.parametrize("value", [HALF, [HALF], {"a": [{"b": (1, HALF)}]}, {HALF: 1}, [LOOP, {HALF}], "\udc00"])
def test_half_a_pair_is_refused(value: Any) -> None:
    with pytest.raises(EncodingError, match=r"the note contains a lone surrogate .* at character"):
        refuse_surrogates(value, "the note")


@pytest.mark.parametrize("value", [None, 5, "\U0001f600", b"\xff", [LOOP], {"a": {"b": "é"}}, []])
def test_everything_else_is_accepted(value: Any) -> None:
    refuse_surrogates(value, "the note")


@pytest.mark.parametrize(
    ("text", "joined"),
    [("\ud83d\ude00", "\U0001f600"), ("a\ud83d", "a\ud83d"), ("\ude00\ud83d", "\ude00\ud83d"), ("é", "é")],
)
def test_halves_side_by_side_are_joined(text: str, joined: str) -> None:
    assert joined_pairs(text) == joined
