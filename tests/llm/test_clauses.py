"""Clauses that assert something."""

from __future__ import annotations

import pytest

from nscma_torch.llm.clauses import clauses, head_noun_phrase
from nscma_torch.llm.contractions import written_out

VERBS = frozenset({"live", "lives", "work", "works", "moved", "sold", "bought", "said"})


def parts(text: str) -> list[str]:
    return [clause.text for clause in clauses(text, VERBS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Oslo and work at Bosch.", ["I live in Oslo", "work at Bosch"]),
        ("I'm here, but she's moved.", ["I am here", "she has moved"]),
        ("Anna, who works at Bosch, lives in Oslo.", ["Anna works at Bosch", "lives in Oslo"]),
        ("Anna, a nurse, lives in Oslo.", ["Anna is a nurse", "Anna lives in Oslo"]),
        ("By the way, since March I live in Oslo.", ["I live in Oslo"]),
        ("The swing, the shed and the pool are new.", ["The swing, the shed and the pool are new"]),
        ("We met a nurse called Ines.", ["We met a nurse called Ines", "Ines is a nurse"]),
        ("Do you live in Oslo? I do.", ["I do"]),
        ("If I live in Oslo, I ski.", []),
        ("Perhaps she works there, but I live here.", ["I live here"]),
        ("我住在北京，他住在上海。", ["我住在北京", "他住在上海"]),
    ],
)
def test_clauses(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


def test_a_vocative_is_the_listener() -> None:
    (clause,) = clauses("Felix, your bike is here.", VERBS)
    assert (clause.listener, clause.text) == ("Felix", "your bike is here")


def test_corrections_are_marked() -> None:
    assert all(clause.correction for clause in clauses("Correction: I live in Oslo.", VERBS))
    assert not any(clause.correction for clause in clauses("I live in Oslo.", VERBS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I've got a cat", "I have a cat"),
        ("She's moved", "She has moved"),
        ("She's an engineer", "She is an engineer"),
        ("Anna's car is new", "Anna's car is new"),
        ("He can't swim", "He can not swim"),
        ("We've really just sold it", "We have sold it"),
    ],
)
def test_contractions_are_written_out(text: str, expected: str) -> None:
    assert written_out(text) == expected


def test_head_noun_phrase() -> None:
    assert head_noun_phrase("My favourite colour is red", VERBS) == "My favourite colour"
    assert head_noun_phrase("Anna moved away", VERBS) == "Anna"
    assert head_noun_phrase("sold it", VERBS) == ""
