"""Lines of days by rules: sentences that were said, of what was said, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.core.records import Scope, Unit, UnitKind
from nscma_torch.reading.day_lines import day_insights, day_summary, portrait, summary_of_days
from nscma_torch.reading.reflections import reflections, salient_questions
from nscma_torch.reading.topics import is_on, nouns_of
from nscma_torch.text.terms import terms

BEGIN = datetime(2024, 3, 1, 9, tzinfo=UTC)


def unit(text: str, day: int = 0, name: str | None = "Mel", kind: UnitKind = "chunk") -> Unit:
    return Unit(f"{day}{text}", Scope("ada"), kind, text, (), BEGIN + timedelta(days=day), name=name)


def test_a_summary_is_of_sentences_that_tell_something() -> None:
    said = ("Hi! I moved to Bergen in March.", "ok", "Where is that?")
    found = day_summary([*(unit(text) for text in said), unit("我搬到了成都。", name="李")], 100)
    assert [(line.text, line.sources) for line in found] == [
        ("Mel: I moved to Bergen in March.", (0,)),
        ("李：我搬到了成都。", (3,)),
    ]


def test_a_summary_has_at_most_so_many_words() -> None:
    group = [unit(f"I bought a {thing} in the harbour market yesterday.") for thing in ("kettle", "lantern", "canoe")]
    assert len(day_summary(group, 18)) == 2
    lines = [unit(text.text, i) for i, text in enumerate(group)]
    assert [line.text[:12] for line in summary_of_days(lines, 9)] == ["1 March 2024"]


def test_insights_are_likings_in_the_first_person() -> None:
    said = (
        "I love old maps of the coast.",
        "I love it!",
        "I love your old maps, Bob.",
        "Ana loves old maps.",
        "I sold a map.",
    )
    assert [line.text for line in day_insights([unit(text) for text in said])] == ["Mel: I love old maps of the coast."]


def test_a_portrait_is_of_what_comes_up_on_several_days() -> None:
    said = (("Mel: I love running at night.", 0), ("Mel: I hate the rain.", 1), ("Mel: I enjoy running alone.", 2))
    found = portrait([unit(text, day) for text, day in said], 100)
    assert [(line.text, line.sources, line.confidence) for line in found] == [
        ("1 March 2024, Mel: I love running at night.", (0, 2), 2 / 3),
        ("3 March 2024, Mel: I enjoy running alone.", (0, 2), 2 / 3),
    ]
    assert portrait([unit("Mel: I love running.", 0), unit("Mel: I enjoy running.", 0)], 100) == [], "on one day only"


def test_nouns_end_a_phrase_with_a_determiner() -> None:
    texts = ["My garden is wet.", "We saw the garden, again.", "An important garden party.", "I keep going to a lot."]
    assert set(terms("garden")) <= nouns_of(texts)
    assert nouns_of(texts).isdisjoint(terms("important keep lot"))


GARDEN = [unit(f"I {verb} the garden.", i) for i, verb in enumerate(("watered", "painted", "left", "mowed"))]


def test_questions_are_about_what_is_said_most() -> None:
    other = [unit("I fixed the roof.", name="Bob"), unit("I saw the sea.", name="Bob")]
    assert salient_questions([*GARDEN, *other], 3) == ["What did Mel say about garden?"]
    assert salient_questions([*GARDEN[:2], *other], 3) == [], "two messages are no topic"


def test_what_was_reflected_on_counts_from_then_on() -> None:
    (line,) = reflections("What did Mel say about garden?", GARDEN)
    assert line.text.startswith("Mel spoke of garden in at least 4 messages on 4 days") and line.sources == (0, 1, 2, 3)
    told = unit(line.text, 4, kind="reflection")
    assert salient_questions([*GARDEN, told, *GARDEN[:2]], 3) == []
    assert salient_questions([*GARDEN, told, *GARDEN[:3]], 3) == ["What did Mel say about garden?"]
    later = [unit("I dug up the garden.", 5), unit("I sold the garden.", 6)]
    (again,) = reflections("What did Mel say about garden?", [*GARDEN, told, *later])
    assert again.text.startswith("Mel spoke of garden in at least 6") and again.sources == (0, 1, 2, 3, 5, 6, 4)
    assert reflections("What did Mel say about garden?", [*GARDEN, told]) == [], "it is known"


def test_a_question_about_an_unnamed_user_is_not_answered_by_another() -> None:
    own = [
        unit(text, i, name=None) for i, text in enumerate(["I sold the boat.", "I miss the boat.", "I saw the boat."])
    ]
    other = [unit(f"My boat is number {i}.", i, name="Ana") for i in range(5)]
    (line,) = reflections("What did the user say about boat?", [*own, *other])
    assert line.sources == (0, 1, 2)


def test_the_role_of_an_unnamed_user_is_no_topic_of_a_portrait() -> None:
    lines = [unit("user: I love my bicycle.", 0, name=None), unit("user: I hate cold pizza.", 3, name=None)]
    assert portrait([replace(line, role="user") for line in lines], 100) == []


@pytest.mark.parametrize(
    ("text", "topic", "on"),
    [
        ("Mel spoke of garden in at least 4 messages on 4 days, often with fence: “My roof.”", "garden", True),
        ("Mel spoke of garden in at least 4 messages on 4 days, often with fence: “My roof.”", "fenc", False),
        ("用户在3天里至少有4条消息说到花园，常同时说到房子：“我的家。”", "花园", True),
        ("用户在3天里至少有4条消息说到花园，常同时说到房子：“我的家。”", "房子", False),
        ("Mel lives in a garden.", "garden", False),
    ],
)
def test_what_a_line_is_on(text: str, topic: str, on: bool) -> None:
    assert is_on(text, topic) is on
