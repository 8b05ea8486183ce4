"""The [hierarchy] section: every value that it takes works, and a store outlives a change of it."""

from __future__ import annotations

from typing import Any

import pytest

from nscma_torch.core.errors import ConfigError
from tests.hierarchy.lively import (
    Open,
    Tasks,
    cam,
    said,
    text_of,
)


def test_without_levels_there_is_the_network_alone(open_lively: Open, assert_whole: Any) -> None:
    tasks = Tasks()
    memory = open_lively(hierarchy={"max_levels": 0}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(30)), user_id="ada")]
    memory.flush()
    memory.delete(ids[3], user_id="ada")
    memory.flush()
    assert_whole(memory)
    assert tasks.calls == [] and {node.level for node in memory.tree(user_id="ada")} == {0}
    assert cam(memory).levels[0].split.edge_index.shape[1] > 0


def test_levels_end_where_they_are_told(open_lively: Open, assert_whole: Any) -> None:
    for levels in (1, 2):
        memory = open_lively(f"{levels}.db", hierarchy={"max_levels": levels})
        list(memory.add_many(said(range(60)), user_id="ada"))
        memory.flush()
        assert_whole(memory)
        assert max(node.level for node in memory.tree(user_id="ada")) == levels


def test_disabled_there_is_none(open_lively: Open) -> None:
    tasks = Tasks()
    memory = open_lively(hierarchy={"enabled": False}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(20)), user_id="ada")]
    assert memory.flush() in (20, 21)  # the facts are one more
    memory.update(ids[0], text_of(99), user_id="ada")
    memory.delete(ids[1], user_id="ada")
    memory.flush()
    assert memory.tree(user_id="ada") == [] and tasks.calls == []
    assert memory.verify() == []


def test_disabled_a_restored_message_does_not_go_in(open_lively: Open) -> None:
    memory = open_lively(hierarchy={"enabled": False})
    ids = [a.id for a in memory.add_many(said(range(20)), user_id="ada")]
    memory.flush()
    memory.delete(ids[1], user_id="ada")
    memory.restore(ids[1], user_id="ada")
    memory.flush()
    assert memory.tree(user_id="ada") == []


def test_every_gamma_that_the_configuration_takes_works(open_lively: Open, assert_whole: Any) -> None:
    for gamma in (-1.0, -0.3, 0.0, 1.0):
        try:
            memory = open_lively(f"gamma {gamma}.db", hierarchy={"gamma": gamma, "neighbours": 30})
        except ConfigError:
            assert gamma < 0
            continue
        list(memory.add_many(said(range(20)), user_id="ada"))
        memory.add("完全不同的话题。", user_id="ada")
        memory.flush()
        assert_whole(memory)


@pytest.mark.parametrize(
    "hierarchy", [{"alpha": 0.0}, {"alpha": 1.0}, {"max_members": 3}, {"links": 1}, {"neighbours": 1}]
)
def test_extreme_settings(hierarchy: dict[str, Any], open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively(hierarchy=hierarchy)
    for first in (0, 30):
        list(memory.add_many(said(range(first, first + 12)), user_id="ada"))
        memory.flush()
        assert_whole(memory)


def test_changed_settings_work_on_from_what_is_there(open_lively: Open) -> None:
    """Another configuration may open the store: smaller clusters, fewer levels, no overlap."""
    memory = open_lively()
    list(memory.add_many(said(range(24)), user_id="ada"))
    memory.flush()
    for i, hierarchy in enumerate(({"max_members": 3}, {"max_levels": 1}, {"min_members": 4}, {"overlapping": False})):
        other = open_lively(hierarchy=hierarchy)
        ids = [a.id for a in other.add_many(said(range(100 * i + 100, 100 * i + 106)), user_id="ada")]
        other.delete(ids[0], user_id="ada")
        other.flush()
        assert other.verify() == []
        assert (other.stats().jobs_queued, other.stats().jobs_failed) == (0, 0)
        assert not any(node.stale for node in other.tree(user_id="ada"))


@pytest.mark.parametrize(("first", "then"), [(5, 2), (2, 5)])
def test_settings_may_change(first: int, then: int, open_lively: Open, assert_whole: Any) -> None:
    """A store goes on under other settings: what does not change keeps its shape, and nothing is left without text."""
    with open_lively(hierarchy={"min_members": first}) as memory:
        list(memory.add_many(said(range(60)), user_id="ada"))
        memory.flush()
    memory = open_lively(hierarchy={"min_members": then})
    there = memory.add("A message that goes at once.", user_id="ada")[0].id
    memory.delete(there, user_id="ada")
    memory.flush()
    assert memory.verify() == []
    assert not any(node.stale for node in memory.tree(user_id="ada"))
    list(memory.add_many(said(range(60, 70)), user_id="ada"))
    memory.flush()
    assert_whole(memory)
