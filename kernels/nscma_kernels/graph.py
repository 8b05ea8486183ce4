"""Undirected graphs in PyG's convention, and their compressed sparse rows.

Legend: n nodes, E slots, that is directed edges: every undirected edge stands there in both directions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor


class CSR(NamedTuple):
    """Slots ordered by (row, col): the slots of node u are `rowptr[u]:rowptr[u + 1]`."""

    rowptr: Tensor  # [n + 1] int64
    row: Tensor  # [E] int64
    col: Tensor  # [E] int64
    weight: Tensor  # [E]
    reverse: Tensor  # [E] int64, the slot of the same edge in the other direction

    @property
    def num_nodes(self) -> int:
        """n."""
        return len(self.rowptr) - 1

    @property
    def degree(self) -> Tensor:
        """[n] int64."""
        return self.rowptr.diff()


def undirected(edge_index: Tensor, edge_weight: Tensor | None = None, num_nodes: int | None = None) -> CSR:
    """The graph of these edges, given in one direction or in both.

    Self-loops go; of an edge given more than once, in whatever direction, the largest weight counts. The default weight
    is 1. Raises ValueError where shapes do not fit, a node lies outside the graph, or a weight is not finite.
    """
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"edge_index must be [2, E] of integers, got {[*edge_index.shape]} {edge_index.dtype}")
    weight = edge_index.new_ones(edge_index.shape[1], dtype=torch.float32) if edge_weight is None else edge_weight
    if not weight.is_floating_point():
        weight = weight.float()
    if weight.shape != edge_index.shape[1:]:
        raise ValueError(f"edge_weight must be [{edge_index.shape[1]}], got {[*weight.shape]}")
    if not bool(torch.isfinite(weight).all()):
        raise ValueError("edge_weight holds NaN or infinity")
    largest = int(edge_index.max()) if edge_index.numel() else -1
    n = largest + 1 if num_nodes is None else num_nodes
    if largest >= n or (edge_index.numel() and int(edge_index.min()) < 0):
        raise ValueError(f"edge_index names nodes outside 0..{n - 1}")
    proper = edge_index[0] != edge_index[1]
    one, other = edge_index[:, proper].to(torch.int64)
    both = torch.cat([one * n + other, other * n + one])
    keys, place = torch.unique(both, return_inverse=True)
    heaviest = weight.new_full((len(keys),), -torch.inf).scatter_reduce(
        0, place, torch.cat([weight[proper], weight[proper]]), "amax"
    )
    row, col = keys // max(n, 1), keys % max(n, 1)
    rowptr = torch.zeros(n + 1, dtype=torch.int64, device=keys.device)
    rowptr[1:] = torch.bincount(row, minlength=n).cumsum(0)
    reverse = torch.searchsorted(keys, col * n + row)
    return CSR(rowptr, row, col, heaviest, reverse)


def unpack(
    graph: Any, edge_weight: Tensor | None, num_nodes: int | None, batch: Tensor | None
) -> tuple[Tensor, Tensor | None, int | None, Tensor | None]:
    """Edges, weights, nodes and graph numbers of a tensor `edge_index`, or of a PyG `Data` or `Batch`.

    What is passed beside the object wins over what it holds. Raises TypeError for anything else.
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
