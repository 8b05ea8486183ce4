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


def test_the_key_of_a_long_name_is_bounded() -> None:
    """An index of PostgreSQL holds at most 2,704 bytes a row, of UTF-8."""
    names = ["Ab" * 50_000, "The Ab" + "ab" * 49_999, "Ab" * 50_001, "日" * 401, "日" * 402, "x" * 400]
    keys = [name_key(name) for name in names]
    assert keys[0] == keys[1] and len(set(keys)) == 5
    assert max(len(key.encode()) for key in keys) < 1300 and keys[-1] == "x" * 400
