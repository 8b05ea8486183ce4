"""Right, stale, silent and invented answers are told apart, and quotations are never scored as answers."""

from __future__ import annotations

import pytest

from nscma_torch.core.records import Answer
from nscma_torch.demo.short_answers import LONGEST, AnswerVerdict, Gold, judge, says

ONE = Gold(answers=((("Lyon", "in lyon"),),), stale=("Paris",))
LIST = Gold(answers=((("Joe",), ("Ella", "band Ella")),))
YES_NO = Gold(answers=((("no",),),), stale=("yes",), yes_no=True)
NONE = Gold(stale=("Paris",))


def scored(gold: Gold, text: str, *, abstained: bool = False) -> AnswerVerdict:
    """The verdict on an answer whose lines below the first are quotations."""
    return judge(gold, Answer(text, abstained, 0.9, (), quotes=text.count("\n")))


@pytest.mark.parametrize(
    ("text", "wording", "told"),
    [
        ("She lives in LYON.", "lyon", True),
        ("Lyonnais", "Lyon", False),
        ("the florist’s shop", "the florist's", True),
        ("It is £160 now", "160", True),
        ("It is £160 now", "£160", True),
        ("It costs 6.50", "6", False),
        ("It costs 1,600", "600", False),
        ("It costs 6. Or so", "6", True),
        ("said on 2026-01-14", "14", False),
        ("at 14:30", "14", False),
        ("2026-01-14, she said", "2026-01-14", True),
        ("two  ball\njoints", "two ball joints", True),
        ("anything", " ", False),
    ],
)
def test_a_wording_is_found_as_whole_words(text: str, wording: str, told: bool) -> None:
    assert says(text, wording) is told


def test_a_right_answer_is_short_up_to_fifteen_words() -> None:
    assert scored(ONE, " ".join(["so"] * (LONGEST - 1) + ["Lyon"])).short
    long = scored(ONE, " ".join(["so"] * LONGEST + ["Lyon"]))
    assert (long.short, long.evidence_shown, str(long)) == (False, True, "evidence shown")


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        (ONE, "Marseille\nTom: she moved to Lyon"),
        (Gold(((("412.60",),),)), "a foil blanket\nInes: a foil blanket\nInes: it came to £412.60"),
        (Gold(((("7294",),),)), "Overhang\nInes: the wall is Overhang, the code is 7294"),
        (Gold(((("墨绿",),),)), "红色\nInes（2026-02-08）：我最喜欢的颜色是墨绿色"),
    ],
)
def test_a_right_word_in_the_quotations_is_evidence_and_no_answer(gold: Gold, text: str) -> None:
    quoted = scored(gold, text)
    assert (quoted.short, quoted.right, quoted.evidence_shown) == (False, False, True)
    assert str(quoted) == "evidence shown"


def test_a_short_answer_may_have_several_lines() -> None:
    assert judge(ONE, Answer("She moved.\nTo Lyon.\nTom: I know", False, 0.9, (), quotes=1)).right


def test_characters_without_spaces_are_words() -> None:
    gold = Gold(((("墨绿",),),))
    assert scored(gold, "墨绿色").right and scored(Gold(((("7月11",),),)), "7月11日").right
    long = scored(gold, "Ines（2026-02-08）：我最喜欢的颜色是墨绿色，不太喜欢红色。会不会不礼貌？")
    assert (long.short, long.evidence_shown) == (False, True)


def test_a_right_answer_above_long_quotations_is_short() -> None:
    assert scored(ONE, "Lyon\n" + "and so on " * 20).short


def test_stale_is_a_stale_value_without_the_right_one_in_few_words() -> None:
    assert str(scored(ONE, "Paris")) == "stale"
    both = scored(ONE, "Lyon, before that Paris")
    assert (both.stale, both.short) == (False, True)
    assert not scored(ONE, "Paris " + "so " * LONGEST).stale
    assert scored(ONE, "Paris\nshe moved to Lyon").stale


def test_all_members_of_a_list_are_needed_in_any_of_their_wordings() -> None:
    assert scored(LIST, "the band's Ella and Joe").short
    assert not scored(LIST, "Joe").evidence_shown
    either = Gold(answers=((("Musa",), ("Sunday",)), (("Musa",), ("the driver",))))
    assert scored(either, "Musa and the driver").short
    assert not scored(either, "Sunday, the driver").short


def test_yes_and_no_count_as_the_first_word_alone() -> None:
    assert scored(YES_NO, "No, he did not.").short
    unsure = scored(YES_NO, "There is no telling")
    assert (unsure.short, unsure.evidence_shown) == (False, False)
    assert scored(YES_NO, "Yes, though there was no reason").stale
    assert not scored(YES_NO, "Nobody knows").short


def test_silence_is_neither_short_nor_stale_but_may_show_the_answer() -> None:
    silent = scored(ONE, "I don't know. Paris or Lyon", abstained=True)
    assert (silent.silent, silent.short, silent.stale, silent.evidence_shown) == (True, False, False, True)
    assert not scored(ONE, "I don't know. Paris", abstained=True).stale
    assert not scored(ONE, "Lyon").silent


def test_an_unanswerable_question_is_invented_or_abstained_from() -> None:
    invented = scored(NONE, "Paris")
    assert (invented.answerable, invented.invented, invented.stale) == (False, True, False)
    abstained = scored(NONE, "I don't know", abstained=True)
    assert (abstained.invented, abstained.silent, str(abstained)) == (False, False, "abstained")
    assert not scored(ONE, "Marseille").invented


def test_a_gold_answer_prints_all_its_wordings() -> None:
    assert str(LIST) == "Joe + Ella / band Ella"
    assert str(NONE) == "-"
