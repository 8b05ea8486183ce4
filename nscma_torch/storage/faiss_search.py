"""The episodic score over one user's vectors, by a faiss index."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from nscma_torch import extras
from nscma_torch.errors import ConfigError
from nscma_torch.storage.user_index import UserIndex
from nscma_torch.storage.vectors import MICROSECONDS_A_DAY, EpisodicWeights, episodic_bias


class FaissSearch:
    """Candidates from a faiss index of d + 2 dimensions, scored exactly. As exp(-lambda*(now - t)) =
    exp(-lambda*(now - t0)) * exp(lambda*(t - t0)),

        score = <[alpha*q, beta*exp(-lambda*(now - t0)), gamma], [x, exp(lambda*(t - t0)), importance]>

    with stored vectors that do not depend on `now`. t0 is the newest time at the last rebase; the index is rebuilt when
    lambda*(t - t0) exceeds 1, because large extra columns ruin an approximate index. It holds the plain vectors:
    contextual ones change when a neighbour follows.
    """

    def __init__(self, index: UserIndex, weights: EpisodicWeights, factory: str) -> None:
        self._faiss: Any = extras.require("faiss", extra="faiss", purpose="index.backend = 'faiss'")
        self._index = index
        self._weights = weights
        self._factory = factory
        self._version = (-1, -1)
        self._size = 0
        self._t0 = 0
        self._store: Any = None

    def search(self, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        self._catch_up()
        index, w = self._index, self._weights
        allowed = torch.nonzero(mask & index.embedded)[:, 0].cpu().numpy()
        recency = w.beta * math.exp(-w.decay * (now - self._t0) / MICROSECONDS_A_DAY)
        augmented = torch.cat([w.alpha * query.cpu(), torch.tensor([recency, w.gamma])])[None].float().numpy()
        parameters = self._parameters(self._faiss.IDSelectorBatch(allowed))
        _, labels = self._store.search(augmented, max(1, min(k, len(allowed))), params=parameters)
        rows = torch.from_numpy(labels[0][labels[0] >= 0]).to(query.device).sort().values  # equal scores: smaller row
        scores = w.alpha * index.contextual[rows].float() @ query + episodic_bias(index, w, now)[rows]
        scores, order = scores.sort(descending=True, stable=True)
        return scores, rows[order]

    def _parameters(self, selector: Any) -> Any:
        kinds = {"IndexHNSW": "SearchParametersHNSW", "IndexIVF": "SearchParametersIVF"}
        name = next((kinds[base] for base in kinds if type(self._store).__name__.startswith(base)), "SearchParameters")
        return getattr(self._faiss, name)(sel=selector)

    def _catch_up(self) -> None:
        index, w = self._index, self._weights
        if self._version == index.version and self._store is not None:
            return
        newest = int(index.occurred_at.max()) if len(index) else 0
        stale = self._store is None or self._version[1] != index.version[1] or len(index) < self._size
        if stale or w.decay * (newest - self._t0) / MICROSECONDS_A_DAY > 1:
            self._t0, self._size = newest, 0
            self._store = self._empty(index.vectors.shape[1] + 2)
        rows = slice(self._size, len(index))
        age = (index.occurred_at[rows] - self._t0).double() / MICROSECONDS_A_DAY
        extra = torch.stack([torch.exp(w.decay * age).float(), index.importance[rows]], dim=1)
        block = torch.cat([index.vectors[rows].float(), extra], dim=1).cpu().numpy()
        if len(block):
            if not self._store.is_trained:
                self._store.train(block)
            self._store.add(block)
        self._size, self._version = len(index), index.version

    def _empty(self, dimension: int) -> Any:
        try:
            return self._faiss.index_factory(dimension, self._factory, self._faiss.METRIC_INNER_PRODUCT)
        except RuntimeError as error:
            raise ConfigError(
                f"index.faiss_factory = {self._factory!r} is not an index that faiss can make; try 'Flat' or 'HNSW32'"
            ) from error
