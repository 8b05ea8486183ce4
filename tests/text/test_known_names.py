"""Names that a text mentions: by words, in any script, beginning with a capital where there is case."""

from __future__ import annotations

import pytest

from nscma_torch.text.known_names import mentions, words_of

NAMES = {
    words_of(name): name for name in ("Rome", "New York", "The Hague", "1984", "Jean-Luc Godard", "北京大学", "北京")
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She moved from Rome to New York.", ["Rome", "New York"]),
        ("Rome, ROME and Rome again", ["Rome"]),
        ("romeo lives near rome", []),
        ("Is The Hague larger than the hague?", ["The Hague"]),
        ("He read 1984 by Orwell", ["1984"]),
        ("a film by Jean-Luc Godard's crew", []),
        ("a film by Jean-Luc Godard", ["Jean-Luc Godard"]),
        ("她在北京大学读书", ["北京", "北京大学"]),
        ("", []),
        ("🙂 ' -- %", []),
    ],
)
def test_mentions(text: str, found: list[str]) -> None:
    assert [NAMES[name] for name in mentions(text, NAMES)] == found


def test_words_are_lower_case_and_characters_stand_alone() -> None:
    assert words_of("New-York Times, 北京") == ("new-york", "times", "北", "京")
