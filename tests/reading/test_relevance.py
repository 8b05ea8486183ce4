"""How far hits answer a question, and what to ask next, by words alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Hit, Scope, Unit
from nscma_torch.reading.relevance import helpful, refined, relevance

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def hits(*told: tuple[str, float], name: str | None = None, role: str = "user") -> list[Hit]:
    return [
        Hit(Unit(f"u{i}", Scope("ada"), "chunk", text, (f"m{i}",), NOW, role=role, name=name), score)
        for i, (text, score) in enumerate(told)
    ]


def order(question: str, found: Sequence[Hit]) -> list[int]:
    values = relevance(question, found)
    assert all(0 <= value <= 1 for value in values)
    return sorted(range(len(found)), key=lambda i: -values[i])


def test_equal_words_in_the_order_of_the_question_come_first() -> None:
    found = hits(("The house is white, and the fence too.", 1.0), ("He painted the white house himself.", 1.0))
    assert order("Who painted the white house?", found) == [1, 0]
    assert order("Who painted the house white?", found) == [0, 1]


def test_a_hit_that_speaks_of_what_the_best_ones_do_is_lifted() -> None:
    found = hits(
        ("Her kiln broke in the pottery workshop.", 1.0),
        ("The pottery workshop got another kiln.", 0.9),
        ("A train was late again.", 0.5),
        ("Clay is fired in the kiln of that workshop.", 0.5),
    )
    assert order("What broke?", found) == [0, 1, 3, 2]


def test_a_much_better_score_is_not_overruled() -> None:
    found = hits(("Nothing of it.", 1.0), ("the white house of the white house", 0.4))
    assert order("the white house", found) == [0, 1]


@pytest.mark.parametrize("question", ["", "?", "the of and", "🙂", "白色的房子", "word " * 300])
def test_any_question_has_a_relevance_for_every_hit(question: str) -> None:
    found = hits(("A white house.", 0.7), ("", 0.0), ("白色的房子", 0.3))
    values = relevance(question, found)
    assert len(values) == 3 and all(0 <= value <= 1 for value in values)
    assert relevance(question, []) == []
    assert relevance("house", hits(("A white house.", 0.0)))[0] >= 0


def test_only_what_is_near_the_best_helps() -> None:
    found = hits(("The white house has a porch.", 1.0), ("A white house on a hill.", 0.7), ("Soup.", 0.2))
    assert helpful("the white house", found) == [True, True, False]


def test_a_question_gains_the_names_of_its_best_hits() -> None:
    found = hits(
        ("Velvet Dawn is a film. It was directed by Ottoline Marsh in Tornio.", 1.0),
        ("A later film was directed by Karl Brandt.", 0.4),
        role="document",
        name="Velvet Dawn",
    )
    asked = refined("Where was the director of Velvet Dawn born?", found)
    assert asked.startswith("Where was the director of Velvet Dawn born? Ottoline Marsh")
    assert asked.index("Ottoline") < asked.index("Karl")


def test_a_question_gains_neither_who_speaks_nor_what_it_says_already() -> None:
    found = hits(("Yes, and Mia saw Ottoline in Rome.", 1.0), name="Mia")
    assert refined("Did they meet in Rome?", found) == "Did they meet in Rome? Ottoline"
    assert refined("Did they meet Ottoline in Rome?", found) == ""
    assert refined("Did they meet?", []) == ""


def test_a_capital_that_begins_a_sentence_a_line_or_a_turn_is_no_name() -> None:
    assert (
        refined("Did they meet?", hits(("Yes. Okay\nWell, Mia: Great", 1.0), role="document")) == "Did they meet? Mia"
    )


def test_a_question_gains_few_words_and_no_half_names() -> None:
    text = "It was by Anna Bella Carla, Dora Emma Fiona, Gina Hanna Ida and Jana Kira Lena."
    added = refined("Who was it?", hits((text, 1.0), role="document")).removeprefix("Who was it? ").split()
    assert added == ["Anna", "Bella", "Carla", "Dora", "Emma", "Fiona"]
