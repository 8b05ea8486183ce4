"""Corrections inside one message: what is repaired, and what only looks like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Statement
from nscma_torch.reading.asserted_statements import ReadMessage, asserted
from nscma_torch.reading.fact_reader import ReadFact
from nscma_torch.reading.reader import ReadSpan
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relations import load_relations
from nscma_torch.reading.self_repair import asserted_with_repairs, repair_chinese
from nscma_torch.reading.statement_times import times_of
from nscma_torch.text.sentences import split_sentences

SCHEMA = load_relations()
SAID = datetime(2026, 3, 5, tzinfo=UTC)


def message(text: str, *told: str) -> ReadMessage:
    """What the reader finds: "relation[/topic] object[ stance]" of the user, the sentence found by the object."""
    found, at = [], 0
    for one in told:
        relation, words, *rest = one.split("|")
        relation, _, topic = relation.partition("/")
        stance = rest[0] if rest else "holds"
        at = text.index(words, at)
        sentence = next(span for span in split_sentences(text) if span.start <= at < span.end)
        subject, value = (ReadSpan(own, 0, 0, len(own), True, 0.9) for own in ("I", words))
        stances = tuple(0.9 if own == stance else 0.1 / 7 for own in STANCES)
        fact = ReadFact(relation, subject, value, stances, topic, (0.99,) * 5)
        gone = stance in ("ended", "denied")
        made = Statement("user", relation, words, topic, gone, start=sentence.start, end=sentence.end, confidence=0.95)
        found.append((made, fact))
        at += 1
    return ReadMessage(found, {one.split("|")[0].split("/")[0]: 0.9 for one in told})


def repaired(text: str, *told: str) -> list[str]:
    """Asserted objects in order; of a correction "old > new"."""
    made = asserted_with_repairs(message(text, *told), text, SCHEMA, SAID)
    return [f"{one.replaces} > {one.object}" if one.correction else one.object for one in made]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I live in Porto. No wait, I moved to Braga in January.", ("lives_in|Porto", "lives_in|Braga")),
        ("I live in Lyon... no wait I live in Nice", ("lives_in|Lyon", "lives_in|Nice")),
        ("We live in Rome. Scratch that. We live in Milan.", ("lives_in|Rome", "lives_in|Milan")),
        ("My favourite colour is red, I mean blue.", ("favourite/color|red", "favourite/color|blue")),
        ("The meeting is on Monday, no, on Tuesday.", ("scheduled_for|Monday|denied", "scheduled_for|Tuesday")),
        ("My favorite food is pizza. Hmm, no, sushi.", ("favourite/food|pizza", "favourite/food|sushi")),
        ("The call is at 9am, wait no, 10am on Friday.", ("scheduled_for|9am", "scheduled_for|10am on Friday")),
        ("I like tea, sorry, coffee.", ("likes|tea", "likes|coffee")),
        ("I'm allergic to nuts - or rather peanuts.", ("allergic_to|nuts", "allergic_to|peanuts")),
    ],
)
def test_a_later_statement_corrects_the_same_said_before_the_editing_term(text: str, told: tuple[str, ...]) -> None:
    old, new = (one.split("|")[1] for one in told)
    assert repaired(text, *told) == [old, f"{old} > {new}"]


@pytest.mark.parametrize(
    ("text", "told", "new"),
    [
        ("I'm 34, I mean 43.", ("age|34", "value/mean|43"), "43"),
        ("I'm 34 years old. Sorry, 43 years.", ("age|34",), "43"),
        ("My name is Bob. Sorry, typo: Rob.", ("named|Bob",), "Rob"),
        ("My name is Bob. *Rob", ("named|Bob",), "Rob"),
        ("My name is Bob. Sorry, it's Rob.", ("named|Bob",), "Rob"),
        ("I'm from Spain - sorry, Portugal - and I love it.", ("born_in|Spain",), "Portugal"),
        ("I am 34. Edit: 43.", ("age|34", "value/edit|43"), "43"),
        ("My code is 12, well, 13.", ("value/code|12", "value/code|13"), "13"),
        ("I work at Acme, er, Apex.", ("works_at|Acme", "works_at|er"), "Apex"),
        ("The call is at 3 pm, no wait, 4 pm.", ("scheduled_for|3 pm",), "4 pm"),
        ("The call is at 9am, wait no, 10am on Friday.", ("scheduled_for|9am",), "10am"),
        ("The plumber comes on Thursday. Make that Friday.", ("scheduled_for|Thursday",), "Friday"),
        ("The exam is on 3 May, correction: 4 May.", ("scheduled_for|3 May",), "4 May"),
        ("I have two dogs, sorry, three dogs.", ("count/dogs|two",), "three"),
    ],
)
def test_a_bare_phrase_of_the_same_shape_is_the_value(text: str, told: tuple[str, ...], new: str) -> None:
    old = told[0].split("|")[1]
    assert repaired(text, *told) == [old, f"{old} > {new}"]


def test_repairs_follow_each_other() -> None:
    assert repaired("I'm 34, I mean 43, no, 44.", "age|34", "age|43|denied") == ["34", "34 > 43", "43 > 44"]
    assert repaired("I'm 34, I mean 43, no, 34.", "age|34", "age|43|denied") == ["34", "34 > 43", "43 > 34"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I live in Porto. Sorry, I was late.", ("lives_in|Porto",)),
        ("I live in Porto. Sorry, Ana.", ("lives_in|Porto",)),
        ("No wait list there. I live in Porto.", ("lives_in|Porto",)),
        ("No wait in Braga. I live in Porto.", ("lives_in|Porto",)),
        ("I live in Porto. I mean, Braga is nicer.", ("lives_in|Porto", "likes|Braga")),
        ("I'm 34, sorry, 12 people are waiting.", ("age|34",)),
        ("I'm 34. You see what I mean, 43 is old.", ("age|34",)),
        ("I work at Acme. Actually, I work at Apex too.", ("works_at|Acme", "works_at|Apex")),
        ("We meet on Monday, and, well, Tuesday is free.", ("scheduled_for|Monday", "scheduled_for|Tuesday")),
        ("I like tea. Wait, coffee too!", ("likes|tea", "likes|coffee")),
        ("I don't live in Porto, sorry, Braga.", ("lives_in|Porto|denied",)),
        ("I live in Porto. Actually, I left Braga.", ("lives_in|Porto", "lives_in|Braga|ended")),
        ("I live with Ana in a flat near Ben, sorry, Max.", ("roommate|Ana",)),
        ("My boss is Anna Smith. Sorry, Smyth.", ("manager|Anna Smith",)),
        ("My name is Bob. *Rob* is my brother.", ("named|Bob",)),
    ],
)
def test_nothing_changes_without_a_parallel(text: str, told: tuple[str, ...]) -> None:
    read = message(text, *told)
    assert asserted_with_repairs(read, text, SCHEMA, SAID) == asserted(read, SCHEMA)


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("I moved to Berlin in 2019, sorry, 2020.", 2020),
        ("I moved to Berlin in 2019, I mean in 2020, no, 2021.", 2021),
        ("We met on 3 May 2021 - no, 4 May 2022 - in Rome.", 2022),
        ("I moved in 2019, sorry for the delay in 2020.", 2019),
        ("I moved in 2019, and, sorry, in 2020 I moved again.", 2019),
    ],
)
def test_a_date_corrects_the_one_right_before_it(text: str, year: int) -> None:
    begins = times_of(text, [], SAID, past=False).begins
    assert begins is not None and begins.year == year


def test_the_correction_of_a_date_that_is_stated_is_no_time() -> None:
    for stated in ("1990", "1991"):
        assert times_of("I was born in 1990, sorry, 1991.", [stated], SAID, past=False).begins is None


@pytest.mark.parametrize(
    ("text", "relation", "old", "new"),
    [
        ("我叫小明，不对，小红。", "named", "小明", "小红"),
        ("我住在北京，不对，是上海。", "lives_in", "北京", "上海"),
        ("我是老师。说错了，应该是医生。", "job", "老师", "医生"),
        ("我今年34岁，不对，43岁。", "age", "34", "43"),
        ("我的生日是5月3日，說錯了，5月4日。", "born_on", "5月3日", "5月4日"),
    ],
)
def test_chinese_phrases_repair_values(text: str, relation: str, old: str, new: str) -> None:
    made = repair_chinese([Statement("user", relation, old, end=len(text))], text, SAID)
    assert [(one.object, one.replaces, one.correction) for one in made] == [(old, "", False), (new, old, True)]


@pytest.mark.parametrize("text", ["我叫小明，不对，你错了。", "我叫小明，说错了，对不起。", "我叫小明，不是小红。"])
def test_chinese_remarks_repair_nothing(text: str) -> None:
    one = Statement("user", "named", "小明", end=len(text))
    assert repair_chinese([one], text, SAID) == [one]
