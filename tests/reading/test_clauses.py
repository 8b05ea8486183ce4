"""Clauses that assert something."""

from __future__ import annotations

import pytest

from nscma_torch.reading.clauses import clauses, head_noun_phrase
from nscma_torch.reading.contractions import written_out

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


SPOKEN = '"Stay here. Ann moved to Rome. She said so. I live in Oslo."'


@pytest.mark.parametrize(
    ("text", "read", "in_document"),
    [
        (f"{SPOKEN} Bob works at Bosch.", ["Bob works at Bosch"], ["Ann moved to Rome", "Bob works at Bosch"]),
        ('He asked: "Where does she live now?" Ann moved to Rome.', ["Ann moved to Rome"], ["Ann moved to Rome"]),
        ('and it rained." Ann moved to Rome. "Did she now?"', ["it rained", "Ann moved to Rome"], None),
        (
            'A 27" screen. Ann moved to Rome. Bob sold a 30" one.',
            ['A 27" screen', "Ann moved to Rome", 'Bob sold a 30" one'],
            None,
        ),
        ('It is not true that "Bob lives in Rome, too."', [], []),
        ('My sister texted: "Allergic to nuts. Just moved to Oslo. Works at Bosch."', [], []),
        ('He said:"I live in Rome. I work at Bosch."', [], None),
        ('{"role":"user","text":"I live in Rome. I work at Bosch."}', [], []),
        ('**"Hi. I live in Rome. I work at Bosch."** he said', [], None),
        ('他说："我住在北京。我在华为工作。"', ["他说"], None),
        (
            '"It is late. Ann moved to Rome. "And it is cold here," he said.',
            [],
            ["Ann moved to Rome"],
        ),
        ('"It is late. Ann moved to Rome." And he went on.', ["he went on"], ["he went on"]),
        ('"It is for the--" Ann moved to Rome.', ["Ann moved to Rome"], ["Ann moved to Rome"]),
        ("They had left--before-- Ann moved to Rome.", ["They had left", "Ann moved to Rome"], None),
        ('He left. "Three, four, five. I live in Oslo.\n\n"I live in Rome," he said.', ["He left"], None),
    ],
)
def test_speech_is_not_read_but_what_a_document_tells_amid_it(
    text: str, read: list[str], in_document: list[str] | None
) -> None:
    def shown(document: bool) -> list[str]:
        return [clause.text for clause in clauses(text, VERBS, document=document)]

    assert shown(False) == read
    assert in_document is None or shown(True) == in_document
