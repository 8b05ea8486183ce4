"""Sentences that ask to forget what they state."""

from __future__ import annotations

import pytest

from nscma_torch.reading.corrections import retracts


@pytest.mark.parametrize(
    ("sentence", "retracted"),
    [
        ("Forget that I live in Porto.", True),
        ("Please forget the fact that I'm allergic to nuts.", True),
        ("Okay, disregard that I work at Lidl.", True),
        ("请忘记我住在波尔图。", True),
        ("Don't forget that I live in Porto.", False),
        ("I forgot that I live in Porto.", False),
        ("Forget that!", False),
        ("I'll never forget that I lived in Porto.", False),
    ],
)
def test_what_is_to_be_forgotten(sentence: str, *, retracted: bool) -> None:
    assert retracts(sentence) == retracted
