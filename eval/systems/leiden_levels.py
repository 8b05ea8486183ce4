"""GraphRAG's communities: Leiden, and Leiden again inside each community that is too large, until none can be divided.

Edge et al. 2024, "From Local to Global: A Graph RAG Approach to Query-Focused Summarization", section 3.1.4; the
algorithm is that of Traag et al. 2019, "From Louvain to Leiden", with modularity, by igraph. As in the authors' code
(`hierarchical_leiden`, graphrag/index/operations/cluster_graph.py of microsoft/graphrag) a community is divided where
it has more than a number of members.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nscma_torch.core.extras import require


@dataclass(frozen=True, slots=True)
class Community:
    """Some nodes of a graph.

    Attributes:
        level: 0 for those of the whole graph, one more inside each community.
        members: rows of the nodes, ascending.
        children: places of the communities that it is divided into; () for a leaf.
    """

    level: int
    members: tuple[int, ...]
    children: tuple[int, ...] = ()


def leiden_levels(edges: Mapping[tuple[int, int], float], *, largest: int, seed: int) -> list[Community]:
    """Communities of the nodes that have an edge, parents before children; a node is in one of each level, or in a
    leaf.

    `edges` have weights above 0; one of a node with itself joins nothing. What has more than `largest` members is
    divided where Leiden finds more than one community in it.
    """
    joined = {ends: weight for ends, weight in edges.items() if ends[0] != ends[1]}
    found = [Community(0, own) for own in _parts(sorted({end for ends in joined for end in ends}), joined, seed)]
    place = 0
    while place < len(found):
        level, members = found[place].level, found[place].members
        parts = _parts(members, joined, seed) if len(members) > largest else []
        if len(parts) > 1:
            children = tuple(range(len(found), len(found) + len(parts)))
            found[place] = Community(level, members, children)
            found += [Community(level + 1, own) for own in parts]
        place += 1
    return found


def at_level(communities: Sequence[Community], level: int) -> list[int]:
    """Places of the communities that together hold all nodes: those of a level, and the leaves above it."""
    return [
        place for place, own in enumerate(communities) if own.level == level or (own.level < level and not own.children)
    ]


def _parts(nodes: Sequence[int], edges: Mapping[tuple[int, int], float], seed: int) -> list[tuple[int, ...]]:
    """Communities of the graph of some nodes, that of the smallest row first."""
    if not nodes:
        return []
    igraph = require("igraph", extra="eval", purpose="GraphRAG's communities")
    own = {node: row for row, node in enumerate(nodes)}
    inside = {(own[a], own[b]): weight for (a, b), weight in edges.items() if a in own and b in own}
    graph = igraph.Graph(n=len(nodes), edges=list(inside))
    igraph.set_random_number_generator(random.Random(seed))
    parts = graph.community_leiden("modularity", weights=list(inside.values()), n_iterations=-1)
    igraph.set_random_number_generator(random)
    return sorted(tuple(nodes[row] for row in rows) for rows in parts)
