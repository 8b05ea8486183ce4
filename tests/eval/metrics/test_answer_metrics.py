"""Scores, against values worked out by hand from the rules of their sources."""

from __future__ import annotations

import pytest

from eval.metrics.answer_metrics import (
    babilong_correct,
    chosen_option,
    evidence_recall,
    exact_match,
    f1_of_classes,
    holds,
    locomo_abstained,
    locomo_f1,
    ndcg,
    normalized,
    retrieval_scores,
    squad2_scores,
    token_f1,
    word_count,
    word_recall,
)
from eval.metrics.quantities import quantities


@pytest.mark.parametrize(
    ("task", "target", "output", "question", "correct"),
    [
        ("qa1", "kitchen", "Mary is in the KITCHEN. Then the garden.", "Where is Mary?", True),
        ("qa1", "kitchen", "the kitchen or the garden", "Where is Mary?", False),
        ("qa3", "garden", "Before the office it was in the garden", "Where was it before the office?", True),
        ("qa1", "kitchen", "kitchen<example>garden", "Where is Mary?", True),
        ("qa5", "Fred", "Mary gave it to Fred", "Who did Mary give the milk to?", True),
        ("qa5", "Fred", "Jeff gave it to Fred", "Who did Mary give the milk to?", False),
        ("qa6", "no", "No", "Is John in the hall?", True),
        ("qa8", "apple,milk", "milk and apple", "What is he carrying?", True),
        ("qa8", "apple,milk", "apple", "What is he carrying?", False),
        ("qa8", "apple", "apple,milk", "What is he carrying?", False),
        ("qa10", "maybe", "", "Is Bill there?", False),
    ],
)
def test_babilong_wants_the_target_and_no_other_label(
    task: str, target: str, output: str, question: str, correct: bool
) -> None:
    assert babilong_correct(target, output, question, task) is correct
    assert babilong_correct(target, output, question, task, whole_words=True) is correct


def test_babilong_by_its_source_never_takes_none_for_right() -> None:
    assert not babilong_correct("none", "none", "How many?", "qa7")
    assert babilong_correct("none", "none", "How many?", "qa7", whole_words=True)
    assert babilong_correct("one", "one", "How many?", "qa7")


@pytest.mark.parametrize(
    ("reply", "answers", "scores"),
    [
        ("The Denver Broncos!", ["Denver Broncos", "Broncos"], (1.0, 1.0)),
        ("Broncos of Denver", ["Denver Broncos", "New York"], (0.0, 0.8)),
        ("", ["Denver"], (0.0, 0.0)),
        ("the", ["Denver"], (0.0, 0.0)),
        ("", [], (1.0, 1.0)),
        ("Denver", [], (0.0, 0.0)),
        ("", ["the"], (1.0, 1.0)),
    ],
)
def test_squad_2_wants_nothing_where_there_is_no_answer(
    reply: str, answers: list[str], scores: tuple[float, float]
) -> None:
    assert squad2_scores(reply, answers) == pytest.approx(scores)


def test_recall_of_evidence_counts_the_first_places() -> None:
    assert evidence_recall((3, 8), (3, 1, 2, 4, 5, 8)) == {"recall@5": 0.5, "recall@10": 1.0}
    assert evidence_recall((), (1,)) == {}


def test_answers_are_compared_without_case_articles_and_punctuation() -> None:
    assert normalized("The Cat's  a hat.") == "cats hat"
    assert exact_match("the U.S. Army", ["Navy", "US army"]) == 1.0
    assert exact_match("", [""]) == 0.0


def test_f1_counts_words_and_takes_the_best_answer() -> None:
    # said: big red dog; right: red dog dog: two in common, precision 2/3, recall 2/3
    assert token_f1("the big red dog", ["red dog dog", "cat"]) == pytest.approx(2 / 3)
    assert token_f1("cat", ["dog"]) == 0.0 and token_f1("", ["dog"]) == 0.0
    assert token_f1("The", ["A"]) == 1.0 and token_f1("The", ["A"], closed=True) == 0.0, "nothing is left of either"
    assert token_f1("", ["A"]) == 0.0 == token_f1("The", ["dog"])
    assert token_f1("yes it is", ["yes"]) == pytest.approx(0.5)
    assert token_f1("yes it is", ["yes"], closed=True) == 0.0 and token_f1("Yes.", ["yes"], closed=True) == 1.0


def test_locomo_stems_words_and_splits_several_answers() -> None:
    # camping -> camp, trips -> trip; "and" does not count
    assert locomo_f1("camp and trip", "camping trips", 4) == 1.0
    assert locomo_f1("a camping holiday", "camping trips", 2) == pytest.approx(0.5)
    # the first answer is met by the second part of the reply; half of the second one's words by none: (1 + 0) / 2
    assert locomo_f1("pottery, painting", "paint, swimming", 1) == pytest.approx(0.5)
    assert locomo_f1("likely no", "likely no; she is away", 3) == 1.0
    assert locomo_abstained("No information available in the talk") == 1.0 == locomo_abstained("It is not mentioned")
    assert locomo_abstained("red") == 0.0


def test_retrieval_by_longmemeval() -> None:
    # ranks 2 and 4 of the relevant {7, 9, 5}: dcg 1/log2(2) + 1/log2(4) = 1.5; ideal 1 + 1 + 1/log2(3) = 2.631
    scores = retrieval_scores((7, 9, 5), (1, 7, 2, 9, 3), at=(1, 5))
    assert scores == {
        **{"recall_any@1": 0.0, "recall_all@1": 0.0, "ndcg_any@1": 0.0},
        **{"recall_any@5": 1.0, "recall_all@5": 0.0, "ndcg_any@5": pytest.approx(1.5 / 2.6309297)},
    }
    assert retrieval_scores((), (1,)) == {}


def test_ndcg_discounts_from_the_second_rank_on() -> None:
    # hits at ranks 1 and 3: 1 + 1/2; ideal: 1 + 1/log2(3)
    assert ndcg((4, 6), (4, 1, 6), 10) == pytest.approx(1.5 / 1.6309297)
    assert ndcg((4,), (1, 2), 10) == 0.0 == ndcg((), (1,), 10)


def test_parts_are_found_by_their_stems() -> None:
    assert holds("She keeps beehives in Rome.", "a beehive") and not holds("Rome, New York", "York New")
    assert not holds("Romeo", "Rome") and not holds("anything", "the")
    assert word_recall("two blue doors", "the door is blue") == pytest.approx(2 / 3)


def test_words_stand_between_white_space() -> None:
    assert word_count("One, two\n and  three-four.") == 4.0 and word_count("") == 0.0


def test_quantities_have_one_spelling() -> None:
    assert quantities("Five of 1,200 at 4:30 PM, or 3:00, 2.50% and $0.5") == {"5", "1200", "4:30", "3", "2.5", "0.5"}
    assert quantities("someone weighs tenfold") == frozenset()


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("the red one.", 0),
        ("B", 1),
        ("(C) because of it", 2),
        ("It was a blue one, I think", 1),
        ("red one or blue one", None),
        ("", None),
        ("Z.", None),
        ("A man came in", None),
    ],
)
def test_an_option_is_chosen_by_its_words_or_its_letter(reply: str, chosen: int | None) -> None:
    assert chosen_option(reply, ("The red one", "A blue one", "None of them")) == chosen


def test_f1_of_both_classes() -> None:
    # precision 3/4 and recall 3/5 of the positive class: 2 * 3 / (6 + 1 + 2); of the negative one 2 * 4 / (8 + 1 + 2)
    assert f1_of_classes(3, 1, 2, 4) == (pytest.approx(6 / 9), pytest.approx(8 / 11))
    assert f1_of_classes(0, 0, 0, 1) == (0.0, 1.0)
