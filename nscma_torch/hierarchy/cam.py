"""CAM, the constructivist agentic memory: assimilate a batch of chunks, level by level.

CAM ("A Constructivist View of Agentic Memory for LLM-Based Reading Comprehension", section Memory Development): the
foundational network grows, affected nodes are split into personas, label propagation updates the clusters, and every
cluster becomes a node in the next network. Nodes in the upper networks are linked by their clusters' connections below,
not by the wording of their summaries, so the structure neither needs a language model nor depends on one.

Several hierarchies are processed together at each level, with one call per operation (`side_by_side`); the results are
the same as if each were processed alone.

Legend: n is the number of remaining chunks, a that of new chunks, d the dimension, G the number of hierarchies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from nscma_kernels import knn_graph
from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cluster_nodes import clusters_of, difference, linked
from nscma_torch.hierarchy.level import NUMBER_BITS, Edit, Level, Propagation
from nscma_torch.hierarchy.side_by_side import apart, joined
from nscma_torch.hierarchy.split_clusters import accommodated


@dataclass(frozen=True)
class Cam:
    """The networks G_0 … G_L; the nodes in G_{l+1} are the clusters of G_l, by label.

    A level that is no longer needed is kept empty, so that its ids are never reused.
    """

    levels: tuple[Level, ...] = ()

    def members(self) -> list[dict[int, tuple[int, ...]]]:
        """Return, for each level above the chunks, the numbers of each node's members one level below."""
        found = []
        for below, above in pairwise(self.levels):
            clusters = clusters_of(below).members(below) if len(above.nodes) else {}
            found.append({number: clusters[number] for number in above.nodes.tolist()})
        return found


@dataclass(frozen=True)
class Change:
    """A hierarchy, and the change to its chunks."""

    cam: Cam
    removed: Tensor  # [r] int64, numbers of nodes that go
    vectors: Tensor  # [n + a, d], of the nodes that stay, in order, then of the new ones
    position: Tensor  # [n + a] int64, place in the stream
    stream: Tensor  # [n + a] int64


def foundation(base: Level, changes: Sequence[Change], settings: HierarchyConfig) -> Edit:
    """Return the edit that adds new chunks to the networks G_0: each chunk draws edges to the k best-scoring chunks
    in its network (CAM eq. 2).

    `base` contains the G networks G_0 side by side, in the order of `changes`.
    """
    of_network = torch.arange(len(changes), device=base.nodes.device)
    removed = torch.cat([change.removed + (i << NUMBER_BITS) for i, change in enumerate(changes)])
    known = base.nodes[~torch.isin(base.nodes, removed)]
    staying = torch.bincount(known >> NUMBER_BITS, minlength=len(changes))
    coming = torch.tensor([len(change.vectors) for change in changes], device=known.device) - staying
    added = base.numbered(of_network.repeat_interleave(coming))[0]
    nodes = torch.cat([known, added])
    edges, weight = knn_graph(
        _staying_first([change.vectors for change in changes], staying),
        settings.neighbours,
        gamma=settings.gamma,
        alpha=settings.alpha,
        sigma=settings.sigma,
        position=_staying_first([change.position for change in changes], staying),
        stream=_staying_first([change.stream for change in changes], staying),
        batch=nodes >> NUMBER_BITS if len(changes) > 1 else None,
        start=len(known),
    )
    forward = edges[0] < edges[1]
    ends = nodes[edges[:, forward]]
    return Edit(added, removed, ends, weight[forward], ends.new_empty(2, 0))


def _staying_first(rows: Sequence[Tensor], staying: Tensor) -> Tensor:
    """Concatenate the remaining rows, then the new ones, network by network."""
    sizes = staying.tolist()
    parts = [part[:n] for part, n in zip(rows, sizes, strict=True)]
    parts += [part[n:] for part, n in zip(rows, sizes, strict=True)]
    return torch.cat([part for part in parts if len(part)] or [rows[0]])


def assimilate(changes: Sequence[Change], settings: HierarchyConfig) -> list[Cam]:
    """Return the hierarchies that result from changes to their chunks.

    The first level of clusters always exists; further levels are added until their size stops shrinking.
    """
    levels: list[list[Level]] = [[] for _ in changes]
    going = list(range(len(changes)))  # positions of the hierarchies whose networks of this depth are in `level`
    level = joined([_stored(change, 0) for change in changes])
    edit = foundation(level, changes, settings)
    for depth in range(settings.max_levels + 1):
        edited = edit.networks(len(going))
        if bool(edited.any()):
            level = _clustered(level, edit, edited, settings)
        for place, changed, after in zip(going, edited.tolist(), apart(level), strict=True):
            levels[place].append(after if changed else _stored(changes[place], depth))
        clusters = clusters_of(level, settings.min_members)
        count = torch.bincount(clusters.labels >> NUMBER_BITS, minlength=len(going))
        nodes = torch.bincount(level.nodes >> NUMBER_BITS, minlength=len(going))
        higher = (count > 0) & (count < nodes) if depth else count > 0
        if depth == settings.max_levels or not bool(higher.any()):
            break
        going = [place for place, on in zip(going, higher.tolist(), strict=True) if on]
        upper = joined([_stored(changes[place], depth + 1) for place in going])
        above = clusters.of_networks(higher)
        edit = difference(upper, above.labels, *linked(level, above, settings.links))
        level = upper
    return [
        Cam((*own, *(level.vacated() for level in change.cam.levels[len(own) :])))
        for own, change in zip(levels, changes, strict=True)
    ]


def _stored(change: Change, depth: int) -> Level:
    """Return the network at a given depth before the change."""
    levels = change.cam.levels
    return levels[depth] if depth < len(levels) else Level.empty(change.vectors.device)


def _clustered(level: Level, edit: Edit, edited: Tensor, settings: HierarchyConfig) -> Level:
    """Return the networks after an edit, with clusters updated in the networks that `edited` [G] bool marks as
    changed.
    """
    after, frontier = level.edited(edit, overlapping=settings.overlapping)
    if not settings.max_levels:
        return after
    rule = Propagation(settings.propagation == "weighted", settings.propagation_rounds or None)
    return accommodated(after.settled(frontier, rule), settings.max_members, rule, edited)
