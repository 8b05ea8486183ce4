"""A live view of a store as a module: attention over what the vector lane of a search may find.

Shape legend: d dimension of the embedder, k units recalled.
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
    """A user's memory as a module for a network to read; made by `Memory.as_module`.

    Keys are the vectors that a search compares (each with a share of its neighbours' in the conversation), scores those
    of its vector lane, alpha cos + beta recency + gamma importance. Every call reads the store as it is then: what was
    added is found, what was deleted, archived, expired or erased is not, and the scope bounds it as it bounds a search.
    There is nothing here to save or to train: no parameters and no buffers; gradients flow to the queries. It runs
    outside of a graph of `torch.compile`.

    Args:
        searcher, bounds: give what searches the store and what may be found, at each call.
        alpha: the weight of the similarity in the score.
        scale: of the scores, before the softmax.
    """

    def __init__(
        self, searcher: Callable[[], Searcher], bounds: Callable[[], Bounds], *, alpha: float, scale: float
    ) -> None:
        super().__init__()
        self._searcher, self._bounds, self._alpha, self.scale = searcher, bounds, alpha, scale

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, queries: Tensor, k: int = 8) -> Recalled:  # queries: [..., d]
        """The k units that fit each query best: their own vectors [..., k, d], weights [..., k] and ids [..., k].

        Queries are vectors of the store's embedder, of unit length for scores that are cosines. An id is the number of
        a unit, which `units` reads.

        Raises InvalidInputError where the queries or k do not fit.
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
        """The unit of each id, in order; None for one that there is no more, or that may not be seen."""
        wanted = [int(own) for own in (ids.flatten().tolist() if isinstance(ids, Tensor) else ids)]
        searcher, bounds = self._searcher(), self._bounds()
        seen = searcher.visible(wanted, bounds)
        held = searcher.load(sorted(seen), bounds.scope.user_id)
        return [held.get(own) if own in seen else None for own in wanted]
