"""Facts as a caller asks for them: those that hold at a time."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nscma_torch.core.records import Scope
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.timeline import fact_views
from tests.helpers.fact_making import day, fact

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


def test_the_sides_of_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a relation of many objects those on one object, with the opposite relation; of one object all of a subject."""
    told = [("likes", "tea"), ("dislikes", "Tea"), ("likes", "jazz"), ("lives_in", "Rome"), ("lives_in", "Oslo")]
    disputed = [fact("ben", relation, value, status="disputed") for relation, value in told]
    monkeypatch.setattr(fact_views, "selected", lambda *_, statuses: disputed if statuses == ("disputed",) else [])
    likes, dislikes, jazz, *homes = disputed
    found = fact_views.contradictions(cast("Any", None), Scope("u"), load_relations())
    assert found == [(likes, dislikes), (jazz,), tuple(homes)]
