"""Look up the half-edges of an undirected graph by key, and find the triangles on given half-edges.

Legend: n nodes, E half-edges. A half-edge x -> y is an edge in one of its two directions; its key is x * n + y.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from nscma_kernels.graph import undirected


class HalfEdges:
    """Half-edges in the order of their keys, with a lookup.

    `edge_index` [2, E] int64 is ordered by (row, col) and contains both directions. If `hashed`, a hash table is built.
    """

    def __init__(self, edge_index: Tensor, n: int, hashed: bool = False) -> None:
        self.edge_index, self.n = edge_index, n
        self.row, self.col = edge_index[0], edge_index[1]
        self.keys = self.row * n + self.col
        self.rowptr = torch.zeros(n + 1, dtype=torch.int64, device=edge_index.device)
        self.rowptr[1:] = torch.bincount(self.row, minlength=n).cumsum(0)
        self._table = _Table(self.keys) if hashed and len(self.keys) else None
        self._reverse: Tensor | None = None

    @classmethod
    def of_edges(cls, edge_index: Tensor, num_nodes: int | None, hashed: bool) -> HalfEdges:
        """Build the graph with these edges. Half-edges that are already in order aren't sorted again."""
        if edge_index.ndim == 2 and len(edge_index) == 2 and edge_index.dtype == torch.int64 and edge_index.numel():
            low, high = int(edge_index.min()), int(edge_index.max())
            n = high + 1 if num_nodes is None else num_nodes
            keys = edge_index[0] * n + edge_index[1]
            if low >= 0 and high < n and bool((keys.diff() > 0).all() & (edge_index[0] != edge_index[1]).all()):
                graph = cls(edge_index.clone(), n, hashed)
                graph._reverse, symmetric = graph.find(graph.col * n + graph.row)
                if bool(symmetric.all()):
                    return graph
        csr = undirected(edge_index, num_nodes=num_nodes)
        graph = cls(torch.stack([csr.row, csr.col]), csr.num_nodes, hashed)
        graph._reverse = csr.reverse
        return graph

    def find(self, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Return the positions of keys, and a mask of those present."""
        if self._table is not None:
            return self._table.find(wanted)
        if not len(self.keys):
            return torch.zeros_like(wanted), torch.zeros_like(wanted, dtype=torch.bool)
        place = torch.searchsorted(self.keys, wanted).clamp_(max=len(self.keys) - 1)
        return place, self.keys.index_select(0, place) == wanted

    def reverse(self, half_edges: Tensor) -> Tensor:
        """Return the half-edges in the other direction."""
        if self._reverse is not None:
            return self._reverse.index_select(0, half_edges)
        return self.find(self.col[half_edges] * self.n + self.row[half_edges])[0]

    def half_edges_of(self, nodes: Tensor) -> Tensor:
        """Return all half-edges from these nodes."""
        return _ranges(self.rowptr[nodes], self.rowptr[nodes + 1])[1]


def triangles(graph: HalfEdges, half_edges: Tensor, later: bool) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield the common neighbours w of the two ends of these half-edges x -> y, in batches.

    Each batch contains the positions in `half_edges`, the half-edges x -> w, and the half-edges y -> w. With `later`,
    only w > y are included. The shorter of the two neighbour lists is scanned.
    """
    x, y = graph.row[half_edges], graph.col[half_edges]
    x_end, y_end = graph.rowptr[x + 1], graph.rowptr[y + 1]
    x_begin = half_edges + 1 if later else graph.rowptr[x]
    y_begin = _after_diagonal(graph)[y] if later else graph.rowptr[y]
    turned = y_end - y_begin < x_end - x_begin
    begin, end = torch.where(turned, y_begin, x_begin), torch.where(turned, y_end, x_end)
    other = torch.where(turned, x, y) * graph.n
    total = (end - begin).cumsum(0)
    if not len(half_edges):
        return
    chunk = 30_000 if half_edges.device.type == "cpu" else 1 << 22
    marks = torch.arange(chunk, int(total[-1]) + chunk, chunk, device=total.device)
    stops = sorted({min(stop + 1, len(half_edges)) for stop in torch.searchsorted(total, marks).tolist()})
    for start, stop in zip([0, *stops], stops, strict=False):
        which, scanned = _ranges(begin[start:stop], end[start:stop])
        which += start
        wanted = other.index_select(0, which) + graph.col.index_select(0, scanned)
        place, there = graph.find(wanted)
        hit = there.nonzero().view(-1)
        which, scanned, found = (tensor.index_select(0, hit) for tensor in (which, scanned, place))
        swap = turned.index_select(0, which)
        yield which, torch.where(swap, found, scanned), torch.where(swap, scanned, found)


def _after_diagonal(graph: HalfEdges) -> Tensor:
    """Return, for each node y, its first half-edge to a node w > y, [n]."""
    return torch.searchsorted(graph.keys, torch.arange(graph.n, device=graph.keys.device) * (graph.n + 1))


class _Table:
    """Hash table of key positions with linear probing. Compared with bisection, it takes time to build but is faster to
    search.
    """

    def __init__(self, keys: Tensor) -> None:
        self.empty = len(keys)
        self.keys = torch.cat([keys, keys.new_tensor([-1])])
        bits = (2 * len(keys)).bit_length()
        self.shift, self.mask = 62 - bits, (1 << bits) - 1
        self.cells = torch.full((1 << bits,), self.empty, device=keys.device)
        place, cell = torch.arange(len(keys), device=keys.device), self._home(keys)
        while len(place):
            free = (self.cells.index_select(0, cell) == self.empty).nonzero().view(-1)
            self.cells.scatter_reduce_(0, cell.index_select(0, free), place.index_select(0, free), "amin")
            left = (self.cells.index_select(0, cell) != place).nonzero().view(-1)
            place, cell = place.index_select(0, left), self._next(cell.index_select(0, left))

    def _home(self, keys: Tensor) -> Tensor:
        return (keys * 0x1E3779B97F4A7C15).bitwise_right_shift_(self.shift).bitwise_and_(self.mask)

    def _next(self, cell: Tensor) -> Tensor:
        return (cell + 1).bitwise_and_(self.mask)

    def find(self, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Return the positions of keys, and a mask of those present."""
        cell = self._home(wanted)
        place = self.cells.index_select(0, cell)
        there = self.keys.index_select(0, place) == wanted
        todo = (place != self.empty).logical_and_(~there).nonzero().view(-1)
        cell = cell.index_select(0, todo)
        while len(todo):
            cell = self._next(cell)
            probe = self.cells.index_select(0, cell)
            match = self.keys.index_select(0, probe) == wanted.index_select(0, todo)
            place.index_copy_(0, todo, probe)
            there.index_copy_(0, todo, match)
            on = (probe != self.empty).logical_and_(~match).nonzero().view(-1)
            todo, cell = todo.index_select(0, on), cell.index_select(0, on)
        return place, there


def _ranges(begin: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Return the interval number of each integer, and the integers of all intervals begin:end, concatenated."""
    size = end - begin
    which = torch.repeat_interleave(size)
    shift = begin - size.cumsum(0) + size
    return which, shift.index_select(0, which).add_(torch.arange(len(which), device=which.device))
