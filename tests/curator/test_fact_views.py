"""Facts as a caller asks for them: those that hold at a time."""

from __future__ import annotations

import pytest

from nscma_torch.curator import fact_views
from tests.retrieval.fact_making import day, fact

BEFORE = fact("ben", "lives_in", "Rome", until=5)
FROM = fact("ben", "lives_in", "Oslo", since=5)
WITHIN = fact("ben", "works_at", "Acme", since=3, until=6)
ALWAYS = fact("ben", "likes", "tea")


@pytest.mark.parametrize(
    ("at", "held"),
    [(2, [BEFORE, ALWAYS]), (3, [BEFORE, WITHIN, ALWAYS]), (5, [FROM, WITHIN, ALWAYS]), (6, [FROM, ALWAYS])],
)
def test_what_holds_from_its_first_moment_and_no_longer_at_its_last(at: int, held: list[object]) -> None:
    assert fact_views.holding([BEFORE, FROM, WITHIN, ALWAYS], day(at)) == held
