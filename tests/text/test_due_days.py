"""The days that sentences name for something that falls due."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from nscma_torch.text.calendar.due_days import due_days

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)  # a Wednesday


def days(sentence: str, within: int = 30) -> list[str]:
    found = due_days(sentence, SAID, SAID.date(), SAID.date() + timedelta(days=within))
    return [f"{day:%d.%m.}" for day in found]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Dentist on Friday at nine", ["06.03."]),
        ("I have to hand in the form by the 14th", ["14.03."]),
        ("they've moved me to the 26th", ["26.03."]),
        ("remind me on thurs to call Ana", ["05.03."]),
        ("Press night is fixed for Sat 21st March and I sew till five", ["21.03."]),
        ("The rent contract runs out at the end of the month", ["31.03."]),
        ("The parcel comes in two weeks", ["18.03."]),
        ("My ticket is good for ten days", ["14.03."]),
        ("Flu jab tomorrow, staff entrance", ["05.03."]),
        ("Choir every Tuesday at seven", ["10.03.", "17.03.", "24.03.", "31.03."]),
        ("Band practice is every tues n thurs until 13 March", ["05.03.", "10.03.", "12.03.", "13.03."]),
        ("Every other Friday I swim", ["06.03.", "20.03.", "03.04."]),
        ("We meet on the first Thursday of every month", ["05.03.", "02.04."]),
        ("Rent is due on the first of each month", ["01.04."]),
        ("Mum's birthday is on 21 March", ["21.03."]),
        ("Farewell drinks on the last Friday of this month", ["27.03."]),
    ],
)  # fmt: skip
def test_the_days_to_come_are_found(sentence: str, expected: list[str]) -> None:
    assert days(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "I saw her on Monday",
        "We moved here on 2 February",
        "In March it always rains",
        "There's no market on the 14th",
        "If they strike on Friday I walk",
        "No more Mondays for me",
        "The cat sat on the pile",
        "In 2019 we were in Rome",
    ],
)
def test_what_is_past_or_denied_or_no_day_is_not_due(sentence: str) -> None:
    assert days(sentence) == []


def test_a_day_in_the_range_is_found_however_long_ago_it_was_told() -> None:
    first = date(2027, 3, 1)
    assert due_days("Mum's birthday is on 21 March", SAID, first, first + timedelta(days=30)) == [date(2027, 3, 21)]
    assert due_days("Choir every Tuesday", SAID, first, first + timedelta(days=6)) == [date(2027, 3, 2)]


def test_a_habit_with_an_end_stops_there() -> None:
    assert days("Every Monday until 16 March I have physio") == ["09.03.", "16.03."]
