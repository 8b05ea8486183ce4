"""Clusters, their links and the edit that brings a network to them, against plain Python."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
import torch

from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cluster_nodes import clusters_of, difference, linked
from nscma_torch.hierarchy.level import Level
from nscma_torch.hierarchy.split_clusters import accommodated

SETTINGS = HierarchyConfig(max_members=8, min_members=2)


@pytest.fixture
def clustered(twin: Any) -> Any:
    """`clustered(seed)`: a level after random edits, with its clusters."""

    def make(seed: int) -> Level:
        held = twin(seed, SETTINGS)
        for _ in range(14):
            level, frontier = held.level.edited(held.random_edit(), overlapping=True)
            held.level = accommodated(level.settled(frontier), SETTINGS.max_members)
        return held.level

    return make


def expected_members(level: Level, least: int) -> dict[int, tuple[int, ...]]:
    found: dict[int, set[int]] = defaultdict(set)
    for label, row in zip(level.labels.tolist(), level.split.owner.tolist(), strict=True):
        found[label].add(int(level.nodes[row]))
    return {label: tuple(sorted(own)) for label, own in sorted(found.items()) if len(own) >= least}


def expected_links(level: Level, members: dict[int, tuple[int, ...]], edges: Any) -> dict[tuple[int, int], float]:
    """w(A, B) = L(A, B) / sqrt(L(A) L(B)), L summed over pairs of a node of A and a node of B."""
    total: dict[tuple[int, int], int] = defaultdict(int)
    for (i, j), weight in edges(level).items():
        units = round(weight * 2**16)
        for a in (label for label, own in members.items() if i in own):
            for b in (label for label, own in members.items() if j in own):
                total[a, b] += units
    volume: dict[int, int] = defaultdict(int)
    for (a, _), units in total.items():
        volume[a] += units
    return {(a, b): units / math.sqrt(volume[a] * volume[b]) for (a, b), units in total.items() if a != b}


@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_clusters_hold_each_node_once(seed: int, least: int, clustered: Any) -> None:
    level = clustered(seed)
    clusters = clusters_of(level, least)
    wanted = expected_members(level, least)
    assert clusters.members(level) == wanted
    assert clusters.labels.tolist() == list(wanted)
    assert clusters.sizes.tolist() == [len(own) for own in wanted.values()]
    pairs = list(zip(clusters.cluster.tolist(), clusters.row.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


def test_a_node_may_be_in_several_clusters(clustered: Any) -> None:
    belongs: dict[int, int] = defaultdict(int)
    for seed in range(4):
        for own in clusters_of(clustered(seed)).members(clustered(seed)).values():
            for number in own:
                belongs[number] += 1
    assert max(belongs.values()) > 1


def test_a_cluster_with_two_personas_of_a_node_counts_it_once(edit_of: Any) -> None:
    path = Level.empty().edited(edit_of([0, 1, 2], [], {(0, 1): 0.5, (1, 2): 0.5}), overlapping=True)[0]
    together = replace(path, labels=torch.zeros_like(path.labels))
    assert clusters_of(together).members(together) == {0: (0, 1, 2)}
    assert len(clusters_of(together, 4).labels) == 0


def test_no_nodes_have_no_clusters() -> None:
    clusters = clusters_of(Level.empty())
    assert clusters.members(Level.empty()) == {}
    edges, weight = linked(Level.empty(), clusters, 4)
    assert edges.shape == (2, 0) and weight.shape == (0,)


@pytest.mark.parametrize("k", [1, 3, 99])
@pytest.mark.parametrize("seed", range(4))
def test_each_cluster_draws_its_heaviest_links(seed: int, k: int, clustered: Any, edges: Any) -> None:
    level = clustered(seed)
    clusters = clusters_of(level, 2)
    wanted = expected_links(level, clusters.members(level), edges)
    ends, weight = linked(level, clusters, k)
    drawn = dict(zip(map(tuple, ends.T.tolist()), weight.tolist(), strict=True))
    assert len(drawn) == ends.shape[1], "no link twice"
    for (a, b), w in drawn.items():
        assert w == pytest.approx(wanted[a, b], rel=1e-6)
        assert 0 < w <= 1
    for label in clusters.labels.tolist():
        own = sorted((w for (a, _), w in wanted.items() if a == label), reverse=True)
        assert sorted((w for (a, _), w in drawn.items() if a == label), reverse=True) == pytest.approx(
            own[:k], rel=1e-6
        )


def test_links_of_very_light_edges_are_numbers_in_range(edit_of: Any) -> None:
    """The weights of upper networks are shares of shares: they may become very small."""
    edges = {(0, 1): 1e-6, (1, 2): 1e-6, (2, 3): 1e-6}
    level = Level.empty().edited(edit_of(range(4), [], edges), overlapping=False)[0]
    level = replace(level, labels=torch.tensor([0, 0, 2, 2]))
    ends, weight = linked(level, clusters_of(level), 4)
    assert bool(((weight > 0) & (weight <= 1)).all()), weight
    assert {tuple(pair) for pair in ends.T.tolist()} == {(0, 2), (2, 0)}


@pytest.mark.parametrize("seed", range(6))
def test_the_difference_leads_to_the_network_wanted(seed: int, twin: Any, edges: Any) -> None:
    rng = random.Random(seed)
    held = twin(seed, SETTINGS)
    upper = Level.empty()
    for _ in range(10):
        held.random_edit()
        ends = [edge for edge in held.edges for _ in range(rng.choice((1, 1, 2)))]  # a link drawn from both sides
        drawn = [edge if rng.random() < 0.5 else edge[::-1] for edge in ends]
        weight = torch.tensor([held.edges[edge] for edge in ends], dtype=torch.float32)
        pairs = torch.tensor(drawn, dtype=torch.int64).reshape(-1, 2).T.contiguous()
        numbers = torch.tensor(sorted(held.numbers), dtype=torch.int64)
        edit = difference(upper, numbers, pairs, weight)
        upper = upper.edited(edit, overlapping=True)[0]
        assert upper.nodes.tolist() == sorted(held.numbers)
        assert edges(upper) == held.both_ways()
        assert not difference(upper, numbers, pairs, weight).networks(1).any(), "there, nothing is left to do"


def test_the_heavier_of_two_drawn_links_counts(edit_of: Any, edges: Any) -> None:
    pairs, weight = torch.tensor([[1, 2], [2, 1]]), torch.tensor([0.25, 0.5])
    edit = difference(Level.empty(), torch.tensor([1, 2]), pairs, weight)
    assert edges(Level.empty().edited(edit, overlapping=True)[0]) == {(1, 2): 0.5, (2, 1): 0.5}
