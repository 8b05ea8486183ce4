"""The clusters of a level, the nodes that they are above it, and how these are linked.

Legend: n nodes, E slots, C clusters, M memberships.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nscma_torch.hierarchy.level import Edit, Level

_UNIT = 2**16  # weights count as integers of this fraction, so that sums do not depend on their order


@dataclass(frozen=True)
class Clusters:
    """Overlapping clusters of a level's nodes.

    Attributes:
        labels: [C] int64 ascending.
        cluster, row: [M] int64, each membership once: the place in `labels` and the node's row, ordered.
    """

    labels: Tensor
    cluster: Tensor
    row: Tensor

    @property
    def sizes(self) -> Tensor:
        """[C] int64, nodes of each cluster."""
        return torch.bincount(self.cluster, minlength=len(self.labels))

    def members(self, level: Level) -> dict[int, tuple[int, ...]]:
        """Numbers of each cluster's nodes, ascending, by label."""
        parts = torch.split(level.nodes[self.row], self.sizes.tolist())
        return {label: tuple(part.tolist()) for label, part in zip(self.labels.tolist(), parts, strict=True)}


def clusters_of(level: Level, min_members: int = 1) -> Clusters:
    """Clusters with at least `min_members` nodes; a node counts once, however many of its personas belong."""
    n = max(len(level.nodes), 1)
    labels, place = torch.unique(level.labels, return_inverse=True)
    keys = torch.unique(place * n + level.split.owner)
    cluster, row = keys // n, keys % n
    large = torch.bincount(cluster, minlength=len(labels)) >= min_members
    renumbered = large.cumsum(0) - 1
    kept = large[cluster]
    return Clusters(labels[large], renumbered[cluster[kept]], row[kept])


def linked(level: Level, clusters: Clusters, k: int) -> tuple[Tensor, Tensor]:
    """Edges [2, m] between clusters, in labels, and their weights [m] in (0, 1].

    Two clusters are linked by the edges from a node of one to a node of the other, a shared node's edges included:
    w(A, B) = L(A, B) / sqrt(L(A) L(B)), L(A) = sum over B of L(A, B). Each cluster draws its k heaviest links.
    """
    size, first = _ranges(clusters, len(level.nodes))
    source, target = level.split.edge_index
    pairs = size[source] * size[target]
    slot = torch.repeat_interleave(pairs)
    within = torch.arange(len(slot), device=slot.device) - (pairs.cumsum(0) - pairs)[slot]
    by_row = clusters.cluster[clusters.row.argsort(stable=True)]
    a = by_row[first[source[slot]] + within // size[target[slot]]]
    b = by_row[first[target[slot]] + within % size[target[slot]]]
    c = max(len(clusters.labels), 1)
    keys, place = torch.unique(a * c + b, return_inverse=True)
    units = (level.weight.double() * _UNIT).round().to(torch.int64).clamp(min=1)[slot]
    total = torch.zeros_like(keys).index_add_(0, place, units)
    a, b = keys // c, keys % c
    volume = total.new_zeros(c).index_add_(0, a, total).double()
    apart = a != b
    a, b, weight = a[apart], b[apart], total[apart].double() / (volume[a[apart]] * volume[b[apart]]).sqrt()
    order = torch.argsort(-weight, stable=True)
    order = order[torch.argsort(a[order], stable=True)]
    a, b, weight = a[order], b[order], weight[order]
    start = torch.searchsorted(a, torch.arange(c, device=a.device))
    drawn = torch.arange(len(a), device=a.device) - start[a] < k
    edges = torch.stack([clusters.labels[a[drawn]], clusters.labels[b[drawn]]])
    return edges, weight[drawn].float()


def _ranges(clusters: Clusters, n: int) -> tuple[Tensor, Tensor]:
    """Memberships of each node, and where they begin when ordered by node."""
    size = torch.bincount(clusters.row, minlength=n)
    return size, size.cumsum(0) - size


def difference(upper: Level, labels: Tensor, edges: Tensor, weight: Tensor) -> Edit:
    """The edit that turns the network `upper` into one with these nodes [C] and edges [2, m] (numbers)."""
    added = labels[~torch.isin(labels, upper.nodes)]
    removed = upper.nodes[~torch.isin(upper.nodes, labels)]
    top = int(torch.cat([labels, upper.nodes]).max()) + 1 if len(labels) + len(upper.nodes) else 1
    low, high = edges.min(dim=0).values, edges.max(dim=0).values
    wanted, place = torch.unique(low * top + high, return_inverse=True)
    heaviest = weight.new_zeros(len(wanted)).scatter_reduce(0, place, weight, "amax")
    source, target = upper.nodes[upper.split.edge_index] if len(upper.nodes) else upper.split.edge_index
    forward = source < target
    held, held_weight = (source * top + target)[forward], upper.weight[forward]
    stay = ~torch.isin(source[forward], removed) & ~torch.isin(target[forward], removed)
    gone = held[stay & ~torch.isin(held, wanted)]
    known = torch.isin(wanted, held)
    same = torch.zeros_like(known)
    same[known] = held_weight[torch.searchsorted(held, wanted[known])] == heaviest[known]
    new = wanted[~same]
    return Edit(
        added, removed, torch.stack([new // top, new % top]), heaviest[~same], torch.stack([gone // top, gone % top])
    )
