"""ROUGE against values worked out by hand."""

from __future__ import annotations

import pytest

from eval.metrics.rouge import rouge


def test_words_pairs_and_the_longest_common_subsequence() -> None:
    # police killed the gunman | police kill the gunman (stemmed: all four words alike)
    assert rouge("police killed the gunman", ["Police kill the gunman."]) == {
        **{"ROUGE-1": 1.0, "ROUGE-2": 1.0, "ROUGE-L": 1.0}
    }
    # the gunman kill police: the same words; of the pairs only "the gunman"; longest: "the gunman"
    assert rouge("the gunman kill police", ["police kill the gunman"]) == {
        **{"ROUGE-1": 1.0, "ROUGE-2": pytest.approx(1 / 3), "ROUGE-L": 0.5}
    }
    # 3 of 5 words said, 3 of 4 wanted; a b c d -> subsequence a x b y d against a b c d: a b d
    assert rouge("a1 x1 b1 y1 d1", ["a1 b1 c1 d1"]) == {
        **{"ROUGE-1": pytest.approx(6 / 9), "ROUGE-2": 0.0, "ROUGE-L": pytest.approx(6 / 9)}
    }


def test_words_count_as_often_as_they_occur_and_short_ones_are_not_stemmed() -> None:
    scores = rouge("the the the", ["the cat"])
    assert scores == {"ROUGE-1": pytest.approx(2 / 5), "ROUGE-2": 0.0, "ROUGE-L": pytest.approx(2 / 5)}
    assert rouge("his", ["hi"])["ROUGE-1"] == 0.0


def test_the_best_reference_counts_for_each_measure_and_an_empty_summary_is_worth_nothing() -> None:
    scores = rouge("red fox", ["fox red", "red"])
    assert scores == {"ROUGE-1": 1.0, "ROUGE-2": 0.0, "ROUGE-L": pytest.approx(2 / 3)}
    assert set(rouge("", ["red"]).values()) == {0.0}
    with pytest.raises(ValueError, match="needs a reference"):
        rouge("red", [])
