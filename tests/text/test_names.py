"""When two wordings name the same."""

from __future__ import annotations

import pytest

from nscma_torch.text.names import name_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Oslo", " oslo."),
        ("the Blue Gate", "blue gate"),
        ("“Dune”", "Dune"),
        ("Ben’s car", "Ben's  car"),
        ("ＡＢＣ", "abc"),
        ("the a piano", "piano"),
    ],
)
def test_same(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(("one", "other"), [("Oslo", "Bergen"), ("Anna", "Annabel"), ("theatre", "atre"), ("the", "")])
def test_not_same(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)
