"""PageRank with a preference for some nodes, computed for many preferences at once.

Page, Brin, Motwani & Winograd, "The PageRank Citation Ranking: Bringing Order to the Web" (Stanford, 1999), section 6;
Haveliwala, "Topic-Sensitive PageRank" (WWW 2002), equation 5. Let A contain the edge weights normalised by source node,
and let D be the set of nodes without outgoing edges. The scores x for a preference p are the fixpoint of

    x = damping (A' x + x(D) p) + (1 - damping) p,

so a stuck surfer restarts, as in NetworkX. The step shrinks every difference between two distributions by `damping` in
the L1 norm. So if a step changes x by c, x is within c damping / (1 - damping) of the fixpoint.

Deviation from the power method: it tracks the change rather than x. A step in float64 gives a change. Its effect over
all later steps is summed in float32, in which a step costs a seventh as much, and the next step in float64 corrects the
rounding.

Legend: n nodes, E directed edges, q queries.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from nscma_kernels.graph import ordered, unpack

_FEW = 8  # queries up to which MKL's product of a CSR matrix is faster than `embedding_bag`
_CHECKED = 4  # steps between two looks at the change: a look costs half a step
_SINGLE = 1e-6  # the share of a change below which float32 no longer follows what becomes of it


class _Step(NamedTuple):
    """Graph and query tensors for a step, in one precision."""

    moves: Tensor  # [n, n] CSR: from column to row, damping times the share of the weight that leaves the column
    stuck: Tensor  # [m] int64, the nodes that nothing leaves
    damping: float
    personalization: Tensor  # [n, q], columns sum to 1

    def to(self, dtype: torch.dtype) -> _Step:
        """Convert to another precision."""
        return self._replace(moves=self.moves.to(dtype), personalization=self.personalization.to(dtype))

    def spread(self, x: Tensor) -> Tensor:
        """Return damping (A' x + x(D) p) [n, q] for `x` [n, q]."""
        moved = _product(self.moves, x)
        if len(self.stuck):
            moved.addcmul_(self.personalization, x.index_select(0, self.stuck).sum(0), value=self.damping)
        return moved


@torch.no_grad()
def personalized_pagerank(
    edge_index: Any,  # [2, E] int64, from edge_index[0] to edge_index[1], or a PyG Data
    personalization: Tensor,  # [q, n]
    *,
    edge_weight: Tensor | None = None,  # [E]
    num_nodes: int | None = None,
    damping: float = 0.85,
    tol: float = 1e-8,
    max_iterations: int = 1000,
) -> Tensor:
    """Return the share [q, n] of time that each query's random surfer spends at each node.

    With probability `damping`, the surfer leaves along an edge, chosen by weight (default 1). Otherwise, or if no edge
    with positive weight leaves the node, it jumps to a node drawn from the query's row in `personalization`; the row's
    scale doesn't matter. Edges are directed, parallel edges add up, and self-loops count. `num_nodes` defaults to that
    of the graph object, or to n.

    Rows sum to 1 and have the dtype of `personalization` (for integers, the default dtype). The L1 distance of a row
    from the exact result is at most `tol`, before rounding to that dtype. The same input gives the same bits on the
    same device; other queries in the call may change results within `tol`.

    Raises `ValueError` if shapes or devices don't match, a node lies outside the graph, a weight is negative or not
    finite, a row in `personalization` has such values or no positive value, or a number is out of range. Raises
    `RuntimeError` if `max_iterations` steps don't reach `tol`.
    """
    edges, weight, num_nodes, _ = unpack(edge_index, edge_weight, num_nodes, None)
    if not 0 < damping < 1:
        raise ValueError(f"damping must lie between 0 and 1, both excluded, got {damping}")
    if not tol > 0 or max_iterations < 1:
        raise ValueError(f"tol and max_iterations must be positive, got {tol} and {max_iterations}")
    if len({tensor.device for tensor in (edges, personalization, weight) if tensor is not None}) > 1:
        raise ValueError("edge_index, edge_weight and personalization must be on one device")
    dtype = personalization.dtype if personalization.is_floating_point() else torch.get_default_dtype()
    preference = _preference(personalization, num_nodes)
    step = _step(edges, weight, preference, damping)
    if not personalization.numel():
        return personalization.to(dtype)
    scores = _fixpoint(step, tol, max_iterations).clamp_(min=0)  # float32 leaves zeros a little below zero
    return (scores / scores.sum(0)).T.to(dtype).contiguous()


def _fixpoint(exact: _Step, tol: float, max_iterations: int) -> Tensor:
    """Return scores [n, q] that are within `tol` of the fixpoint in the L1 norm of each column."""
    fast = exact.to(torch.float32)
    restart = exact.personalization * (1 - exact.damping)
    enough = tol * (1 - exact.damping) / exact.damping  # a change so small is followed by less than tol
    scores, done = exact.personalization, 0
    while True:
        change = exact.spread(scores).add_(restart).sub_(scores)
        scores = scores + change
        size = change.abs().sum(0)
        done += 1
        if not bool((size > enough).any()):
            return scores
        change = change.to(torch.float32)
        later = torch.zeros_like(change)
        goal = (size * _SINGLE).clamp_(min=enough / 2)
        while done < max_iterations:
            change = fast.spread(change)
            later += change
            done += 1
            if done % _CHECKED == 0 and not bool((change.abs().sum(0) > goal).any()):
                break
        if done >= max_iterations:
            left = min(2.0, float(size.max()) * exact.damping / (1 - exact.damping))
            plenty = 10 + 2 * math.ceil(math.log(enough / 2) / math.log(exact.damping))
            raise RuntimeError(
                f"after {done} steps the error is at most {left:.1e}, more than tol={tol:.1e}: "
                f"raise max_iterations (at this damping {plenty} are enough), or tol"
            )
        scores += later


def _preference(personalization: Tensor, num_nodes: int | None) -> Tensor:
    """Return the rows of `personalization`, normalised, as columns [n, q] float64."""
    if personalization.ndim != 2:
        raise ValueError(f"personalization must be [q, n], got {[*personalization.shape]}")
    if num_nodes is not None and personalization.shape[1] != num_nodes:
        raise ValueError(f"personalization must be [q, {num_nodes}], got {[*personalization.shape]}")
    mass = personalization.to(torch.float64)
    total = mass.sum(1, keepdim=True)
    if bool((mass < 0).any()) or not bool(total.isfinite().all()):
        raise ValueError("personalization must be finite and not negative")
    empty = (total[:, 0] == 0).nonzero()
    if len(empty):
        raise ValueError(f"personalization is zero in row {int(empty[0])}: give each query a node to start from")
    return (mass / total).T.contiguous()


def _step(edge_index: Tensor, edge_weight: Tensor | None, preference: Tensor, damping: float) -> _Step:
    """Build the step in float64."""
    n = len(preference)
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"edge_index must be [2, E] of integers, got {[*edge_index.shape]} {edge_index.dtype}")
    edges = edge_index.shape[1]
    weight = preference.new_ones(edges) if edge_weight is None else edge_weight.to(torch.float64)
    if weight.shape != (edges,):
        raise ValueError(f"edge_weight must be [{edges}], got {[*weight.shape]}")
    if edges and (int(edge_index.min()) < 0 or int(edge_index.max()) >= n):
        raise ValueError(f"edge_index names nodes outside 0..{n - 1}")
    if bool((weight < 0).any()):
        raise ValueError("edge_weight must not be negative")
    order = ordered(torch.add(edge_index[0], edge_index[1].long(), alpha=n), n * n)  # that of (target, source)
    source, target, weight = (part.index_select(0, order) for part in (*edge_index, weight))
    if source.is_cuda:  # where `bincount` leaves the order of addition open
        again = source.argsort(stable=True)
        leaving_edges = _csr(source[again], target[again], weight[again], n)
        leaving = _product(leaving_edges, preference.new_ones(n, 1))[:, 0]
    else:
        leaving = torch.bincount(source, weight, minlength=n)
    if not bool(leaving.isfinite().all()):
        raise ValueError("edge_weight must be finite, and so must the sum of each node's outgoing weights")
    share = (weight / leaving.index_select(0, source)).nan_to_num_(0.0)  # 0 / 0: nothing leaves
    stuck = (leaving == 0).nonzero()[:, 0]
    return _Step(_csr(target, source, share.mul_(damping), n), stuck, damping, preference)


def _csr(row: Tensor, column: Tensor, value: Tensor, n: int) -> Tensor:
    """Return the matrix [n, n] for entries ordered by row. Parallel entries stay separate."""
    index = torch.int32 if max(n, len(row)) < 2**31 else torch.int64
    rowptr = torch.searchsorted(row, torch.arange(n + 1, device=row.device, dtype=row.dtype))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(rowptr.to(index), column.to(index), value, (n, n), check_invariants=False)


def _product(matrix: Tensor, table: Tensor) -> Tensor:
    """Multiply a CSR matrix [n, n] by `table` [n, q], with sums in the order of the entries.

    For many queries, and on CUDA, it uses the only torch operation that neither materialises the [E, q] products nor
    adds in an undefined order.
    """
    if table.shape[1] == 1 and _has_mkl(table):
        return (matrix @ table[:, 0])[:, None]
    if table.shape[1] <= _FEW and _has_mkl(table):
        return matrix @ table
    return embedding_bag(
        matrix.col_indices(),
        table,
        matrix.crow_indices(),
        mode="sum",
        per_sample_weights=matrix.values(),
        include_last_offset=True,
    )


def _has_mkl(table: Tensor) -> bool:
    return table.device.type == "cpu" and torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
