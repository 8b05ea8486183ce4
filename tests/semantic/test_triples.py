"""Statements as sentences, and what those of symmetric relations say of the other side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nscma_torch.core.records import Statement
from nscma_torch.extraction.symmetric_statements import with_symmetric
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.triples import sentence

SCHEMA = load_relations()


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (Statement("Anna", "lives_in", "Oslo"), "Anna lives in Oslo"),
        (Statement("Anna", "favourite", "blue", "colour"), "Anna's favourite colour is blue"),
        (Statement("Anna", "lives_in", "Oslo", negated=True), "Anna lives in Oslo: no longer"),
        (Statement("Anna", "lives_in", "Oslo", past=True), "Anna lives in Oslo: no longer"),
        (Statement("安娜", "age", "三十"), "安娜三十岁"),
        (Statement("安娜", "age", "三十", past=True), "安娜三十岁（已不成立）"),
        (Statement("Anna", "age", "三十", negated=True), "Anna三十岁（已不成立）"),
    ],
)
def test_a_statement_in_a_sentence_of_its_language(statement: Statement, text: str) -> None:
    assert sentence(statement, SCHEMA) == text


def test_who_marries_or_leaves_is_married_or_left() -> None:
    lives = Statement("Ann", "lives_in", "Oslo", replaces="Rome")
    friends = Statement("Ann", "friend", "Bob", replaces="Eve")
    assert with_symmetric([lives, friends], SCHEMA) == [lives, friends]
    married = Statement("Ann", "married_to", "Bob", confidence=0.5)
    back = replace(married, subject="Bob", object="Ann")
    assert with_symmetric([married, lives], SCHEMA) == [married, back, lives]
    again = replace(married, replaces="Carl", correction=True)
    left = Statement("Carl", "married_to", "Ann", confidence=0.5, negated=True)
    assert with_symmetric([again], SCHEMA) == [again, replace(back, correction=True), left]
    divorced = Statement("Ann", "married_to", "", replaces="Carl")
    assert with_symmetric([divorced], SCHEMA) == [divorced, replace(left, confidence=divorced.confidence)]
