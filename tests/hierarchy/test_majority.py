"""Label propagation by the majority of neighbours, unweighted, as CAM section 4.1 has it, beside the weighted rule."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cam import _clustered
from nscma_torch.hierarchy.level import Edit, Level, Propagation

MAJORITY = Propagation(weighted=False)
# Two triangles, and node 3 between them: one heavy edge to the first, two light ones to the second.
BETWEEN = {
    (0, 1): 0.9, (0, 2): 0.9, (1, 2): 0.9, (2, 3): 0.8, (3, 4): 0.3, (3, 5): 0.3, (4, 5): 0.9, (4, 6): 0.9, (5, 6): 0.9
}  # fmt: skip


def numbers_by_label(level: Level) -> set[frozenset[int]]:
    groups: dict[int, set[int]] = {}
    for label, row in zip(level.labels.tolist(), level.split.owner.tolist(), strict=True):
        groups.setdefault(label, set()).add(int(level.nodes[row]))
    return {frozenset(own) for own in groups.values()}


@pytest.mark.parametrize("seed", range(4))
def test_no_label_is_in_the_minority(seed: int) -> None:
    """The paper's rule at its end: the label of each node is the majority label of its neighbours N(v)."""
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(0, 30, (2, 90), generator=generator)
    weights = torch.rand(90, generator=generator).tolist()
    edges = {(min(a, b), max(a, b)): w for (a, b), w in zip(ends.T.tolist(), weights, strict=True) if a != b}
    level, frontier = Level.empty().edited(edit(range(30), edges), overlapping=True)
    settled = level.settled(frontier, MAJORITY)
    source, target = settled.split.persona_edge_index.tolist()
    labels = settled.labels.tolist()
    neighbours: dict[int, list[int]] = {}
    for a, b in zip(source, target, strict=True):
        neighbours.setdefault(a, []).append(labels[b])
    for persona, own in neighbours.items():
        counts = Counter(own)
        assert counts[labels[persona]] == max(counts.values())


def test_weights_and_majorities_differ() -> None:
    level, frontier = Level.empty().edited(edit(range(7), BETWEEN), overlapping=False)
    by_weight = level.settled(frontier, Propagation())
    assert numbers_by_label(by_weight) == {frozenset({0, 1, 2, 3}), frozenset({4, 5, 6})}
    majority = level.settled(frontier, MAJORITY)
    assert numbers_by_label(majority) == {frozenset({0, 1, 2}), frozenset({3, 4, 5, 6})}


def test_rounds_are_limited() -> None:
    path = {(i, i + 1): 0.5 for i in range(40)}
    level, frontier = Level.empty().edited(edit(range(41), path), overlapping=False)
    counts = [
        len(level.settled(frontier, Propagation(weighted=False, max_rounds=rounds)).labels.unique())
        for rounds in (0, 1, None)
    ]
    assert counts[0] == 41 > counts[1] > counts[2]


@pytest.mark.parametrize(
    ("keys", "clusters"),
    [
        ({}, {frozenset({0, 1, 2, 3}), frozenset({4, 5, 6})}),
        ({"propagation": "majority"}, {frozenset({0, 1, 2}), frozenset({3, 4, 5, 6})}),
        ({"propagation": "majority", "propagation_rounds": 1}, None),
    ],
)
def test_the_configuration_names_the_rule(keys: dict[str, Any], clusters: set[frozenset[int]] | None) -> None:
    settings = HierarchyConfig(overlapping=False, max_levels=1, **keys)
    change = edit(range(7), BETWEEN)
    level = _clustered(Level.empty(), change, change.networks(1), settings)
    if clusters is None:
        unsettled = Level.empty().edited(edit(range(7), BETWEEN), overlapping=False)
        assert torch.equal(
            level.labels, unsettled[0].settled(unsettled[1], Propagation(weighted=False, max_rounds=1)).labels
        )
    else:
        assert numbers_by_label(level) == clusters


def edit(nodes: range, edges: dict[tuple[int, int], float]) -> Edit:
    none = torch.empty(0, dtype=torch.int64)
    ends = torch.tensor(list(edges), dtype=torch.int64).T.contiguous()
    return Edit(torch.tensor(list(nodes)), none, ends, torch.tensor(list(edges.values())), none.reshape(2, 0))
