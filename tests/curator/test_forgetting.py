"""Forgetting: the curve, what it archives, and the way back."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Scope, Statement
from nscma_torch.curator.forgetting import fade, limit, retained, retained_fact, retention, strength
from nscma_torch.curator.promotion import importance
from nscma_torch.episodic.log import episodes
from tests.helpers.telling import day
from tests.helpers.told import Told

SETTINGS = CuratorConfig(initial_strength=180.0)
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


def faded(told: Told, at: int, settings: CuratorConfig = SETTINGS) -> tuple[int, int]:
    with told.memory.components.database.write(ALL_USERS) as connection:
        return fade(connection, Scope("ada"), day(at), settings)


def lives(place: str) -> Statement:
    return Statement("Ben", "lives_in", place)


def test_each_fact_has_a_number_of_its_own_where_chance_decides(told: Told) -> None:
    section = SETTINGS.model_copy(update={"forgetting": "chance"})
    for thing in ("tea", "rice", "figs", "kale", "rye", "oats", "plums", "leeks"):
        told.tell(Statement("Ben", "likes", thing), at=1)
    age = 1 + 120
    kept = sorted(fact.object for fact in told.facts() if math.exp(-120 / 180) >= limit(fact.id, section))
    assert 0 < len(kept) < 8
    assert faded(told, age, section)[0] == 8 - len(kept)
    assert sorted(told.held()) == kept and faded(told, age, section) == (0, 0)


def test_a_forgotten_fact_stays_so_until_it_is_told_again(told: Told) -> None:
    told.tell(lives("Rome"), at=1)
    faded(told, 900)
    told.tell(Statement("Ben", "likes", "tea"), at=901)
    assert told.held() == ["tea"]
    told.tell(lives("Rome"), at=905)
    assert sorted(told.held()) == ["Rome", "tea"]
    assert next(f for f in told.facts() if f.object == "Rome").strength == 2


def test_retention_and_strength_by_hand(told: Told) -> None:
    section = CuratorConfig(initial_strength=100.0, gain=0.5)
    assert [strength(times, section) for times in (0, 1, 4)] == [100.0, 150.0, 300.0]
    assert retention(-5, 100) == retention(0, 100) == 1
    key = told.tell(lives("Rome"), at=1)
    told.tell(lives("Rome"), at=11)
    (fact,) = told.facts()
    with told.memory.components.database.write(ALL_USERS) as connection:
        seq, _ = episodes.require(connection, "ada", key)
        episodes.set_columns(connection, seq, accesses=3)
        told_by = [episodes.require(connection, "ada", one)[1] for one in fact.episode_ids]
    assert retained(told_by[0], day(51), section) == pytest.approx(math.exp(-50 / 250))
    assert retained(told_by[1], day(51), section) == pytest.approx(math.exp(-40 / 100))
    assert retained_fact(fact, told_by, day(51), section) == pytest.approx(math.exp(-40 / 300))
    later = replace(fact, valid_from=day(31))
    assert retained_fact(later, told_by, day(51), section) == pytest.approx(math.exp(-20 / 300))
    assert retained_fact(replace(fact, valid_from=None), told_by[:1], day(51), section) == pytest.approx(
        math.exp(-50 / 300)
    )


def test_forgetting_is_logged_and_heard_of_and_what_was_brought_back_stays(told: Told) -> None:
    def version() -> tuple[int, int]:
        with told.memory.components.database.read(ALL_USERS) as connection:
            return user_versions.version(connection, "ada")

    told.tell(lives("Rome"), at=1)
    told.hear(at=2, agent="cook")
    before = version()
    assert faded(told, 100) == (0, 0) and version() == before
    assert faded(told, 900) == (1, 2) and version()[0] > before[0] and version()[1] > before[1]
    of_fact, *of_messages = told.log()[1:]
    assert (of_fact.subject, of_fact.relation, of_fact.object, len(of_fact.fact_ids)) == ("ben", "lives_in", "Rome", 1)
    assert of_fact.reason == "not told or recalled for long: retention is below 0.05"
    assert {one.reason for one in of_messages} == {"not recalled for long: retention is below 0.05"}
    for decision in told.log()[:0:-1]:
        told.undo(decision)
    assert told.held() == ["Rome"] and faded(told, 901) == (0, 0)
    assert len(told.memory.search("message", user_id="ada", now=day(900))) == 2
