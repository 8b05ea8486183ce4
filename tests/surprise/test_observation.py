"""Observations survive JSON, and scripts are told apart."""

from __future__ import annotations

import json
import math
import unicodedata

import pytest
import torch

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.surprise.observation import Observation, observe, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("I'm vegetarian", "latin"),
        ("Ça va très bien", "latin"),
        ("我对花生过敏", "cjk"),
        ("我在 Google 工作", "cjk"),
        ("Please say 你好 to everyone at the office", "latin"),
        ("きょうは天気がいい", "kana"),
        ("Привет, как дела?", "cyrillic"),
        ("안녕하세요", "hangul"),
        ("\U00020000\U000323af", "cjk"),  # the first and the last beyond the basic plane
        ("1234 !?", "other"),
        ("🙂", "other"),
    ],
)
def test_script(text: str, script: str) -> None:
    assert script_of(text) == script


def test_observation_round_trips_through_json() -> None:
    text = "我搬到上海了"
    seen = observe(text, torch.rand(len(text.encode()) + 1), "早上好\n", 0.75)
    assert Observation.from_dict(json.loads(json.dumps(seen.to_dict()))) == seen
    assert (seen.tokens, seen.script, seen.repeat, seen.salience) == (19, "cjk", False, 0.75)


@pytest.mark.parametrize(
    ("history", "answers"),
    [("", False), ("Where?", True), ("Where?\nThere.", False), ("Hm.\nWhere? Tell me!", True), ("你好吗？", True)],
)
def test_what_follows_a_question_is_an_answer(history: str, answers: bool) -> None:
    assert observe("hello", torch.zeros(6), history, 0.5).answers is answers


def test_an_observation_stored_before_restatements_were_seen() -> None:
    fields = observe("hello", torch.zeros(6), "", 0.5, nearest=0.9, news=1.0).to_dict()
    assert (fields.pop("nearest"), fields.pop("news")) == (0.9, 1.0)
    seen = Observation.from_dict(fields)
    assert seen.nearest is None and seen.news is None


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"nats": math.nan},
        {"nearest": math.inf},
        {"news": "none"},
        {"learned": math.inf},
        {"mean": "high"},
        {"tokens": 0},
    ],
)
def test_unusable_observation_is_refused(change: dict[str, object]) -> None:
    fields = observe("hello", torch.zeros(6), "", 0.5).to_dict()
    with pytest.raises(InvalidInputError, match="observation"):
        Observation.from_dict({**fields, **change})
    del fields["script"]
    with pytest.raises(InvalidInputError, match="observation"):
        Observation.from_dict(fields)


def test_a_script_is_what_unicode_says_of_its_letters() -> None:
    """Of every letter of the blocks that are told apart, and of those beside them."""
    named = {"LATIN": "latin", "GREEK": "greek", "COPTIC": "greek", "CYRILLIC": "cyrillic", "HEBREW": "hebrew",
             "ARABIC": "arabic", "DEVANAGARI": "devanagari", "THAI": "thai", "HIRAGANA": "kana", "KATAKANA": "kana",
             "CJK": "cjk", "HANGUL": "hangul"}  # fmt: skip
    for first, last in ((0x41, 0x24F), (0x1E00, 0x1EFF), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x5FF), (0x620, 0x6FF),
                        (0x900, 0x97F), (0xE00, 0xE7F), (0x3041, 0x30FA), (0x3400, 0x9FFF), (0xAC00, 0xD7A3),
                        (0x20000, 0x323AF)):  # fmt: skip
        for code in {first, last, *range(first, last + 1, max(1, (last - first) // 500))}:
            letter = chr(code)
            if letter.isalpha():
                script = unicodedata.name(letter, "CJK").split()[0].split("-")[0]
                assert script_of(letter) == named.get(script, "latin"), hex(code)
    beyond = "\u0250\u0531\u0780\u0980\u0e81\u1dbf\u1f00\u3105\u33ff\ua000\uabff\ud7b0"
    assert {script_of(letter) for letter in beyond} == {"other"}
