"""What counts as a short right answer, a shown one, a stale one, silence and invention."""

from __future__ import annotations

import pytest

from eval.metrics.short_answers import LONGEST, Gold, judge, says, short_text

ONE = Gold(answers=((("Lyon", "in lyon"),),), stale=("Paris",))
LIST = Gold(answers=((("Joe",), ("Ella", "band Ella")),))
YES_NO = Gold(answers=((("no",),),), stale=("yes",), yes_no=True)
NONE = Gold(stale=("Paris",))


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


def test_the_short_text_ends_at_the_first_line_break() -> None:
    assert short_text("\n Lyon. \nShe moved to Lyon in May.") == "Lyon."
    assert short_text("") == ""


def test_a_right_answer_is_short_up_to_fifteen_words() -> None:
    assert judge(ONE, " ".join(["so"] * (LONGEST - 1) + ["Lyon"]), abstained=False).short
    long = judge(ONE, " ".join(["so"] * LONGEST + ["Lyon"]), abstained=False)
    assert (long.short, long.shown, str(long)) == (False, True, "shown")


def test_what_is_quoted_below_the_first_line_is_shown_and_not_short() -> None:
    quoted = judge(ONE, "Marseille\nTom: she moved to Lyon", abstained=False)
    assert (quoted.short, quoted.shown) == (False, True)
    assert judge(ONE, "Lyon\n" + "and so on " * 20, abstained=False).short


def test_stale_is_a_stale_value_without_the_right_one_in_few_words() -> None:
    assert str(judge(ONE, "Paris", abstained=False)) == "stale"
    both = judge(ONE, "Lyon, before that Paris", abstained=False)
    assert (both.stale, both.short) == (False, True)
    assert not judge(ONE, "Paris " + "so " * LONGEST, abstained=False).stale
    assert judge(ONE, "Paris\nshe moved to Lyon", abstained=False).stale


def test_all_members_of_a_list_are_needed_in_any_of_their_wordings() -> None:
    assert judge(LIST, "the band's Ella and Joe", abstained=False).short
    assert not judge(LIST, "Joe", abstained=False).shown
    either = Gold(answers=((("Musa",), ("Sunday",)), (("Musa",), ("the driver",))))
    assert judge(either, "Musa and the driver", abstained=False).short
    assert not judge(either, "Sunday, the driver", abstained=False).short


def test_yes_and_no_count_as_the_first_word_alone() -> None:
    assert judge(YES_NO, "No, he did not.", abstained=False).short
    unsure = judge(YES_NO, "There is no telling", abstained=False)
    assert (unsure.short, unsure.shown) == (False, False)
    assert judge(YES_NO, "Yes, though there was no reason", abstained=False).stale
    assert not judge(YES_NO, "Nobody knows", abstained=False).short


def test_silence_is_neither_short_nor_stale_but_may_show_the_answer() -> None:
    silent = judge(ONE, "I don't know. Paris or Lyon", abstained=True)
    assert (silent.silent, silent.short, silent.stale, silent.shown) == (True, False, False, True)
    assert not judge(ONE, "I don't know. Paris", abstained=True).stale
    assert not judge(ONE, "Lyon", abstained=False).silent


def test_an_unanswerable_question_is_invented_or_abstained_from() -> None:
    invented = judge(NONE, "Paris", abstained=False)
    assert (invented.answerable, invented.invented, invented.stale) == (False, True, False)
    abstained = judge(NONE, "I don't know", abstained=True)
    assert (abstained.invented, abstained.silent, str(abstained)) == (False, False, "abstained")
    assert not judge(ONE, "Marseille", abstained=False).invented


def test_a_gold_answer_prints_all_its_wordings() -> None:
    assert str(LIST) == "Joe + Ella / band Ella"
    assert str(NONE) == "-"
