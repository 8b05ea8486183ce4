"""The clusters in a level, the nodes that they form above it, and the links between these nodes.

Legend: n is the number of nodes, E of slots, C of clusters, M of memberships.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nscma_torch.hierarchy.level import NUMBER_BITS, Edit, Level

_UNIT = 2**16  # weights count as integers of this fraction, so sums don't depend on their order


@dataclass(frozen=True)
class Clusters:
    """Overlapping clusters of a level's nodes.

    Attributes:
        labels: [C] int64 ascending.
        cluster, row: [M] int64, the position in `labels` and the node's row for each membership, ordered, without
            repetition.
    """

    labels: Tensor
    cluster: Tensor
    row: Tensor

    @property
    def sizes(self) -> Tensor:
        """Number of nodes in each cluster, [C] int64."""
        return torch.bincount(self.cluster, minlength=len(self.labels))

    def members(self, level: Level) -> dict[int, tuple[int, ...]]:
        """Return the node numbers in each cluster, ascending, by cluster label."""
        parts = torch.split(level.nodes[self.row], self.sizes.tolist())
        return {label: tuple(part.tolist()) for label, part in zip(self.labels.tolist(), parts, strict=True)}

    def of_networks(self, chosen: Tensor) -> Clusters:
        """Return the clusters in the networks chosen by [G] bool, joined in their order."""
        network = self.labels >> NUMBER_BITS
        place = chosen.cumsum(0) - 1
        return replace(self, labels=self.labels + ((place[network] - network) << NUMBER_BITS))._only(chosen[network])

    def _only(self, chosen: Tensor) -> Clusters:
        """Return the clusters chosen by [C] bool."""
        renumbered = chosen.cumsum(0) - 1
        kept = chosen[self.cluster]
        return Clusters(self.labels[chosen], renumbered[self.cluster[kept]], self.row[kept])


def clusters_of(level: Level, min_members: int = 1) -> Clusters:
    """Return clusters with at least `min_members` nodes; a node counts once, even if several of its personas belong."""
    n = max(len(level.nodes), 1)
    labels, place = torch.unique(level.labels, return_inverse=True)
    keys = torch.unique(place * n + level.split.owner)
    clusters = Clusters(labels, keys // n, keys % n)
    return clusters._only(clusters.sizes >= min_members)


def linked(level: Level, clusters: Clusters, k: int) -> tuple[Tensor, Tensor]:
    """Return the edges [2, m] between clusters, given as labels, and their weights [m] in (0, 1].

    Two clusters are linked by the edges between a node in one and a node in the other, including edges of a shared
    node: w(A, B) = L(A, B) / sqrt(L(A) L(B)), L(A) = sum over B of L(A, B). Each cluster draws its k heaviest links.
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
    """Return the memberships sorted by node, and the position at which each node's memberships start."""
    size = torch.bincount(clusters.row, minlength=n)
    return size, size.cumsum(0) - size


def difference(upper: Level, labels: Tensor, edges: Tensor, weight: Tensor) -> Edit:
    """Return the edit that turns the network `upper` into one with these nodes [C] and edges [2, m], given as
    numbers.
    """
    added = labels[~torch.isin(labels, upper.nodes)]
    removed = upper.nodes[~torch.isin(upper.nodes, labels)]
    numbers = torch.unique(torch.cat([labels, upper.nodes]))
    n = max(len(numbers), 1)
    ends = torch.searchsorted(numbers, edges)
    wanted, place = torch.unique(ends.amin(dim=0) * n + ends.amax(dim=0), return_inverse=True)
    heaviest = weight.new_zeros(len(wanted)).scatter_reduce(0, place, weight, "amax")
    source, target = torch.searchsorted(numbers, upper.nodes)[upper.split.edge_index]
    forward = source < target
    held, held_weight = (source * n + target)[forward], upper.weight[forward]
    leaves = torch.isin(numbers, removed)
    stay = ~leaves[source[forward]] & ~leaves[target[forward]]
    gone = held[stay & ~torch.isin(held, wanted)]
    known = torch.isin(wanted, held)
    same = torch.zeros_like(known)
    same[known] = held_weight[torch.searchsorted(held, wanted[known])] == heaviest[known]
    new = wanted[~same]
    set_to, gone_ends = (numbers[torch.stack([keys // n, keys % n])] for keys in (new, gone))
    return Edit(added, removed, set_to, heaviest[~same], gone_ends)
