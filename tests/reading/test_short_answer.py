"""Short answers: the newest of what is as good, what is of the time asked for, days by when they were said, lists,
counts of their members; confidence by whom the question names.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from nscma_torch.core.config import ReadingConfig
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS
from nscma_torch.reading.short_answer import said_by_others, short_answer, tells_of, tells_of_years_ago

OLD = InputPassage("the rent is 900", "Ana", datetime(2025, 1, 8, tzinfo=UTC))
NEW = InputPassage("they want 950 since yesterday", "Ana", datetime(2025, 6, 4, tzinfo=UTC))
ASKED = "What is the rent?"
SETTINGS = ReadingConfig(member=0.3, as_good=0.2)


def span(passages: list[InputPassage], passage: int, text: str, share: float) -> ReadSpan:
    start = passages[passage].text.index(text)
    return ReadSpan(text, passage, start, start + len(text), True, share)


def read(spans: list[ReadSpan], kind: str = "span", evidence: tuple[float, ...] = (0.9, 0.8)) -> ReadResult:
    kinds = tuple(0.9 if own == kind else 0.02 for own in KINDS)
    return ReadResult(tuple(spans), 0.7, evidence, kinds)


def test_the_likeliest_span() -> None:
    passages = [OLD, NEW]
    found = short_answer(
        ASKED, read([span(passages, 1, "950", 0.5), span(passages, 0, "900", 0.2)]), passages, SETTINGS
    )
    assert found is not None and (found.text, found.passage) == ("950", 1)


def test_the_newest_of_what_answers_about_equally_well() -> None:
    passages = [OLD, NEW]
    both = [span(passages, 0, "900", 0.5), span(passages, 1, "950", 0.2)]
    found = short_answer(ASKED, read(both), passages, SETTINGS)
    assert found is not None and (found.text, found.passage) == ("950", 1)
    worse = [both[0], span(passages, 1, "950", 0.05)]
    found = short_answer(ASKED, read(worse), passages, SETTINGS)
    assert found is not None and found.text == "900"
    found = short_answer("What was the rent before?", read(both), passages, SETTINGS)
    assert found is not None and found.text == "900", "of what was before"
    older = [span(passages, 1, "950", 0.5), span(passages, 0, "900", 0.4)]
    found = short_answer(ASKED, read(older), passages, SETTINGS)
    assert found is not None and found.text == "950"


def test_yes_and_no() -> None:
    passages = [OLD, NEW]
    one = [span(passages, 0, "900", 0.5)]
    for kind in ("yes", "no"):
        found = short_answer(ASKED, read(one, kind=kind, evidence=(0.3, 0.7)), passages, SETTINGS)
        assert found is not None and (found.text, found.passage) == (kind, 1)


def test_a_day_is_counted_from_when_it_was_said() -> None:
    passages = [OLD, NEW]
    found = short_answer(ASKED, read([span(passages, 1, "yesterday", 0.9)], kind="when"), passages, SETTINGS)
    assert found is not None and found.text == "3 June 2025"


def test_words_that_mean_no_day_stand_with_the_day_on_which_they_were_said() -> None:
    passages = [replace(OLD, text="it began when we moved")]
    found = short_answer(ASKED, read([span(passages, 0, "when we moved", 0.9)], kind="when"), passages, SETTINGS)
    assert found is not None and found.text == "when we moved (said on 8 January 2025)"
    undated = [replace(passages[0], said_at=None)]
    found = short_answer(ASKED, read([span(undated, 0, "when we moved", 0.9)], kind="when"), undated, SETTINGS)
    assert found is not None and found.text == "when we moved"


@pytest.mark.parametrize(
    ("first", "after", "answer"),
    [
        (datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 2, 1, tzinfo=UTC), "900"),  # it was said then
        (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC), "900"),  # it speaks of it
        (datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 7, 1, tzinfo=UTC), "950"),
        (datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC), "950"),  # nothing is of that time
    ],
)
def test_what_is_of_the_time_that_the_question_names(first: datetime, after: datetime, answer: str) -> None:
    passages = [replace(OLD, text="the rent is 900, as in March 2024"), NEW]
    spans = [span(passages, 1, "950", 0.8), span(passages, 0, "900", 0.1)]
    found = short_answer("What was the rent then?", read(spans), passages, SETTINGS, [(first, after)])
    assert found is not None and found.text == answer


def test_a_list_has_each_member_once_and_a_count_counts_them() -> None:
    passages = [InputPassage("we had soup, then fish and soup again", "Ana"), NEW]
    spans = [
        span(passages, 0, "fish", 0.4),
        span(passages, 0, "soup", 0.3),
        span(passages, 0, "soup again", 0.2),
        span(passages, 1, "950", 0.05),
    ]
    found = short_answer(ASKED, read(spans, kind="list"), passages, SETTINGS)
    assert found is not None and found.text == "soup, fish"
    found = short_answer(ASKED, read(spans, kind="count"), passages, SETTINGS)
    assert found is not None and found.text == "2"


def test_what_others_said_than_those_whom_the_question_names() -> None:
    passages = [OLD, replace(NEW, speaker="Bo")]
    both = read([span(passages, 1, "950", 0.6), span(passages, 0, "900", 0.2)])
    assert said_by_others(both, passages, ["Ana"]) == pytest.approx(0.75)
    assert said_by_others(both, passages, ["Bo"]) == pytest.approx(0.25)
    assert said_by_others(both, passages, ["Ana", "Bo"]) == said_by_others(both, passages, []) == 0.0
    assert said_by_others(read([]), passages, ["Ana"]) == 0.0


def test_nothing_read_is_no_answer() -> None:
    assert short_answer(ASKED, ReadResult((), 0.0, (), ()), [], SETTINGS) is None


@pytest.mark.parametrize(
    ("text", "said", "tells"),
    [
        ("Gym today was great.", "2026-03-03T20:00+00:00", True),
        ("Met Karl at the pool.", "2026-03-03T20:00+00:00", True),
        ("I have a meeting with Karl tomorrow.", "2026-03-02T09:00+00:00", True),
        ("I have a meeting with Karl tomorrow.", "2026-03-03T09:00+00:00", False),
        ("My favourite colour is blue.", "2026-03-03T09:00+00:00", False),
        ("Was the gym open?", "2026-03-03T09:00+00:00", False),
        ("Met Karl at the pool.", "2026-03-04T02:00+09:00", True),
        ("Met Karl at the pool.", "2026-03-03T23:00-08:00", False),
    ],
)
def test_what_tells_of_a_day(text: str, said: str, *, tells: bool) -> None:
    third = datetime(2026, 3, 3, tzinfo=UTC)
    assert tells_of(InputPassage(text, "Ana", datetime.fromisoformat(said)), [(third, third + timedelta(1))]) == tells


def test_a_day_is_that_of_the_speakers_zone() -> None:
    early = datetime(2026, 3, 4, 8, tzinfo=timezone(timedelta(hours=11)))  # still the third in UTC
    fourth = datetime(2026, 3, 4, tzinfo=early.tzinfo)
    assert tells_of(InputPassage("Gym today was great.", "Ana", early), [(fourth, fourth + timedelta(1))])


@pytest.mark.parametrize(
    ("text", "found", "answer"),
    [
        ("My doctor is called Weber. Scratch that, Huber.", "Weber", "Huber"),
        ("The code of the shed is 4471. Correction: 4417.", "4471", "4417"),
        ("My plumber is called Novak, I mean Nowak. He is nice.", "Novak", "Nowak"),
        ("My doctor is not called Weber, I mean Huber.", "Weber", "Weber"),
        ("My doctor is called Weber. Sorry, Ana.", "Weber", "Weber"),
        ("Kovac wants 340 euros for the boiler, no wait, 360.", "340 euros", "360"),
        ("The ticket was £48, sorry, 52, all in.", "£48", "52"),
        ("Kovac wants 340 euros for 2 boilers, no wait, 3.", "340 euros", "340 euros"),
        ("It is 340 euros. Sorry, 3 people came in.", "340 euros", "340 euros"),
        ("I saw Weber in May. I liked it. Scratch that, Huber.", "Weber", "Weber"),
    ],
)
def test_a_repaired_span_answers_as_repaired(text: str, found: str, answer: str) -> None:
    passages = [InputPassage(text, "user", datetime(2026, 1, 8, tzinfo=UTC))]
    result = short_answer("Who is it?", read([span(passages, 0, found, 0.9)], evidence=(0.9,)), passages, SETTINGS)
    assert result is not None and result.text == answer


@pytest.mark.parametrize(
    ("text", "value", "past"),
    [
        ("Back in 1999 I taught at Oakfield.", "Oakfield", True),
        ("Ten years ago I drove a Punto.", "Punto", True),
        ("Last week I bought a Volvo.", "Volvo", False),
        ("I have worked at Volvo since 2012.", "Volvo", False),
        ("Two years ago we lived in Bruges. I live in Ghent.", "Ghent", False),
    ],
)
def test_a_sentence_that_looks_back_at_an_earlier_year_is_of_years_ago(text: str, value: str, past: bool) -> None:
    assert tells_of_years_ago(text, value, datetime(2025, 6, 4, tzinfo=UTC)) == past
