"""Attention to the k nearest of many keys: an exact search followed by a differentiable softmax over the results.

The search (`nscma_kernels.scored_topk`) has no gradients. The scores of the k chosen keys are computed again with
gradients, which gives the gradient of the whole operation, because a small change in queries or keys doesn't change the
choice.

Shape legend: Q queries, N rows, D width of keys, E width of values, k rows recalled.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from nscma_kernels import Filter, scored_topk
from nscma_torch.core.errors import InvalidInputError

NONE = -1  # the id of no item, the row of none, and the scope of a row that nothing finds
EVERY = -2  # the scope of a query that finds rows of all scopes
NOTHING = -3  # the scope of a query that finds none


class Recalled(NamedTuple):
    """The k best items for each query, best first. Unfilled places have id -1, weight 0 and value 0."""

    values: Tensor  # [..., k, E]
    weights: Tensor  # [..., k], the softmax of the scaled scores
    ids: Tensor  # [..., k] int64

    @property
    def mixed(self) -> Tensor:
        """Return the weighted sum [..., E] of the values, which is the result of attention to the k items."""
        return (self.weights[..., None].to(self.values.dtype) * self.values).sum(-2)


@torch.library.custom_op("nscma::nearest_rows", mutates_args=())
def nearest_rows(
    queries: Tensor,  # [Q, D]
    keys: Tensor,  # [N, D]
    owners: Tensor,  # [N] int64, the scope of each row
    scopes: Tensor,  # [1] or [Q] int64
    k: int,
) -> Tensor:
    """Return the rows [Q, k] int64 with the largest inner products in each query's scope, best first, with ties ordered
    by row.

    If a scope has fewer than k rows, the last entries are -1. `torch.compile` treats it as one operator, because the
    search's control flow depends on the data.

    Raises `InvalidInputError` if queries or keys are not finite.
    """
    found = torch.full((len(queries), k), NONE, dtype=torch.int64, device=queries.device)
    try:
        _search(queries, keys, owners, scopes, found)
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
    return found


def _search(queries: Tensor, keys: Tensor, owners: Tensor, scopes: Tensor, found: Tensor) -> None:
    k = found.shape[1]
    if len(scopes) == 1:
        visible = owners != NONE if int(scopes) == EVERY else owners == scopes
        _, rows = scored_topk(queries, keys, k, rows=Filter(mask=visible))
        found[:, : rows.shape[1]] = rows
        return
    order = owners.argsort(stable=True)  # the rows of a scope side by side, in their order
    ordered = owners[order]
    for scope in torch.unique(scopes):
        asking = (scopes == scope).nonzero()[:, 0]
        begin, end = (int(torch.searchsorted(ordered, scope, right=right)) for right in (False, True))
        own = order[begin:end]
        _, rows = scored_topk(queries[asking], keys[own], k)
        found[asking, : rows.shape[1]] = own[rows]


@nearest_rows.register_fake
def _(queries: Tensor, _keys: Tensor, _owners: Tensor, _scopes: Tensor, k: int) -> Tensor:
    return queries.new_empty(len(queries), k, dtype=torch.int64)


def attend_to(
    queries: Tensor,  # [Q, D]
    keys: Tensor,  # [N, D]
    rows: Tensor,  # [Q, k] int64, -1 for none
    scale: float,
) -> Tensor:
    """Return the weights [Q, k] of the chosen rows, softmax(scale <q, k_j>), in float32 or float64. Unfilled places are
    0.
    """
    kind = torch.float64 if torch.float64 in (queries.dtype, keys.dtype) else torch.float32
    chosen = keys[rows.clamp(min=0)].to(kind)
    scores = (queries.to(kind)[:, None] * chosen).sum(-1) * scale  # elementwise: autocast leaves it as it is
    return softmax_of(scores, rows != NONE)


def softmax_of(
    scores: Tensor,  # [..., k]
    real: Tensor,  # [..., k] bool
) -> Tensor:
    """Return the softmax over the real places, with 0 elsewhere. If there are no real places, all are 0 with zero
    gradients.
    """
    lowest = torch.finfo(scores.dtype).min  # not -inf, as a softmax over only -inf is NaN
    return torch.where(real, scores.masked_fill(~real, lowest).softmax(-1), 0.0)
