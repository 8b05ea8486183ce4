"""The cue lexicon names kinds of statement in English and Chinese, and ranks facts above small talk."""

from __future__ import annotations

import pytest

from nscma_torch.reading.cues import WEIGHTS, find_cues, salience

FACTS = [
    "I'm vegetarian",
    "My daughter started school in Leeds last September.",
    "We moved to Berlin two years ago.",
    "Please remember that the plumber comes on Monday at 9:30.",
    "我对花生过敏",
    "我女儿叫小雨，今年五岁",
    "我已经从北京搬到上海了",
]
CHATTER = [
    "haha ok",
    "thanks!",
    "Sounds good, see you!",
    "How are you?",
    "good morning",
    "好的",
    "谢谢，不客气",
    "早上好！",
    "你好吗？",
]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("please remember to call her", "remember"),
        ("Don’t forget the keys", "remember"),
        ("I've got it", "self"),
        ("she is allergic to nuts", "preference"),
        ("his mother-in-law sings", "person"),
        ("we met Ana Lopes there", "name"),
        ("it was on a tuesday", "date"),
        ("see it at 19:45", "date"),
        ("since 2019", "date"),
        ("it took 12 minutes", "number"),
        ("he no longer smokes", "change"),
        ("she walked home", "event"),
        ("that is not true", "negation"),
        ("they are going to paint it", "plan"),
        ("where is it?", "question"),
        ("ok thanks", "small_talk"),
        ("your idea", "listener"),
        ("记住密码", "remember"),
        ("我在上海", "self"),
        ("不吃香菜", "preference"),
        ("他老婆", "person"),
        ("他叫做阿明，姓王", "name"),
        ("下周三见", "date"),
        ("三个苹果", "number"),
        ("换工作了", "change"),
        ("没有孩子", "negation"),
        ("打算去", "plan"),
        ("去哪里", "question"),
        ("好的", "small_talk"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert find_cues(text).get(kind, 0) >= 1


def test_every_kind_has_a_weight_and_every_weight_a_kind() -> None:
    kinds = {kind for text in [*FACTS, *CHATTER] for kind in find_cues(text)}
    assert kinds <= set(WEIGHTS)
    assert {kind for kind, weight in WEIGHTS.items() if weight < 0} == {"question", "small_talk", "listener"}


def test_counts_and_absent_kinds() -> None:
    assert find_cues("not now, not ever")["negation"] == 2
    assert find_cues("xyzzy") == {} and find_cues("") == {}


def test_words_inside_other_words_are_no_cue() -> None:
    assert "negation" not in find_cues("a notable knot")
    assert "person" not in find_cues("the category")
    assert "event" not in find_cues("I need seed indeed")


def test_codes_hold_no_cues() -> None:
    assert find_cues("3f2a99c1-77aa-4c31-9e01-2f90aa10bb31 2024-05-01T12:00:11Z") == {}


def test_greetings_hold_no_time_of_day() -> None:
    assert set(find_cues("早上好")) == {"small_talk"}


def test_facts_rank_above_small_talk() -> None:
    assert min(map(salience, FACTS)) > 0.6 > 0.5 > max(map(salience, CHATTER))


def test_salience_is_half_without_cues_and_stays_between_0_and_1() -> None:
    assert salience("xyzzy") == 0.5
    assert 0.0 < salience("you? " * 500) < salience("I was there yesterday. " * 500) < 1.0


@pytest.mark.parametrize("text", ["我不吃肉", "我不再吃肉了", "她再也不喝酒"])
def test_not_to_eat_or_drink_something_any_more_is_a_preference(text: str) -> None:
    assert find_cues(text)["preference"] == 1
