"""A live view of a store as a module: attention over the units of the vector lane.

Shape legend: d embedding dimension, k units recalled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from nscma_torch.core.errors import InvalidInputError, described
from nscma_torch.core.records import Unit
from nscma_torch.neural.nearest import NONE, Recalled, softmax_of
from nscma_torch.search.search import Searcher
from nscma_torch.search.search_bounds import Bounds


class StoreModule(nn.Module):
    """A user's memory as a module for a network to read; created by `Memory.as_module`.

    Keys are the vectors that a search compares (each blended with its neighbours in the conversation), scores those of
    the vector lane, alpha cos + beta recency + gamma importance. Every call reads the current store, bounded like a
    search: new messages are found, and deleted, archived, expired or erased ones are not. It has no parameters and no
    buffers, so there is nothing to save or train; gradients flow to the queries. It runs outside `torch.compile`
    graphs.

    Args:
        searcher, bounds: return the searcher and the bounds, at each call.
        alpha: the weight of the similarity in the score.
        scale: factor of the scores before the softmax.
    """

    def __init__(
        self, searcher: Callable[[], Searcher], bounds: Callable[[], Bounds], *, alpha: float, scale: float
    ) -> None:
        super().__init__()
        self._searcher, self._bounds, self._alpha, self.scale = searcher, bounds, alpha, scale

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, queries: Tensor, k: int = 8) -> Recalled:  # queries: [..., d]
        """Return the k best units for each query: their own vectors [..., k, d], weights [..., k] and ids [..., k].

        Queries are vectors of the store's embedder, of unit length if scores are to be cosines. An id is a unit's
        number, readable by `units`.

        Raises InvalidInputError for unsuitable queries or k.
        """
        searcher = self._searcher()
        width = searcher.dimension
        if not isinstance(queries, Tensor) or not queries.is_floating_point() or queries.shape[-1:] != (width,):
            raise InvalidInputError(f"queries must be a tensor [..., {width}] of floats, got {described(queries)}")
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise InvalidInputError(f"k must be a positive integer, got {k!r}")
        flat = queries.reshape(-1, width)
        found = searcher.recall(flat.detach(), self._bounds(), k)
        ids, scores, keys, values = (part.to(queries.device) for part in found)
        similarity = (flat.float()[:, None] * keys).sum(-1) * self._alpha
        weights = softmax_of((scores + similarity - similarity.detach()) * self.scale, ids != NONE)
        shape = (*queries.shape[:-1], k)
        return Recalled(values.view(*shape, width), weights.view(shape), ids.view(shape))

    def units(self, ids: Tensor | Sequence[int]) -> list[Unit | None]:
        """Return the unit of each id, in order; None for one that is gone or hidden."""
        wanted = [int(own) for own in (ids.flatten().tolist() if isinstance(ids, Tensor) else ids)]
        searcher, bounds = self._searcher(), self._bounds()
        seen = searcher.visible(wanted, bounds)
        held = searcher.load(sorted(seen), bounds.scope.user_id)
        return [held.get(own) if own in seen else None for own in wanted]
