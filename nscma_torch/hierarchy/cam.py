"""CAM, the constructivist agentic memory: assimilation of a batch, level by level.

CAM ("A Constructivist View of Agentic Memory for LLM-Based Reading Comprehension", section Memory Development): the
foundational network grows, affected nodes are split into personas, label propagation updates the clusters, and every
cluster is a node of the next network. The upper networks are linked by their clusters' connections below, not by the
wording of their summaries, so the structure needs no language model and does not change with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from nscma_kernels import knn_graph
from nscma_torch.config import Hierarchy
from nscma_torch.hierarchy.accommodation import accommodated
from nscma_torch.hierarchy.clusters import Clusters, clusters_of, difference, linked
from nscma_torch.hierarchy.level import Edit, Level, Propagation


@dataclass(frozen=True)
class Cam:
    """The networks G_0 … G_L; the nodes of G_{l+1} are clusters of G_l, by label.

    A level that is no longer needed stays, empty, so that its ids are never reused.
    """

    levels: tuple[Level, ...] = ()

    def members(self) -> list[dict[int, tuple[int, ...]]]:
        """For each level above the chunks: the numbers of each node's members, one level below."""
        found = []
        for below, above in pairwise(self.levels):
            clusters = clusters_of(below).members(below) if len(above.nodes) else {}
            found.append({number: clusters[number] for number in above.nodes.tolist()})
        return found


def foundation(
    cam: Cam,
    removed: Tensor,  # [r] int64, numbers of nodes that go
    vectors: Tensor,  # [n + a, d], of the nodes that stay, in order, then of the new ones
    position: Tensor,  # [n + a] int64, place in the stream
    stream: Tensor,  # [n + a] int64
    settings: Hierarchy,
) -> Edit:
    """The edit that brings a new chunks into G_0: each draws edges to its k best among all (CAM equation 2)."""
    base = cam.levels[0] if cam.levels else Level.empty(vectors.device)
    known = base.nodes[~torch.isin(base.nodes, removed)]
    added = base.split.next_id + torch.arange(len(vectors) - len(known), device=known.device)
    edges, weight = knn_graph(
        vectors,
        settings.neighbours,
        gamma=settings.gamma,
        alpha=settings.alpha,
        sigma=settings.sigma,
        position=position,
        stream=stream,
        start=len(known),
    )
    forward = edges[0] < edges[1]
    ends = torch.cat([known, added])[edges[:, forward]]
    return Edit(added, removed, ends, weight[forward], ends.new_empty(2, 0))


def assimilate(cam: Cam, base: Edit, settings: Hierarchy) -> Cam:
    """The hierarchy after an edit of its chunks.

    Above the first level of clusters, which is always there, levels are added until their number stops shrinking.
    """
    levels: list[Level] = []
    edit = base
    while True:
        depth = len(levels)
        before = cam.levels[depth] if depth < len(cam.levels) else Level.empty(base.added.device)
        levels.append(_clustered(before, edit, settings) if edit else before)
        above = clusters_of(levels[-1], settings.min_members)
        shrinking = not depth or len(above.labels) < len(levels[-1].nodes)
        if depth == settings.max_levels or not len(above.labels) or not shrinking:
            return Cam((*levels, *(level.vacated() for level in cam.levels[len(levels) :])))
        upper = cam.levels[depth + 1] if depth + 1 < len(cam.levels) else Level.empty(base.added.device)
        edit = _above(levels[-1], above, upper, settings)


def _clustered(level: Level, edit: Edit, settings: Hierarchy) -> Level:
    edited, frontier = level.edited(edit, overlapping=settings.overlapping)
    if not settings.max_levels:
        return edited
    rule = Propagation(settings.propagation == "weighted", settings.propagation_rounds or None)
    return accommodated(edited.settled(frontier, rule), settings.max_members, rule)


def _above(level: Level, clusters: Clusters, upper: Level, settings: Hierarchy) -> Edit:
    edges, weight = linked(level, clusters, settings.links)
    return difference(upper, clusters.labels, edges, weight)
