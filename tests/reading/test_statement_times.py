"""Since when and until when a statement holds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import UNKNOWN_BEGIN
from nscma_torch.reading.resolved_dates import with_day
from nscma_torch.reading.statement_times import times_of, with_event

SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)
YEAR = datetime(2019, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "past", "times"),
    [
        ("I have been vegan since 2019.", False, (YEAR, None)),
        ("I lived in Tartu until 2019.", True, (None, YEAR)),
        ("I worked at Bosch in 2019.", True, (None, None)),
        ("I was at Bosch since 2019.", True, (YEAR, None)),
        ("I will live in Graz from 2031.", False, (None, None)),
        ("I live in Graz until 2031.", False, (None, None)),
    ],
)
def test_dates_say_since_when(text: str, past: bool, times: tuple[datetime | None, datetime | None]) -> None:
    assert times_of(text, [], SAID, past=past)[:2] == times


def test_a_date_that_is_an_object_is_no_time() -> None:
    assert times_of("The audit was due on 3 May 2026.", ["3 May 2026"], SAID, past=False)[:2] == (None, None)


BEGAN = datetime(2015, 1, 1, tzinfo=UTC)
NEXT_YEAR = datetime(2016, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "begins", "begun_by"),
    [
        ("In 2015 I moved to Rome.", BEGAN, NEXT_YEAR),
        ("I have lived in Rome since 2015.", BEGAN, None),
        ("I live in Rome, I moved here in 2015.", BEGAN, None),
        ("I moved to Rome last week.", datetime(2026, 5, 4, tzinfo=UTC), None),
        ("I moved to Rome this year.", datetime(2026, 1, 1, tzinfo=UTC), None),
        ("我2015年搬到了罗马", BEGAN, NEXT_YEAR),
        ("我从2015年起住在罗马", BEGAN, None),
        ("I moved to Rome when I was 20.", UNKNOWN_BEGIN, UNKNOWN_BEGIN),
        ("As a child I lived in Rome.", UNKNOWN_BEGIN, UNKNOWN_BEGIN),
        ("I moved to Rome in my early twenties.", UNKNOWN_BEGIN, UNKNOWN_BEGIN),
        ("We got married ages ago.", UNKNOWN_BEGIN, UNKNOWN_BEGIN),
        ("我小时候住在罗马", UNKNOWN_BEGIN, UNKNOWN_BEGIN),
        ("I moved to Rome last Ramadan.", UNKNOWN_BEGIN, None),
        ("I moved to Rome the day the Wall fell.", UNKNOWN_BEGIN, None),
        ("I moved to Rome the summer we met.", UNKNOWN_BEGIN, None),
        ("I moved to Rome at the turn of the millennium.", UNKNOWN_BEGIN, None),
        ("I moved to Rome at the end of the war.", UNKNOWN_BEGIN, None),
        ("I started at Nokia after a long search.", UNKNOWN_BEGIN, None),
        ("I moved to Rome (2015).", UNKNOWN_BEGIN, None),
        ("I've lived in Rome for ten years.", UNKNOWN_BEGIN, None),
        ("I have been vegan since I was 15.", UNKNOWN_BEGIN, None),
        ("I moved to Rome.", None, None),
        ("I live in Rome.", None, None),
        ("I work at Nokia when I'm not at school.", None, None),
        ("I bought a car for 1999 euros.", None, None),
        ("I take aspirin after lunch.", None, None),
    ],
)
def test_a_change_of_long_ago_has_a_latest_begin(text: str, begins: datetime | None, begun_by: datetime | None) -> None:
    times = times_of(text, [], SAID, past=False)
    assert (times.begins, times.begun_by) == (begins, begun_by)


@pytest.mark.parametrize(
    ("text", "said", "day"),
    [
        ("I moved to Porto yesterday.", "2026-03-05T00:30:00+09:00", "2026-03-04"),
        ("I moved to Porto today.", "2026-03-04T20:30:00-08:00", "2026-03-04"),
        ("I moved to Porto on Friday.", "2026-03-07T08:00:00+11:00", "2026-03-06"),
    ],
)
def test_days_are_those_of_the_speakers_zone(text: str, said: str, day: str) -> None:
    begins = times_of(text, [], datetime.fromisoformat(said), past=False).begins
    assert begins is not None and begins.isoformat() == f"{day}T00:00:00{said[-6:]}"


@pytest.mark.parametrize(
    ("phrase", "text", "shown"),
    [
        ("Tuesday", "My dentist appointment is on Tuesday.", "Tuesday [19 May 2026]"),
        ("tomorrow", "My flight leaves tomorrow at 3.", "tomorrow [15 May 2026]"),
        ("last Friday", "The exam was last Friday.", "last Friday [8 May 2026]"),
        ("3 June", "My flight leaves on 3 June.", "3 June"),
        ("soon", "My flight leaves soon, not on Tuesday.", "soon"),
    ],
)
def test_a_relative_day_is_shown_with_the_day_that_it_means(phrase: str, text: str, shown: str) -> None:
    assert with_day(phrase, text, SAID) == shown


def test_the_first_year_of_the_calendar_is_no_time_in_any_zone() -> None:
    east = datetime.fromisoformat("2026-03-05T00:30:00+09:00")
    assert times_of("I moved to Rome on 0001-01-01.", [], east, past=False) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "words", "whole"),
    [
        ("I moved the day the Wall fell, alone.", "the day", "the day the Wall fell"),
        ("I moved the summer we met.", "the summer", "the summer we met"),
        ("I moved the year before.", "the year", "the year"),
        ("I moved in May.", "in May", "in May"),
    ],
)
def test_a_time_is_told_with_its_event(text: str, words: str, whole: str) -> None:
    start = text.index(words)
    assert with_event(text, start, start + len(words)) == whole
