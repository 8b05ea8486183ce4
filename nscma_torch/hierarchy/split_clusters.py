"""Accommodation (CAM section 2): split clusters that have become disconnected or too large.

A split cuts edges in the persona network: they remain edges, but no longer hold a cluster together, so the next label
propagation doesn't undo the split. Legend: P is the number of personas, E of slots.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from nscma_torch.hierarchy.level import NUMBER_BITS, Level, Propagation


def accommodated(
    level: Level, max_members: int, rule: Propagation = Propagation(), networks: Tensor | None = None
) -> Level:
    """Return the level with connected clusters of at most `max_members` nodes in the networks chosen by [G] bool.

    The part with the smallest persona id keeps the cluster's label and the others get new labels, so the result doesn't
    depend on any order. Label propagation runs again around each split.
    """
    chosen = torch.ones_like(level.next_ids, dtype=torch.bool) if networks is None else networks
    while True:
        level = _connected(level, chosen)
        cut = _cuts(level, max_members, chosen)
        if not bool(cut.any()):
            return level
        ends = torch.unique(level.split.persona_edge_index[:, cut])
        level = _connected(replace(level, cut=level.cut | cut), chosen).settled(ends, rule)


def _connected(level: Level, chosen: Tensor) -> Level:
    """Split every cluster into parts that are connected by uncut edges."""
    source, target = level.split.persona_edge_index
    holding = ~level.cut & (level.labels[source] == level.labels[target])
    root = _components(source[holding], target[holding], len(level.labels))
    keeper = _smallest_by(level.labels, root)
    apart = ((root != keeper) & chosen[level.labels >> NUMBER_BITS]).nonzero().flatten()
    if not len(apart):
        return level
    roots, part = torch.unique(root[apart], return_inverse=True)
    new, level = level.numbered(level.split.ids[roots] >> NUMBER_BITS)
    labels = level.labels.clone()
    labels[apart] = new[part]
    return replace(level, labels=labels)


def _components(source: Tensor, target: Tensor, n: int) -> Tensor:
    """Return, for each of n nodes, the smallest member of its connected component [n]; edges are given in both
    directions.
    """
    root = torch.arange(n, device=source.device)
    while True:
        lower = root.clone().scatter_reduce_(0, source, root[target], "amin")
        lower = lower[lower]
        if torch.equal(lower, root):
            return root
        root = lower


def _smallest_by(groups: Tensor, values: Tensor) -> Tensor:
    """Return, for each position, the smallest value in its group [P]."""
    _, place = torch.unique(groups, return_inverse=True)
    least = values.new_full((int(place.max()) + 1 if len(place) else 0,), torch.iinfo(values.dtype).max)
    return least.scatter_reduce(0, place, values, "amin")[place]


def _cuts(level: Level, max_members: int, chosen: Tensor) -> Tensor:
    """Return a mask [E] bool of the edges to cut so that no cluster has too many nodes."""
    labels, place = torch.unique(level.labels, return_inverse=True)
    n = max(len(level.nodes), 1)
    nodes = torch.unique(place * n + level.split.owner) // n
    large = (torch.bincount(nodes, minlength=len(labels)) > max_members) & chosen[labels >> NUMBER_BITS]
    source, target = level.split.persona_edge_index
    within = ~level.cut & large[place[source]] & (place[source] == place[target]) & (source < target)
    cut = torch.zeros_like(level.cut)
    slots: dict[int, list[int]] = {}
    for slot, label in zip(within.nonzero().flatten().tolist(), place[source[within]].tolist(), strict=True):
        slots.setdefault(label, []).append(slot)
    for own in slots.values():
        chosen = torch.tensor(own, device=cut.device)
        heaviest = chosen[torch.argsort(-level.weight[chosen], stable=True)]
        ends = torch.stack([source[heaviest], target[heaviest]])
        cut[heaviest] = _apart(ends.T.tolist(), max(1, 2 * max_members // 3)).to(cut.device)
    return cut | cut[level.split.reverse]


def _apart(edges: list[list[int]], limit: int) -> Tensor:
    """Return a mask [m] bool of the edges between parts that grow along edges, in this order, to at most `limit`
    personas.

    This is Kruskal's spanning forest with bounded trees. The limit is below the maximum size, to leave a newly split
    cluster room to grow.
    """
    parent: dict[int, int] = {}
    size: dict[int, int] = {}

    def root(persona: int) -> int:
        parent.setdefault(persona, persona)
        while parent[persona] != persona:
            parent[persona] = parent[parent[persona]]
            persona = parent[persona]
        return persona

    for one, other in edges:
        a, b = sorted((root(one), root(other)))
        together = size.get(a, 1) + size.get(b, 1)
        if a != b and together <= limit:
            parent[b] = a
            size[a] = together
    return torch.tensor([root(one) != root(other) for one, other in edges])
