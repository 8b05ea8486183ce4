"""A live view of a store as a PyTorch module: attention over the vector lane's units.

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
    """A user's memory as a module that a network can read; created by `Memory.as_module`.

    Keys are the vectors used in searches (each blended with its neighbours in the conversation), and scores are
    computed as in the vector lane: alpha cos + beta recency + gamma importance. Every call reads the current store
    within the same bounds as a search: new messages are found, and deleted, archived, expired or erased ones aren't.
    The module has no parameters or buffers, so there is nothing to save or train; gradients flow to the queries. It
    runs outside `torch.compile` graphs.

    Args:
        searcher, bounds: return the searcher and the bounds; called at each forward pass.
        alpha: the weight of the similarity in the score.
        scale: factor applied to the scores before the softmax.
    """

    def __init__(
        self, searcher: Callable[[], Searcher], bounds: Callable[[], Bounds], *, alpha: float, scale: float
    ) -> None:
        super().__init__()
        self._searcher, self._bounds, self._alpha, self.scale = searcher, bounds, alpha, scale

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, queries: Tensor, k: int = 8) -> Recalled:  # queries: [..., d]
        """Return the k best units for each query: vectors [..., k, d], weights [..., k] and ids [..., k].

        Queries are vectors in the embedding space of the store's embedder; they must have unit length if scores are to
        be cosines. An id is a unit's row number; pass it to `units` to read the unit.

        Raises `InvalidInputError` if the queries or `k` are invalid.
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
        """Return the unit for each id, in order, or None if it is erased or hidden."""
        wanted = [int(own) for own in (ids.flatten().tolist() if isinstance(ids, Tensor) else ids)]
        searcher, bounds = self._searcher(), self._bounds()
        seen = searcher.visible(wanted, bounds)
        held = searcher.load(sorted(seen), bounds.scope.user_id)
        return [held.get(own) if own in seen else None for own in wanted]
