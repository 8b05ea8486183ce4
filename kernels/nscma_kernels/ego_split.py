"""Ego-splitting: each node is split into one persona for each component of its neighbourhood.

Source: Epasto, Lattanzi and Paes Leme, "Ego-Splitting Framework: from Non-Overlapping to Overlapping Clusters", KDD
2017; called ego-centric disentanglement in CAM. The split is kept up to date under insertions and deletions.

Legend: n nodes, E half-edges (directed edges, both directions), P personas. A half-edge u -> v represents the neighbour
v in the ego-net of u. A triangle u, v, w joins u -> v with u -> w, v -> u with v -> w, and w -> u with w -> v. The
components of the half-edges under these unions are the components of all ego-nets at once. A component is named by its
smallest half-edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from nscma_kernels.graph import unpack
from nscma_kernels.half_edges import HalfEdges, triangles
from nscma_kernels.implementation import Impl, on_triton


@dataclass(frozen=True, eq=False)
class PersonaGraph:
    """A graph with its nodes split into personas. Every node has at least one persona; an isolated node has exactly
    one.
    """

    edge_index: Tensor  # [2, E] int64, both directions, ordered by (row, col), no self-loops
    persona: Tensor  # [E] int64: id of the persona of edge_index[0] to whose component edge_index[1] belongs
    ids: Tensor  # [P] int64 ascending: ids of all personas, not contiguous once some were retired
    owner: Tensor  # [P] int64: the node of each persona
    num_nodes: int
    next_id: int  # ids from here on were never given out

    @cached_property
    def reverse(self) -> Tensor:
        """Return, for each half-edge, the half-edge in the other direction, [E] int64."""
        row, col = self.edge_index
        return torch.searchsorted(row * self.num_nodes + col, col * self.num_nodes + row)

    @cached_property
    def persona_edge_index(self) -> Tensor:
        """Return the persona graph, [2, E] int64, as positions in `ids`, for half-edges in the order of `edge_index`.

        The half-edge u -> v joins the persona of u that contains v to the persona of v that contains u.
        """
        place = _place(self.ids, self.persona)
        return torch.stack([place, place[self.reverse]])


def ego_split(
    edge_index: Any,  # [2, E] integers, or a PyG Data or Batch
    num_nodes: int | None = None,
    *,
    batch: Tensor | None = None,  # [n] int64, graph number of each node
    first_id: int = 0,
    impl: Impl = "auto",
) -> PersonaGraph:
    """Return the personas of all nodes. Their ids are consecutive from `first_id`, ordered by (node, smallest
    neighbour).

    Edges may be given in one direction or both; self-loops and duplicates are dropped. Nodes in several graphs share
    one numbering, as in PyG batches; `batch` only serves to refuse edges between graphs. Takes O(sum over edges of the
    smaller degree) time, at most O(E^1.5), and O(E + n) memory. Raises `ValueError` if shapes or nodes are invalid, and
    `TypeError` if `edge_index` isn't a graph.
    """
    edges, _, n, batch = unpack(edge_index, None, num_nodes, batch)
    if first_id < 0:
        raise ValueError(f"first_id must be at least 0, got {first_id}")
    dense = on_triton(impl, edges)
    graph = HalfEdges.of_edges(edges, len(batch) if n is None and batch is not None else n, hashed=not dense)
    n = graph.n
    if batch is not None:
        if batch.shape != (n,):
            raise ValueError(f"batch must be [{n}], the graph number of each node, got {[*batch.shape]}")
        if not torch.equal(batch[graph.row], batch[graph.col]):
            raise ValueError("edge_index joins nodes of different graphs of the batch")
    half_edge = torch.arange(len(graph.keys), device=edges.device)
    parent = half_edge.clone()
    if dense:
        _recompute(graph, torch.arange(n, device=edges.device), parent, dense)
    else:
        forward = (graph.row < graph.col).nonzero().view(-1)
        for which, b, c in triangles(graph, forward, later=True):
            _join(graph, parent, forward.index_select(0, which), b, c)
    parent = _root(parent, half_edge)
    first, alone = parent == half_edge, graph.rowptr.diff() == 0
    rank = first.cumsum(0) - 1 + alone.cumsum(0).index_select(0, graph.row)
    owner = torch.repeat_interleave(alone.long().scatter_add_(0, graph.row, first.long()))
    ids = torch.arange(first_id, first_id + len(owner), device=edges.device)
    persona = first_id + rank.index_select(0, parent)
    return PersonaGraph(graph.edge_index, persona, ids, owner, n, first_id + len(owner))


def update_split(
    split: PersonaGraph,
    insert: Tensor | None = None,  # [2, m] integers, one or both directions
    delete: Tensor | None = None,  # [2, m] integers, one or both directions
    num_nodes: int | None = None,  # never fewer than before; new nodes are isolated until edges come
    *,
    impl: Impl = "auto",
) -> tuple[PersonaGraph, Tensor]:
    """Update the split after edges are inserted and deleted. The partition is the same as after a full recomputation.

    Inserting existing edges, deleting missing edges, and self-loops have no effect. An insertion visits only the common
    neighbours of the edge's ends. A deletion recomputes only the egos of the ends and of their common neighbours.

    Identity: an old persona of a visited ego offers its id to the component that contains its smallest surviving
    neighbour. A node without surviving neighbours offers its smallest id to the component of its smallest new
    neighbour, or keeps the id if it is isolated. A component takes the smallest id offered, and the other ids are
    retired. Components without an offer get new ids from `next_id` on, ordered by (node, smallest neighbour). So after
    a merge the smallest id survives, and after a split the part with the smallest neighbour keeps the id.

    Returns the split, and the positions in its `ids` (int64, ascending) of personas that are new or have a changed
    neighbourhood in the persona graph. Raises `ValueError` if shapes or nodes are invalid, or if an edge is in both
    lists.
    """
    n = split.num_nodes if num_nodes is None else num_nodes
    if n < split.num_nodes:
        raise ValueError(f"num_nodes must be at least the current {split.num_nodes}, got {n}")
    old = HalfEdges(split.edge_index, n)
    born, gone = _edit_keys("insert", insert, old), _edit_keys("delete", delete, old)
    if bool(torch.isin(born, gone).any()):
        raise ValueError("an edge is both inserted and deleted")
    place, there = old.find(gone)
    gone = place[there]
    graph, before = _edited(old, split.persona, born[~old.find(born)[1]], gone)
    new = (before < 0).nonzero().view(-1)

    touched = torch.zeros(n, dtype=torch.bool, device=gone.device)  # egos with an edit inside
    touched[old.row[gone]] = True
    for _, b, _ in triangles(old, gone[old.row[gone] < old.col[gone]], later=False):
        touched[old.col[b]] = True
    damaged = touched.clone()
    parent = torch.arange(len(graph.keys), device=gone.device)
    _recompute(graph, damaged.nonzero().view(-1), parent, on_triton(impl, parent))
    touched[graph.row[new]] = True
    forward = new[graph.row[new] < graph.col[new]]
    for which, b, c in triangles(graph, forward, later=False):
        touched[graph.col[b]] = True
        _join(graph, parent, forward[which], b, c)

    local = graph.half_edges_of(touched.nonzero().view(-1))
    surviving = local[before[local] >= 0]
    claimant, claim = torch.unique(before[surviving], return_inverse=True)
    smallest = torch.full_like(claimant, len(parent)).scatter_reduce(0, claim, surviving, "amin")
    intact = ~damaged[graph.row[surviving]]
    _unite(parent, [(surviving[intact], smallest[claim[intact]])])
    parent[local] = _root(parent, local)

    after, fresh = _named(split, graph, before, parent, local, touched, claimant, smallest)
    moved = local[after.persona[local] != before[local]]
    facing = after.persona[graph.reverse(moved)]
    changed = torch.cat([fresh, split.persona[gone], before[moved], after.persona[moved], facing])
    place = torch.searchsorted(after.ids, changed).clamp_(max=max(len(after.ids) - 1, 0))
    positions: Tensor = torch.unique(place[after.ids[place] == changed])
    return after, positions


def _named(
    split: PersonaGraph,
    graph: HalfEdges,
    before: Tensor,  # [E] id of each half-edge's old persona, -1 where the half-edge is new
    parent: Tensor,  # [E] smallest half-edge of the component, right where the node is touched
    local: Tensor,  # half-edges of the touched nodes, ascending
    touched: Tensor,  # [n] bool
    claimant: Tensor,  # ids of touched nodes' personas with a surviving half-edge
    smallest: Tensor,  # that half-edge
) -> tuple[PersonaGraph, Tensor]:
    """Assign ids to the components of touched nodes by the rule in `update_split`; return the split and the new ids."""
    n, unnamed = graph.n, split.next_id
    alone = graph.rowptr.diff() == 0
    bare = touched.clone()  # without a surviving neighbour
    bare[split.num_nodes :] = True
    bare[graph.row[local[before[local] >= 0]]] = False
    mine = bare[split.owner]
    name = torch.full((n,), unnamed, device=parent.device)
    name.scatter_reduce_(0, split.owner[mine], split.ids[mine], "amin")
    heir, lone = (bare & ~alone).nonzero().view(-1), (bare & alone).nonzero().view(-1)
    offer = torch.full_like(parent, unnamed)
    to, offered = torch.cat([smallest, graph.rowptr[heir]]), torch.cat([claimant, name[heir]])
    offer.scatter_reduce_(0, parent[to], offered, "amin")

    roots = local[parent[local] == local]
    holder, held = torch.cat([lone, graph.row[roots]]), torch.cat([name[lone], offer[roots]])
    by_node = torch.cat([2 * graph.rowptr[lone], 2 * roots + 1]).argsort(stable=True)
    new = by_node[held[by_node] == unnamed]
    lives = ~touched[split.owner]
    lives[torch.searchsorted(split.ids, held[held != unnamed])] = True
    fresh = torch.arange(unnamed, unnamed + len(new), device=parent.device)
    held[new] = fresh
    offer[roots] = held[len(lone) :]
    persona = before.clone()
    persona[local] = offer[parent[local]]
    ids, owner = torch.cat([split.ids[lives], fresh]), torch.cat([split.owner[lives], holder[new]])
    return PersonaGraph(graph.edge_index, persona, ids, owner, n, unnamed + len(new)), fresh


def _edit_keys(name: str, edges: Tensor | None, graph: HalfEdges) -> Tensor:
    """Return the keys of these edges in both directions, ascending, without duplicates."""
    if edges is None:
        return graph.keys[:0]
    if edges.ndim != 2 or len(edges) != 2 or edges.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"{name} must be [2, m] of integers, got {[*edges.shape]} {edges.dtype}")
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= graph.n):
        raise ValueError(f"{name} names nodes outside 0..{graph.n - 1}: pass num_nodes to add nodes")
    row, col = edges[:, edges[0] != edges[1]].to(torch.int64)
    keys: Tensor = torch.unique(torch.cat([row * graph.n + col, col * graph.n + row]))
    return keys


def _edited(old: HalfEdges, persona: Tensor, born: Tensor, gone: Tensor) -> tuple[HalfEdges, Tensor]:
    """Return the graph after adding the keys `born` and removing the half-edges `gone`, and the old persona of each
    half-edge, which is -1 for a new one.
    """
    kept = torch.ones_like(old.keys, dtype=torch.bool)
    kept[gone] = False
    kept = kept.nonzero().view(-1)
    added = torch.arange(len(born), device=born.device)
    place = torch.searchsorted(old.keys.index_select(0, kept), born) + added
    is_old = torch.ones(len(kept) + len(born), dtype=torch.bool, device=born.device)
    is_old[place] = False
    source = torch.empty_like(is_old, dtype=torch.int64)
    source[is_old.nonzero().view(-1)], source[place] = kept, len(old.keys) + added
    pair = torch.stack([born // max(old.n, 1), born % max(old.n, 1)])
    edge_index = torch.cat([old.edge_index, pair], dim=1).index_select(1, source)
    return HalfEdges(edge_index, old.n), torch.cat([persona, torch.full_like(born, -1)]).index_select(0, source)


def _join(graph: HalfEdges, parent: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """Unite triangles in all three of their egos. A triangle has the half-edges a = x -> y, b = x -> w and
    c = y -> w.
    """
    a_back, b_back, c_back = graph.reverse(a), graph.reverse(b), graph.reverse(c)
    pairs = [(a, b), (a_back, c), (b_back, c_back)]
    # one triangle of each half-edge settles most of the others
    one = (a.diff(prepend=a.new_tensor([-1])) != 0).nonzero().view(-1)
    _unite(parent, [(left.index_select(0, one), right.index_select(0, one)) for left, right in pairs])
    _unite(parent, pairs)


def _recompute(graph: HalfEdges, nodes: Tensor, parent: Tensor, dense: bool) -> None:
    """Recompute the components for only these nodes' egos. `parent` must have each of their half-edges as
    its own root.
    """
    if dense:
        from nscma_kernels.triton.ego_split import LARGEST_DEGREE, components

        small = graph.rowptr[nodes + 1] - graph.rowptr[nodes] <= LARGEST_DEGREE
        components(nodes[small], graph.rowptr, graph.col, parent)
        nodes = nodes[~small]
    half_edges = graph.half_edges_of(nodes)
    for which, b, _ in triangles(graph, half_edges, later=True):
        _unite(parent, [(half_edges.index_select(0, which), b)])


def _unite(parent: Tensor, pairs: list[tuple[Tensor, Tensor]]) -> None:
    """Join these pairs in the forest `parent`, in place, by linking roots to smaller roots until every pair is joined.

    The root of a component is its smallest half-edge, regardless of the order of the pairs.
    """
    ends = []
    for left, right in pairs:
        apart = (parent.index_select(0, left) != parent.index_select(0, right)).nonzero().view(-1)
        ends.append(torch.stack([left.index_select(0, apart), right.index_select(0, apart)]))
    half_edges = torch.cat(ends, dim=1)
    root = half_edges
    while root.numel():
        root = _root(parent, root.view(-1)).view(2, -1)
        root = root.index_select(1, (root[0] != root[1]).nonzero().view(-1))
        high, low = torch.maximum(root[0], root[1]), torch.minimum(root[0], root[1])
        parent.scatter_reduce_(0, high, low, "amin")
        above, higher = high, parent.index_select(0, high)
        while not torch.equal(above, higher):  # chains of hooks halve
            above, higher = higher, parent.index_select(0, higher)
            parent.scatter_(0, high, higher)
    half_edges = half_edges.view(-1)
    parent.scatter_(0, half_edges, _root(parent, half_edges))


def _root(parent: Tensor, half_edges: Tensor) -> Tensor:
    above = parent.index_select(0, half_edges)
    while True:
        higher = parent.index_select(0, above)
        if torch.equal(above, higher):
            return above
        above = higher


def _place(ids: Tensor, wanted: Tensor) -> Tensor:
    """Return the positions of values among ascending ids. If no id is missing, no search is needed."""
    if len(ids) and int(ids[-1]) - int(ids[0]) + 1 == len(ids):
        return wanted - ids[0]
    return torch.searchsorted(ids, wanted)
