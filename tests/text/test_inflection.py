"""Inflected verbs."""

from __future__ import annotations

import pytest

from nscma_torch.text.inflection import forms


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("walk", {"walk", "walks", "walked", "walking"}),
        ("live", {"live", "lives", "lived", "living"}),
        ("carry", {"carry", "carries", "carried", "carrying"}),
        ("play", {"play", "plays", "played", "playing"}),
        ("drop", {"drop", "drops", "dropped", "dropping"}),
        ("travel", {"travel", "travels", "traveled", "travelled", "traveling", "travelling"}),
        ("give", {"give", "gives", "gave", "given", "giving"}),
        ("outgrow", {"outgrow", "outgrows", "outgrew", "outgrown", "outgrowing"}),
        ("rebuild", {"rebuild", "rebuilds", "rebuilt", "rebuilding"}),
        ("have", {"have", "has", "had", "having"}),
        ("go", {"go", "goes", "went", "gone", "going"}),
        ("lie", {"lie", "lies", "lay", "lain", "lying"}),
        ("quit", {"quit", "quits", "quitting"}),
        ("teach", {"teach", "teaches", "taught", "teaching"}),
    ],
)
def test_forms(verb: str, expected: set[str]) -> None:
    assert set(forms(verb)) == expected


def test_forms_are_told_apart() -> None:
    found = forms("give")
    assert [found[word] for word in ("give", "gives", "gave", "given", "giving")] == [
        "base",
        "third",
        "past",
        "participle",
        "ing",
    ]
