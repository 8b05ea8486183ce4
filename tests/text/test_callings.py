"""By which noun a text calls a name, and where it calls it by none."""

from __future__ import annotations

import pytest

from nscma_torch.text.callings import called

KIN = ["twin sister", "sister", "brother", "son", "daughter", "姐姐", "哥哥"]


@pytest.mark.parametrize(
    ("text", "name", "noun"),
    [
        ("My brother Dan lives in Hull.", "Dan", "brother"),
        ("Dan, my little brother, lives in Hull.", "Dan", "brother"),
        ("Dan is one of my brothers.", "Dan", "brother"),
        ("My brother's name is Dan.", "Dan", "brother"),
        ("I have a brother called Dan and a sister named Eve.", "Eve", "sister"),
        ("My sisters Eve and Ann sing.", "Ann", "sister"),
        ("My twin sister Eve sings.", "Eve", "twin sister"),
        ("We've got a daughter, Mia, and a son, Leo.", "Mia", "daughter"),
        ("We've got a daughter, Mia, and a son, Leo.", "Leo", "son"),
        ("DAN: he is away. My brother dan came.", "Dan", "brother"),
        ("我姐姐小红住在北京。", "小红", "姐姐"),
        ("小红是我姐姐。", "小红", "姐姐"),
    ],
)
def test_a_name_is_called_by_its_noun(text: str, name: str, noun: str) -> None:
    assert called(name, text, KIN) == noun


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Dan and my sister went to Hull.", "Dan"),
        ("My sister met Dan in Hull.", "Dan"),
        ("My sister-in-law Eve sings.", "Eve"),
        ("Danny is my brother.", "Dan"),
        ("Dan came. My brother was away.", "Dan"),
        ("My brother lives in Hull.", "Dan"),
        ("", "Dan"),
    ],
)
def test_a_noun_of_another_is_not_its_own(text: str, name: str) -> None:
    assert called(name, text, KIN) == ""


def test_a_name_may_hold_its_noun() -> None:
    assert called("grey cat", "I have a grey cat.", ["dog", "cat"]) == "cat"
    assert called("Dan", "My brother Dan.", []) == ""
