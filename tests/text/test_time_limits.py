"""Time limits: the last day on which a statement holds."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from nscma_torch.text.calendar.time_limits import time_limit

SAID = datetime(2026, 2, 2, 10, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("sentence", "last"),
    [
        ("Until 30 April the gate on Mill Lane is closed.", date(2026, 4, 30)),
        ("no sugar for me till easter sunday", date(2026, 4, 5)),
        ("Nadia covers the desk up to and including 13 March.", date(2026, 3, 13)),
        ("The hall is ours from 1 June to 12 July.", date(2026, 7, 12)),
        ("We have a rental van for ten days from 3 March.", date(2026, 3, 13)),
        ("Olga sleeps in the study for the next two weeks.", date(2026, 2, 16)),
        ("I'm on half pay for a month.", date(2026, 3, 2)),
        ("for march only the pool opens at six", date(2026, 3, 31)),
        ("It's only for this month.", date(2026, 2, 28)),
        ("The price of 12 euros is for February only.", date(2026, 2, 28)),
        ("Ravi teaches me every Tuesday in April.", date(2026, 4, 30)),
        ("This week Sam drives.", date(2026, 2, 8)),
    ],
)
def test_the_last_day_of_a_limit(sentence: str, last: date) -> None:
    assert time_limit(sentence, SAID) == last


@pytest.mark.parametrize(
    "sentence",
    [
        "I have lived in Ghent for ten years.",
        "We stayed in Rome for two weeks.",
        "I move to Rome in April.",
        "I work from Monday to Friday.",
        "The shop is open until six.",
        "The concert is on 3 March.",
        "Only Tom was late in January, I think we all know why.",
    ],
)
def test_no_limit(sentence: str) -> None:
    assert time_limit(sentence, SAID) is None
