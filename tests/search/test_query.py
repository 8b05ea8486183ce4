"""A question taken apart."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.errors import EmptyTextError
from nscma_torch.search.query import parse
from nscma_torch.text.terms import terms

NOW = datetime(2024, 5, 15, 10, tzinfo=UTC)
NAMES = ("Ana Lopez", "Kim", "王芳")


def test_speakers_are_matched_not_searched() -> None:
    query = parse("What did Ana's sister tell Kim about bicycles?", names=NAMES, now=NOW)
    assert query.speakers == ("Ana Lopez", "Kim")
    assert set(query.terms) == set(terms("sister tell bicycles")) - set(terms("tell"))
    assert "Ana" not in query.meaning and "Kim" not in query.meaning and "sister" in query.meaning


def test_nobody_named() -> None:
    query = parse("which bicycle is blue?", names=NAMES, now=NOW)
    assert (query.speakers, query.roles) == ((), ())
    assert query.meaning == query.text


@pytest.mark.parametrize("text", ["Where do I live?", "what is my address?", "I’m from where?", "我住在哪里？"])
def test_the_first_person_asks_about_the_user(text: str) -> None:
    assert parse(text, names=NAMES, now=NOW).roles == ("user",)


@pytest.mark.parametrize("text", ["is it in the village?", "who imposed it?"])
def test_letters_inside_words_are_no_first_person(text: str) -> None:
    assert parse(text, names=NAMES, now=NOW).roles == ()


@pytest.mark.parametrize(
    "text", ["Can you summarize what I told you?", "An overview of my plans, please", "总结我的计划"]
)
def test_an_overview_is_of_what_all_said(text: str) -> None:
    assert parse(text, names=NAMES, now=NOW).roles == ()


def test_days_are_periods() -> None:
    query = parse("what happened on 3 March 2024 in Porto?", names=NAMES, now=NOW)
    assert query.periods == ((datetime(2024, 3, 3, tzinfo=UTC), datetime(2024, 3, 4, tzinfo=UTC)),)
    assert set(query.terms) == set(terms("happened Porto"))


def test_a_question_that_is_only_a_name_keeps_its_meaning() -> None:
    query = parse("Kim?", names=NAMES, now=NOW)
    assert query.speakers == ("Kim",)
    assert query.meaning.strip()


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_question(text: str) -> None:
    with pytest.raises(EmptyTextError):
        parse(text, names=NAMES, now=NOW)


def test_whoever_names_the_user_asks_about_what_the_user_said() -> None:
    query = parse("Where does Ana Maria's bicycle stand?", names=NAMES, now=NOW, user="Ana Maria")
    assert (query.speakers, query.roles, query.meaning) == (("Ana Lopez",), ("user",), "Where does bicycle stand?")
    assert set(query.terms) == set(terms("bicycle stand"))
    query = parse("Where does the bicycle stand?", names=NAMES, now=NOW, user="Ana Maria")
    assert (query.speakers, query.roles, query.meaning) == ((), (), query.text)
