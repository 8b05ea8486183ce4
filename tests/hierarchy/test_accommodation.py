"""Accommodation: clusters end connected and of bounded size, whatever they were, and always the same way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cluster_nodes import clusters_of
from nscma_torch.hierarchy.level import Level
from nscma_torch.hierarchy.split_clusters import accommodated


def whole(level: Level) -> Level:
    """The level with one cluster of everything."""
    return replace(level, labels=torch.zeros_like(level.labels))


@pytest.fixture
def clique(edit_of: Any) -> Any:
    def make(n: int, *, lightest: float = 0.5) -> Level:
        edges = {(a, b): lightest + ((a * 7 + b * 3) % 11) / 40 for a in range(n) for b in range(a + 1, n)}
        level, frontier = Level.empty().edited(edit_of(range(n), [], edges), overlapping=True)
        return level.settled(frontier)

    return make


def sizes(level: Level) -> list[int]:
    return sorted(clusters_of(level).sizes.tolist())


@pytest.mark.parametrize("most", [3, 4, 7, 24])
@pytest.mark.parametrize("n", [2, 5, 25, 60])
def test_a_clique_is_split(n: int, most: int, clique: Any, level_problems: Any) -> None:
    level = clique(n)
    assert sizes(level) == [n]
    split = accommodated(level, most)
    assert level_problems(split, HierarchyConfig(max_members=most)) == []
    assert sum(sizes(split)) == n, "in a clique every node has one persona"
    assert bool(split.cut.any()) == (n > most)
    assert torch.equal(split.weight, level.weight) and torch.equal(split.split.edge_index, level.split.edge_index)


def test_a_small_connected_cluster_is_left_alone(clique: Any) -> None:
    level = clique(9)
    assert accommodated(level, 9) is level or torch.equal(accommodated(level, 9).labels, level.labels)


@pytest.mark.parametrize("seed", range(5))
def test_any_labels_become_connected_and_bounded(seed: int, twin: Any, level_problems: Any) -> None:
    settings = HierarchyConfig(max_members=5)
    held = twin(seed, settings)
    for _ in range(12):
        held.level = held.level.edited(held.random_edit(), overlapping=True)[0]
    for start in (whole(held.level), held.level.settled(torch.arange(len(held.level.labels)))):
        level = accommodated(start, settings.max_members)
        found = [text for text in level_problems(level, settings) if start is not whole or "heavier" not in text]
        assert [text for text in found if "heavier" not in text] == []
        assert torch.equal(accommodated(level, settings.max_members).labels, level.labels), "once is enough"


def test_the_part_with_the_smallest_persona_keeps_the_label(edit_of: Any) -> None:
    pairs = {(0, 5): 0.5, (1, 4): 0.5, (2, 3): 0.5}
    level = Level.empty().edited(edit_of(range(6), [], pairs), overlapping=True)[0]
    together = replace(level, labels=torch.full_like(level.labels, 3))
    apart = accommodated(together, 4)
    label = dict(zip(apart.nodes[apart.split.owner].tolist(), apart.labels.tolist(), strict=True))
    assert label[0] == label[5] == 3
    assert len(set(label.values())) == 3
    assert min(label[1], label[2]) >= level.next_id, "the others get new ones"
    assert apart.next_id > max(label.values())


def test_light_edges_are_cut_before_heavy_ones(edit_of: Any) -> None:
    """Two cliques of five, joined by light edges, become two clusters again."""
    heavy = {(a + at, b + at): 0.9 for at in (0, 5) for a in range(5) for b in range(a + 1, 5)}
    light = {(a, b): 0.2 for a in range(5) for b in range(5, 10)}
    level = Level.empty().edited(edit_of(range(10), [], heavy | light), overlapping=False)[0]
    split = accommodated(whole(level), 8)
    label = split.labels.tolist()
    assert len({*label[:4]}) == 1 and len({*label[6:]}) == 1, label
    assert label[0] != label[9]
    assert bool((split.weight[split.cut] < 0.5).any())


def test_a_split_is_not_undone_by_the_next_propagation(clique: Any) -> None:
    level = accommodated(clique(30), 8)
    again = accommodated(level.settled(torch.arange(len(level.labels))), 8)
    assert torch.equal(again.labels, level.labels)


def test_a_cluster_that_was_just_split_has_room(clique: Any) -> None:
    assert all(size < 24 for size in sizes(accommodated(clique(25), 24)))


def test_nodes_are_counted_and_not_personas(edit_of: Any) -> None:
    """A star's middle has a persona for every leaf; the cluster has few nodes all the same."""
    star = {(0, leaf): 0.5 for leaf in range(1, 6)}
    level = Level.empty().edited(edit_of(range(6), [], star), overlapping=True)[0]
    assert len(level.labels) == 10
    pairs = accommodated(whole(level), 6)
    assert sizes(pairs) == [2] * 5, "the personas of one node do not hold a cluster together"


def test_nothing_is_nothing() -> None:
    assert len(accommodated(Level.empty(), 4).labels) == 0
