"""Wording of answers from facts, in English and Chinese."""

from __future__ import annotations

from datetime import date

from nscma_torch.answering.fact_wording import FactWording

ENGLISH, CHINESE = FactWording("en", "Ben"), FactWording("zh", "Ben")
DAY = date(2024, 2, 3)


def test_the_asker_is_you_and_what_is_the_askers_is_yours() -> None:
    names = ["ben", "Ben's sister", "Benno's sister", "Oslo"]
    assert ENGLISH.listed(names) == "you, your sister, Benno's sister, Oslo"
    assert CHINESE.listed(names) == "你、你的sister、Benno's sister、Oslo"
    assert ENGLISH.by_subject([("Ben's sister", "Oslo"), ("Ben", "Rome")]) == "your sister: Oslo; you: Rome"


def test_all_sides_of_a_dispute_are_told_once() -> None:
    sides = ["Oslo", "Rome", "Oslo", "Graz"]
    assert ENGLISH.disputed(sides) == "I was told different things: Oslo, Rome and Graz. Which is right?"
    assert CHINESE.disputed(sides) == "有不同的说法：Oslo、Rome、Graz。哪个是对的？"


def test_numbers_are_words_up_to_twelve() -> None:
    assert [ENGLISH.count(number) for number in (0, 1, 12, 13)] == ["none", "one", "twelve", "13"]
    assert ENGLISH.none("person") != ENGLISH.none("place") != ENGLISH.none("place", ended=True)


def test_days_are_told_as_exactly_as_they_are_known() -> None:
    spans = [(date(2024, 1, 1), date(2024, 12, 31)), (date(2024, 2, 1), date(2024, 2, 29)), (DAY, DAY)]
    assert [CHINESE.days(*span) for span in spans] == ["2024年", "2024年2月", "2024年2月3日"]
    assert CHINESE.days(DAY, date(2024, 2, 5)) == "2024年2月3日至2024年2月5日"
    assert ENGLISH.days(DAY, DAY) == "3 February 2024"


def test_what_is_unsure_is_quoted_with_who_said_it_and_when() -> None:
    assert ENGLISH.unsure([("Kim", DAY, "I moved.")]) == "not sure: Kim, 3 February 2024: I moved."
    assert CHINESE.unsure([("Kim", DAY, "我搬家了。")]) == "不确定：Kim（2024-02-03）：我搬家了。"
