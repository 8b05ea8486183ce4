"""Since when and until when a statement holds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.reading.statement_times import times_of

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
    assert times_of(text, [], SAID, past=past) == times


def test_a_date_that_is_an_object_is_no_time() -> None:
    assert times_of("The audit was due on 3 May 2026.", ["3 May 2026"], SAID, past=False) == (None, None)
