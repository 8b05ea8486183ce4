"""Undirected graphs in PyG's convention, as compressed sparse rows.

Legend: n nodes, E half-edges, that is, directed edges: every undirected edge appears in both directions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor


class CSR(NamedTuple):
    """Half-edges ordered by (row, col). The half-edges from node u are `rowptr[u]:rowptr[u + 1]`."""

    rowptr: Tensor  # [n + 1] int64
    row: Tensor  # [E] int64
    col: Tensor  # [E] int64
    weight: Tensor  # [E]
    reverse: Tensor  # [E] int64, the half-edge of the same edge in the other direction

    @property
    def num_nodes(self) -> int:
        """Return n, the number of nodes."""
        return len(self.rowptr) - 1

    @property
    def degree(self) -> Tensor:
        """Return the degree of each node, [n] int64."""
        return self.rowptr.diff()


def undirected(edge_index: Tensor, edge_weight: Tensor | None = None, num_nodes: int | None = None) -> CSR:
    """Build the graph with these edges, given in one direction or in both.

    Self-loops are dropped. If an edge is given more than once, in either direction, its largest weight is used. The
    default weight is 1. Raises `ValueError` if shapes don't match, a node lies outside the graph, or a weight isn't
    finite.
    """
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"edge_index must be [2, E] of integers, got {[*edge_index.shape]} {edge_index.dtype}")
    weight = edge_index.new_ones(edge_index.shape[1], dtype=torch.float32) if edge_weight is None else edge_weight
    if not weight.is_floating_point():
        weight = weight.float()
    if weight.shape != edge_index.shape[1:]:
        raise ValueError(f"edge_weight must be [{edge_index.shape[1]}], got {[*weight.shape]}")
    if not bool(torch.isfinite(weight).all()):
        raise ValueError("edge_weight contains NaN or infinity")
    largest = int(edge_index.max()) if edge_index.numel() else -1
    n = largest + 1 if num_nodes is None else num_nodes
    if largest >= n or (edge_index.numel() and int(edge_index.min()) < 0):
        raise ValueError(f"edge_index names nodes outside 0..{n - 1}")
    row, col = edge_index.to(torch.int64)
    proper = row != col
    if not bool(proper.all()):
        row, col, weight = row[proper], col[proper], weight[proper]
    row, col, weight = _coalesced(row, col, weight, n)
    reverse = ordered(col, n)
    if not (torch.equal(row.index_select(0, reverse), col) and torch.equal(col.index_select(0, reverse), row)):
        # some edge was given in one direction only
        row, col, weight = torch.cat([row, col]), torch.cat([col, row]), torch.cat([weight, weight])
        row, col, weight = _coalesced(row, col, weight, n)
        reverse = ordered(col, n)
    rowptr = torch.zeros(n + 1, dtype=torch.int64, device=row.device)
    rowptr[1:] = torch.bincount(row, minlength=n).cumsum(0)
    return CSR(rowptr, row, col, torch.maximum(weight, weight.index_select(0, reverse)), reverse)


def _coalesced(row: Tensor, col: Tensor, weight: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the half-edges ordered by (row, col), without duplicates, each with its largest weight."""
    keys = torch.add(col, row, alpha=n)
    if bool((keys[1:] > keys[:-1]).all()):
        return row, col, weight
    order = ordered(keys, n * n)
    row, col, weight, keys = (values.index_select(0, order) for values in (row, col, weight, keys))
    new = torch.ones_like(keys, dtype=torch.bool)
    torch.ne(keys[1:], keys[:-1], out=new[1:])
    if bool(new.all()):
        return row, col, weight
    heaviest = weight[new].scatter_reduce(0, new.cumsum(0) - 1, weight, "amax")
    return row[new], col[new], heaviest


def ordered(keys: Tensor, bound: int) -> Tensor:
    """Return the indexes that stably sort keys in 0..bound - 1."""
    places = len(keys).bit_length()
    if keys.device.type != "cpu" or bound.bit_length() + places > 63:
        return keys.argsort(stable=True)
    packed = keys << places
    packed |= torch.arange(len(keys))
    packed.numpy().sort()  # NumPy's vectorised sort of integers takes a tenth of the time of torch's
    packed &= (1 << places) - 1
    return packed


def unpack(
    graph: Any, edge_weight: Tensor | None, num_nodes: int | None, batch: Tensor | None
) -> tuple[Tensor, Tensor | None, int | None, Tensor | None]:
    """Return edges, weights, number of nodes and graph numbers from a tensor `edge_index` or from a PyG `Data` or
    `Batch`.

    Explicit arguments take precedence over the object's contents. Raises `TypeError` for any other object.
    """
    if isinstance(graph, Tensor):
        return graph, edge_weight, num_nodes, batch
    edges = getattr(graph, "edge_index", None)
    if not isinstance(edges, Tensor):
        raise TypeError(f"edge_index must be a tensor [2, E] or a PyG Data or Batch, got {type(graph).__name__}")
    return (
        edges,
        getattr(graph, "edge_weight", None) if edge_weight is None else edge_weight,
        graph.num_nodes if num_nodes is None else num_nodes,
        getattr(graph, "batch", None) if batch is None else batch,
    )
