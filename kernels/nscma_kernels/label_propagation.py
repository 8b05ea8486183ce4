"""Community detection by chase-gated label propagation: synchronous, deterministic and convergent.

Every node wants the label with the largest weight among its neighbours. Nodes that move at the same time may chase each
other's labels forever. Here, a mover waits while an adjacent mover with a higher priority takes the label that it
leaves, or leaves the label that it takes. H, the weight of the edges between equal labels, then never decreases: an
edge with one mover changes H as that mover predicted. An edge with two movers adds [b_u = b_v] + [a_u = a_v] - [b_u =
a_v] - [b_v = a_u] times its weight (a: old labels, b: new labels), and the gate has made the negative terms zero. The
mover with the highest priority always moves, so H grows until no node sees a heavier label than its own. This is the
guarantee of Traag & Subelj (Sci. Rep. 2023); their queue rule determines which nodes are visited again.

Among equally heavy labels, a node keeps its own label or, if that isn't among them, takes the first in its individual
order, given by a hash of its id and the label. With a common order, one label would flood the graph.

Legend: n nodes, E half-edges (directed edges), B nodes with at most D neighbours each. Internally, nodes are renumbered
by degree, so that a tile is a run of nodes, and a label is a code 1..n: the rank of its hash within its graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nscma_kernels.graph import CSR, undirected, unpack
from nscma_kernels.implementation import Impl, on_triton

PAIRWISE = 128  # neighbours up to which labels are compared all with all; beyond, they are sorted
_WIDTHS = [4, 8, 12, 16, 20, 24, 32, 48, 64, 96, PAIRWISE]
_CACHED = 1 << 18  # elements at a time: few enough to stay in the cache, many enough for several threads
_CHEAP = 1 << 19  # comparisons of labels that take no longer than the calls for one more tile
CODE = (1 << 29) - 1  # labels are smaller, so that a bit above them is free
LAST = -(2**63)  # priority of nodes that don't move
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64  # 2**64 / golden ratio, as int64


class Tile(NamedTuple):
    """The neighbours of the nodes `first : first + B`, padded with the numbers n, n + 1, ... at weight 0."""

    first: int
    neighbours: Tensor  # [D, B] int32
    weight: Tensor | None  # [D, B] int32 or int64, None where every edge weighs the same


def label_propagation(
    edge_index: Any,  # [2, E] int64, or a PyG Data or Batch
    edge_weight: Tensor | None = None,  # [E]
    num_nodes: int | None = None,
    *,
    labels: Tensor | None = None,  # [n] int64
    frontier: Tensor | None = None,  # [m] int64 or [n] bool
    ids: Tensor | None = None,  # [n] int64
    batch: Tensor | None = None,  # [n] int64
    max_rounds: int | None = None,
    impl: Impl = "auto",
) -> Tensor:
    """Return the label [n] int64 of each node, once no node in the frontier, or reached from it, sees a heavier label.

    A node keeps its label in `labels` unless another label has more weight; by default, every node has its own label,
    named by `ids`. Nodes in `frontier` are visited first; by default, all nodes are. `ids` are distinct within each
    graph and decide ties and priorities. If ids stay with their nodes, the result doesn't depend on the order of nodes.
    By default, ids are 0, 1, ... in each graph, so another order of nodes may give other communities; the order of
    edges never matters. Each graph in a batch gets the labels that it would get alone. Default labels are then shifted
    to the numbers of the graph's own nodes in the batch, while given labels and ids are unchanged. Weights are
    converted to fixed point with 16 binary places, and a positive weight counts at least one unit. If a graph's
    heaviest edge reaches 2**14, fewer places are used. An edge with weight 0 is ignored. `max_rounds` limits the number
    of rounds. `impl` "triton" needs CUDA tensors, for which it is the default.

    Raises `ValueError` for mismatched shapes, negative or non-finite weights, equal ids, or edges between graphs.
    """
    if max_rounds is not None and max_rounds < 0:
        raise ValueError(f"max_rounds must be at least 0, got {max_rounds}")
    edges, weights, num_nodes, batch = unpack(edge_index, edge_weight, num_nodes, batch)
    csr = undirected(*_positive(edges, weights, num_nodes))
    graph = _graphs(batch, csr)
    size = torch.bincount(graph)
    members = graph.argsort(stable=True)  # graph after graph
    first = (size.cumsum(0) - size)[graph]  # where those of a node's graph begin
    local = torch.empty_like(graph).scatter_(0, members, torch.arange(len(graph), device=graph.device)) - first
    names = local if ids is None else _of_nodes("ids", ids, csr)
    if ids is not None and len(torch.bincount(_within(graph, names))) < csr.num_nodes:
        raise ValueError("ids must be distinct within each graph")
    look = _frontier(frontier, csr)
    values = names if labels is None else _of_nodes("labels", labels, csr)
    rank = _within(graph, mix(values))
    base = torch.zeros_like(rank).scatter_reduce(0, graph, rank, "amin", include_self=False)[graph]
    order, tiles = tiles_of(csr, fixed_point(csr, graph))
    codes, hashes = (rank - base + 1).int()[order], mix(names)[order]
    rounds = _implementation(impl, csr.row)
    label = torch.empty_like(rank)
    label[order] = rounds(tiles, codes, hashes, look[order], max_rounds) + (base[order] - 1)
    found = torch.empty_like(values).scatter_(0, rank, values)[label]
    return members[first + found] if labels is None and ids is None else found


def _implementation(impl: Impl, tensor: Tensor) -> Callable[[list[Tile], Tensor, Tensor, Tensor, int | None], Tensor]:
    if not on_triton(impl, tensor):
        return propagate
    from nscma_kernels.triton import label_propagation as on_gpu

    return on_gpu.propagate


def mix(x: Tensor) -> Tensor:
    """Scatter the bits of int64 values by a bijection modulo 2**64: splitmix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


def priority(hashes: Tensor, turn: int) -> Tensor:
    """Return the priorities of nodes in a round. They are distinct if the hashes are."""
    return mix(hashes + salt(turn))


def salt(turn: int) -> Tensor:
    """Return the value that makes the priorities in one round independent of those in another, an int64 on the CPU.

    It is computed as a tensor, modulo 2**64: `torch.compile` may make `turn` symbolic, and supports no larger numbers.
    """
    return (torch.tensor(turn + 1) * _GOLDEN) & (2**63 - 1)


def tiles_of(csr: CSR, weight: Tensor | None) -> tuple[Tensor, list[Tile]]:
    """Return the nodes [n] ordered by degree, and the tiles for nodes with neighbours, in that numbering."""
    n, degree, device = csr.num_nodes, csr.degree, csr.row.device
    largest = int(degree.max()) if n else 0
    widths = [0, *_WIDTHS]
    while widths[-1] < largest:
        widths.append(2 * widths[-1])
    if n + widths[-1] > CODE:
        raise ValueError(f"at most {CODE - widths[-1]} nodes fit at this degree, got {n}")
    width = torch.bucketize(degree, torch.tensor(widths, device=device))
    order = width.argsort(stable=True)
    inner = torch.empty(n, dtype=torch.int32, device=device)
    inner[order] = torch.arange(n, dtype=torch.int32, device=device)
    neighbour = inner.index_select(0, csr.col)
    tiles = []
    sizes = torch.bincount(width, minlength=len(widths)).tolist()
    first = sizes[0]
    for wide, size in _merged(widths[1:], sizes[1:]):
        nodes = order[first : first + size]
        place = torch.arange(wide, device=device)[:, None]
        slot = (csr.rowptr[nodes] + place).clamp(max=len(neighbour) - 1)
        real = place < degree[nodes]
        near = torch.where(real, neighbour[slot], (n + place).int())
        tiles.append(Tile(first, near, None if weight is None else weight[slot] * real))
        first += size
    return order, tiles


def _merged(widths: list[int], sizes: list[int]) -> list[tuple[int, int]]:
    """Return the width and number of nodes of each tile. Small groups are moved to the next wider tile, because each
    tile costs calls in every round.
    """
    merged: list[tuple[int, int]] = []
    squares = 0  # of the widths that the nodes of the last tile need
    for wide, size in zip(widths, sizes, strict=True):
        if not size:
            continue
        joined = merged[-1][1] if merged else 0
        if joined and wide <= PAIRWISE and joined * wide**2 - squares <= _CHEAP:
            merged[-1] = (wide, joined + size)
        else:
            merged.append((wide, size))
            squares = 0
        squares += size * wide**2
    return merged


def fixed_point(csr: CSR, graph: Tensor) -> Tensor | None:
    """Return the weights [E] as integers below 2**30, or None if all are equal."""
    if not len(csr.weight) or bool((csr.weight == csr.weight[0]).all()):
        return None
    mantissa, exponent = torch.frexp(csr.weight.double())
    top = torch.full_like(graph, -2000, dtype=exponent.dtype).scatter_reduce(0, graph[csr.row], exponent, "amax")
    places = (30 - top[graph[csr.row]]).clamp(max=16)
    shift = (30 - places - exponent).clamp(max=62)
    units = (mantissa * 2.0**30 / (1 << shift.long()).double()).round().clamp(min=1)
    return units.to(torch.int32 if float(units.max()) * PAIRWISE < 2**31 else torch.int64)


def propagate(tiles: list[Tile], codes: Tensor, hashes: Tensor, look: Tensor, max_rounds: int | None) -> Tensor:
    """Return the labels [n] after all rounds. `codes` are int32 in 1..n, and `look` [n] bool is the frontier."""
    n, device = len(codes), codes.device
    pads = max((len(tile.neighbours) for tile in tiles), default=0)
    state = torch.cat([codes, torch.arange(n + 1, n + 1 + pads, dtype=torch.int32, device=device)])
    want, again = state.clone(), torch.zeros_like(state)
    rank = torch.full_like(state, LAST, dtype=torch.int64)
    again[:n] = look
    again[: tiles[0].first if tiles else n] = 0
    for turn in count() if max_rounds is None else range(max_rounds):
        active = _nonzero(again[:n])
        if not len(active):
            break
        movers, free = [active[:0]], [active[:0]]
        for nodes, near, weight in _visits(tiles, active):
            own, hashed = _at(state, nodes), _at(hashes, nodes)
            new = desire(_at(state, near), weight, own, hashed, n)
            want[nodes], again[nodes] = new, 0
            rank[nodes] = torch.where(new != own, priority(hashed, turn), LAST)
            movers.append(nodes[new != own])
        for nodes, near, _ in _visits(tiles, torch.cat(movers)):
            chase = _at(state, near).eq_(_at(want, nodes))
            chase |= _at(want, near).eq_(_at(state, nodes))
            again[nodes] = stopped = (chase & _at(rank, near).gt_(_at(rank, nodes)).int()).amax(0)
            free.append(nodes[stopped == 0])
        for nodes in free:
            state[nodes], rank[nodes] = _at(want, nodes), LAST
        for nodes, near, _ in _visits(tiles, torch.cat(free)):
            again.index_add_(0, near.flatten(), _at(state, near).ne_(_at(state, nodes)).flatten())
    return state[:n]


def _nonzero(values: Tensor) -> Tensor:
    """Return the positions where `values` [n] is not 0."""
    begins = range(0, max(1, len(values)), _CACHED)
    return torch.cat([values[i : i + _CACHED].nonzero().squeeze(1) + i for i in begins])


def _visits(tiles: list[Tile], nodes: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """Yield runs of these ascending nodes, with the neighbours [D, b] and weights [D, b] of each run."""
    starts = torch.tensor([tile.first for tile in tiles], device=nodes.device)
    cuts = [*torch.searchsorted(nodes, starts).tolist(), len(nodes)]
    for tile, begin, end in zip(tiles, cuts, cuts[1:], strict=False):
        wide, size = tile.neighbours.shape
        rows = torch.arange(0, wide * size, size, device=nodes.device)[:, None]
        step = max(1, _CACHED // wide)
        for here in range(begin, end, step):
            part = nodes[here : min(here + step, end)]
            at = rows + (part - tile.first)
            weight = None if tile.weight is None else _at(tile.weight.flatten(), at)
            yield part, _at(tile.neighbours.flatten(), at), weight


def _at(values: Tensor, index: Tensor) -> Tensor:
    return values.index_select(0, index.flatten()).view(index.shape)


def desire(
    label: Tensor,  # [D, B] int32 codes
    weight: Tensor | None,  # [D, B] int32 or int64
    own: Tensor,  # [B] int32
    hashes: Tensor,  # [B] int64
    n: int,
) -> Tensor:
    """Return the label [B] with the largest weight. Among several, it is the node's own label or else the first in the
    node's order.
    """
    odd = hashes.bitwise_and(0x7FFFFFFF).int() | 1
    key = (label - own).mul_(odd).bitwise_and_(CODE)  # each node renumbers the labels, its own as 0
    units = torch.le(label, n, out=torch.empty_like(label)) if weight is None else weight
    key, upto = _pairwise(key, units, weight is None) if len(key) <= PAIRWISE else _sorted(key, units)
    first = key.add_(upto.ne_(upto.amax(0)).int(), alpha=CODE + 1).amin(0)
    inverse = odd
    for _ in range(4):  # Newton's iteration modulo 2**32: 3 correct bits become 48
        inverse = inverse * (2 - odd * inverse)
    return (own + first * inverse) & CODE


def _pairwise(key: Tensor, units: Tensor, alike: bool) -> tuple[Tensor, Tensor]:
    """Return labels, and for each the weight summed up to its position: the total at a label's last position, less
    before it.
    """
    upto, same = units.clone(), torch.empty_like(key)
    for shift in range(1, len(key)):
        later = same[shift:]
        torch.eq(key[shift:], key[:-shift], out=later)
        upto[shift:].add_(later if alike else later * units[:-shift])
    return key, upto


def _sorted(key: Tensor, units: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same as `_pairwise`, with positions sorted by label."""
    key, order = key.T.sort(dim=1)
    units = units.T.gather(1, order).long()
    total = units.cumsum(1)
    begins = torch.ones_like(key, dtype=torch.bool)
    begins[:, 1:] = key[:, 1:] != key[:, :-1]
    before = torch.where(begins, total - units, 0).cummax(1).values
    return key.T, (total - before).T


def _within(graph: Tensor, values: Tensor) -> Tensor:
    """Return the rank [n] of (graph, value) among the distinct pairs."""
    return _ranks(graph * len(graph) + _ranks(values))


def _ranks(values: Tensor) -> Tensor:
    ranks: Tensor = torch.unique(values, return_inverse=True)[1]
    return ranks


def _positive(edges: Tensor, weight: Tensor | None, num_nodes: int | None) -> tuple[Tensor, Tensor | None, int | None]:
    """Return the edges with positive weight, their weights, and the number of all nodes."""
    if weight is not None and not isinstance(weight, Tensor):
        raise TypeError(f"edge_weight must be a tensor [E], got {weight!r}; pass a number of nodes as num_nodes=")
    if weight is None or weight.shape != edges.shape[1:]:
        return edges, weight, num_nodes
    if bool((weight < 0).any()):
        raise ValueError("edge_weight must not be negative")
    counts = weight != 0
    if bool(counts.all()):
        return edges, weight, num_nodes
    return edges[:, counts], weight[counts], int(edges.max()) + 1 if num_nodes is None else num_nodes


def _of_nodes(name: str, values: Tensor, csr: CSR) -> Tensor:
    if values.shape != (csr.num_nodes,) or values.dtype != torch.int64:
        raise ValueError(f"{name} must be [{csr.num_nodes}] int64, got {[*values.shape]} {values.dtype}")
    return values


def _graphs(batch: Tensor | None, csr: CSR) -> Tensor:
    """Return the graph [n] of each node."""
    if batch is None:
        return torch.zeros(csr.num_nodes, dtype=torch.int64, device=csr.row.device)
    graph = _ranks(_of_nodes("batch", batch, csr))
    if bool((graph[csr.row] != graph[csr.col]).any()):
        raise ValueError("an edge joins two graphs in the batch")
    return graph


def _frontier(frontier: Tensor | None, csr: CSR) -> Tensor:
    n = csr.num_nodes
    look = torch.ones(n, dtype=torch.bool, device=csr.row.device)
    if frontier is None:
        return look
    if frontier.dtype == torch.bool and frontier.shape == (n,):
        return frontier
    if frontier.dtype != torch.int64 or frontier.ndim != 1 or bool(((frontier < 0) | (frontier >= n)).any()):
        raise ValueError(f"frontier must be nodes of 0..{n - 1} [m] int64, or [{n}] bool")
    return look.logical_not_().index_fill_(0, frontier, True)
