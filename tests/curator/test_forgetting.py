"""Forgetting: the curve, what it archives, and the way back."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.config import Curator as CuratorSection
from nscma_torch.curator.forgetting import fade, retention, strength
from nscma_torch.curator.promotion import importance
from nscma_torch.records import Scope, Statement
from nscma_torch.storage import episodes
from tests.curator.conftest import Told
from tests.storage.telling import day

SETTINGS = CuratorSection(initial_strength=180.0)
AGES = st.floats(0, 3650)
STRENGTHS = st.floats(10, 5000)


@settings(derandomize=True)
@given(AGES, STRENGTHS)
def test_retention_is_the_curve_of_the_seed(age: float, days: float) -> None:
    assert retention(age, days) == math.exp(-age / days)
    assert 0 <= retention(age, days) <= 1


@settings(derandomize=True)
@given(AGES, st.floats(0.1, 3650), STRENGTHS)
def test_retention_falls_with_time(age: float, more: float, days: float) -> None:
    assert retention(age + more, days) < retention(age, days)


@settings(derandomize=True)
@given(st.floats(0.1, 3650), STRENGTHS, st.floats(0.1, 1000))
def test_retention_rises_with_strength(age: float, days: float, more: float) -> None:
    assert retention(age, days + more) > retention(age, days)


@settings(derandomize=True)
@given(st.integers(0, 500))
def test_strength_grows_with_each_recall(times: int) -> None:
    assert strength(times + 1, SETTINGS) > strength(times, SETTINGS)


@settings(derandomize=True)
@given(st.floats(0, 1), st.integers(0, 30), st.integers(0, 30), st.floats(0, 1))
def test_recalls_at_once_or_one_by_one_come_to_the_same(before: float, few: int, more: int, share: float) -> None:
    once = importance(before, few + more, share)
    assert abs(once - importance(importance(before, few, share), more, share)) < 1e-9
    assert before - 1e-9 <= once <= 1


def faded(told: Told, at: int, settings: CuratorSection = SETTINGS) -> tuple[int, int]:
    with told.memory.components.database.write() as connection:
        return fade(connection, Scope("ada"), day(at), settings)


def lives(place: str) -> Statement:
    return Statement("Ben", "lives_in", place)


def test_what_fades_leaves_search_and_comes_back(told: Told) -> None:
    message = told.tell(lives("Rome"), at=1)
    before = told.memory.digest()
    assert faded(told, 100) == (0, 0)
    assert faded(told, 900) == (1, 1)
    assert faded(told, 900) == (0, 0)
    assert told.held() == []
    assert told.memory.search("message", user_id="ada", now=day(900)) == []
    (fact,) = told.facts(statuses=("archived",))
    assert "retention" in fact.reason
    assert (fact.valid_from, fact.valid_to) == (day(1), None)
    assert told.memory.get(message, user_id="ada") is not None
    of_fact, of_message = told.log()[-2:]
    assert (of_fact.action, of_message.action) == ("ARCHIVE", "ARCHIVE")
    told.undo(of_message)
    assert len(told.memory.search("message", user_id="ada", now=day(900))) == 1
    told.undo(of_fact)
    assert told.held() == ["Rome"]
    assert told.memory.digest() == before


def test_a_forgotten_fact_stays_so_until_it_is_told_again(told: Told) -> None:
    told.tell(lives("Rome"), at=1)
    faded(told, 900)
    told.tell(Statement("Ben", "likes", "tea"), at=901)
    assert told.held() == ["tea"]
    told.tell(lives("Rome"), at=905)
    assert sorted(told.held()) == ["Rome", "tea"]
    assert next(f for f in told.facts() if f.object == "Rome").strength == 2


def test_a_forgotten_fact_ends_like_any_other(told: Told) -> None:
    told.tell(lives("Rome"), at=1)
    faded(told, 900)
    told.tell(lives("Oslo"), at=950)
    rome, oslo = told.facts()
    assert (rome.valid_to, rome.status, oslo.status) == (day(950), "archived", "active")


def test_recalled_and_repeated_things_stay(told: Told) -> None:
    seen = told.tell(lives("Rome"), at=1)
    told.tell(Statement("Ben", "likes", "tea"), at=1)
    told.tell(Statement("Ben", "likes", "tea"), at=2)
    with told.memory.components.database.write() as connection:
        seq, _ = episodes.require(connection, "ada", seen)
        episodes.set_columns(connection, seq, accesses=3)
    assert faded(told, 900) == (0, 2)
    assert sorted(told.held()) == ["Rome", "tea"]


def test_a_floor_of_zero_forgets_nothing(told: Told) -> None:
    told.tell(lives("Rome"), at=1)
    assert faded(told, 90_000, SETTINGS.model_copy(update={"floor": 0.0})) == (0, 0)
