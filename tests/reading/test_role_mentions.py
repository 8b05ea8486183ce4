"""By which noun a text calls a name, and where it calls it by none."""

from __future__ import annotations

import pytest

from nscma_torch.reading.role_mentions import called

NOUNS = [
    *("twin sister", "sister", "brother", "mother", "mum", "father", "dad", "son", "daughter", "husband", "wife"),
    *("cousin", "nan", "cat", "dog", "姐姐", "哥哥", "女儿", "阿姨", "猫", "狗", "马"),
]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("My brother Dan lives in Hull.", {"Dan": "brother"}),
        ("my brother dan is here", {"Dan": "brother"}),
        ("Dan, my little brother, lives in Hull.", {"Dan": "brother"}),
        ("Dan (my brother) came.", {"Dan": "brother"}),
        ("Dan is one of my brothers.", {"Dan": "brother"}),
        ("Dan's my brother.", {"Dan": "brother"}),
        ("My brother's name is Dan.", {"Dan": "brother"}),
        ("My father's called Paul.", {"Paul": "father"}),
        ("My brother isn't Tom but Dan.", {"Dan": "brother"}),
        ("I have a brother called Dan and a sister named Eve.", {"Dan": "brother", "Eve": "sister"}),
        ("I've a brother whose name is Dan.", {"Dan": "brother"}),
        ("My sisters Eve and Ann sing.", {"Eve": "sister", "Ann": "sister"}),
        ("I have two sisters, Eve and Anna.", {"Eve": "sister", "Anna": "sister"}),
        ("Dan and Eve are my cousins.", {"Dan": "cousin", "Eve": "cousin"}),
        ("My twin sister Eve sings.", {"Eve": "twin sister"}),
        ("Mum: Ruth", {"Ruth": "mum"}),
        ("Tom is Ann Smith's father.", {"Tom": "father"}),
        ("Amy is my wonderful sister.", {"Amy": "sister"}),
        ("We've got a daughter, Mia, and a son, Leo.", {"Mia": "daughter", "Leo": "son"}),
        ("Anna is my sister and Dan is my brother.", {"Anna": "sister", "Dan": "brother"}),
        ("My dog is called Rex, my cat is called Milo.", {"Rex": "dog", "Milo": "cat"}),
        ("My mother's name is Ann, my father's name is Bob.", {"Ann": "mother", "Bob": "father"}),
        ("My sisters are Eve and Anna, my brother is Dan.", {"Anna": "sister", "Dan": "brother"}),
        ("My sister is Amy. Dan is my younger brother.", {"Amy": "sister", "Dan": "brother"}),
        ("Tom, my dad, and Sue, my dear old mum, came.", {"Tom": "dad", "Sue": "mum"}),
        ("Tom is her husband and Anna is my wife.", {"Tom": "husband", "Anna": "wife"}),
        ("My sister will visit. Will is my brother.", {"Will": "brother"}),
        ("My sister Kim works with my brother Tom. Kim is my brother's boss.", {"Kim": "sister", "Tom": "brother"}),
        ("My sister Kim just turned 30 and my brother is Kim's boss.", {"Kim": "sister"}),
        ("My sister Kim met Eve. Kim is my brother Tom's boss.", {"Kim": "sister", "Eve": ""}),
        ("My sister Kim lives in Bonn. Kim is my SİSTER.", {"Kim": ""}),
        ("我姐姐小红住在北京。", {"小红": "姐姐"}),
        ("小红是我姐姐，小明是我哥哥。", {"小红": "姐姐", "小明": "哥哥"}),
        ("我姐姐叫 Amy。", {"Amy": "姐姐"}),
        ("我女儿叫Alison。", {"Alison": "女儿"}),
        ("我阿姨叫 Nancy。", {"Nancy": "阿姨"}),
        ("我的狗叫马克。", {"马克": "狗"}),
        ("我养了一只猫，起名叫咪咪。", {"咪咪": "猫"}),
    ],
)
def test_a_name_is_called_by_its_noun(text: str, calls: dict[str, str]) -> None:
    assert {name: called(name, text, NOUNS) for name in calls} == calls


@pytest.mark.parametrize(
    "text",
    [
        "Dan and my sister went to Hull.",
        "My sister met Dan in Hull.",
        "My sister-in-law Dan sings.",
        "Danny is my brother.",
        "My dog! Dan is away.",
        "Dan came. My brother was away.",
        "My brother Tom, Dan and Eve went.",
        "My brother lives in Hull.",
        "",
    ],
)
def test_a_noun_of_another_is_not_its_own(text: str) -> None:
    assert called("Dan", text, NOUNS) == ""


def test_a_name_may_end_with_its_noun() -> None:
    assert called("grey cat", "I have a grey cat.", NOUNS) == "cat"
    assert called("布偶猫", "我养了一只布偶猫。", NOUNS) == "猫"
    assert called("cat flap", "I have a cat flap.", NOUNS) == ""
    assert called("Dan", "My brother Dan.", []) == ""


def test_what_fits_nothing_is_left_without_backtracking_for_ever() -> None:
    for text in ("My sister " + "A" * 90 + " x Dan", "My sisters " + "Ab, " * 40 + "x Dan", "Dan, " + "A B, " * 90):
        assert called("Dan", text, NOUNS) == ""
