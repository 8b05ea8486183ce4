"""The episodic score over one user's vectors: a faiss index proposes units, and tensors score them.

Legend: n is the number of units, d the embedding dimension, m the number of rows; a slot is the number under which the
faiss index stores a vector.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nscma_torch.core import extras
from nscma_torch.core.config import IndexConfig, ScoreConfig
from nscma_torch.episodic.index.faiss_store import FaissStore
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import MICROSECONDS_A_DAY, TensorSearch, compared, recency

_SPARE = 32  # proposals beyond k, to resolve near ties
_LEAST_SHARE = 0.1  # of the vectors; where a filter lets fewer pass, an approximate index takes as long as tensors
_MOST_STALE = 0.5  # of what an index holds
_BLOCK = 16384  # vectors that are added at once
_FARTHEST = 30.0  # lambda times days: exp of twice as much fits float32


class FaissSearch:
    """Searches a faiss index with d + 2 dimensions; `TensorSearch` scores the units that it proposes.

    As exp(-lambda*(now - t)) = exp(-lambda*(now - t0)) * exp(lambda*(t - t0)), the score is an inner product:

        score = <[a*q, b*exp(-lambda*(now - t0)), c], [a*x, b*exp(lambda*(t - t0)), c*importance]>

    where a, b, c are the square roots of alpha, beta, gamma. Stored vectors thus don't depend on `now`, and are as near
    to each other as to a query made at their time. Weights must not be negative. It takes 4*(d + 2) bytes per unit in
    addition to the index.

    The faiss index is updated by the next search: new and changed units are added under a new slot (a new unit changes
    its neighbours' contextual vectors), and the old vectors of changed or removed units are removed. A search in an
    older state of the index uses tensors. The index is rebuilt only during a search, and only if

    - more than half of its vectors are stale and its type can't remove any: until then it keeps erased vectors;
    - beta > 0 and lambda*|t - t0| exceeds 1 (30 with Flat), because large extra columns ruin an approximate index;
      t is the newest time now, and t0 the newest time when it was built;
    - an update after a write was interrupted.

    `Flat` finds the same units as `TensorSearch`: a bound on faiss's float32 error proves that units missing from its
    result score less than the k-th; if it doesn't, tensors search instead. Tensors also search if an approximate index
    would find little or take as long: before there are 39 vectors per list to train on; if fewer than a tenth of its
    vectors pass the mask; if it finds fewer than k that pass; and, with beta > 0, if `now` is more than 1/lambda before
    t0 (30/lambda with Flat).

    Raises `ConfigError` if faiss isn't installed, or if `FaissStore` doesn't support `factory`.
    """

    def __init__(
        self,
        dimension: int,
        device: torch.device,
        weights: ScoreConfig,
        factory: str,
        *,
        nprobe: int = IndexConfig().faiss_nprobe,
        ef_search: int = IndexConfig().faiss_ef_search,
    ) -> None:
        self._faiss = extras.require("faiss", extra="faiss", purpose="index.backend = 'faiss'")
        self._dimension = dimension
        self._device = device
        self._weights = weights
        self._lock = threading.Lock()
        self._options = {"nprobe": nprobe, "ef_search": ef_search}
        self._factory = factory
        self._exactly = TensorSearch(weights)
        self._roots = math.sqrt(weights.alpha), math.sqrt(weights.beta), math.sqrt(weights.gamma)
        odd = torch.randint(-(2**62), 2**62, (dimension + 2,), generator=torch.Generator().manual_seed(0))
        self._factors = 2 * odd + 1  # of the time, the vector and the importance; 0 where nothing of them is stored
        self._factors[0] *= weights.beta > 0
        self._factors[-1] *= weights.gamma > 0
        self._generation: int | None = -1  # None after a write that was not followed to its end
        self._start()

    @property
    def nbytes(self) -> int:
        """Return the number of bytes used by the faiss index and by its map from vectors to rows."""
        own = (self._seqs, self._marks, self._slots)
        return self._store.nbytes + self._rows.nbytes + sum(tensor.nbytes for tensor in own)

    def search(self, index: UserIndex, query: Tensor, *, now: int, mask: Tensor, k: int) -> tuple[Tensor, Tensor]:
        passing = mask & index.embedded
        with self._lock:  # faiss follows one state after the other
            self._catch_up(index)
            proposed = self._proposed(query, now, passing, k) if self._generation == index.generation else None
        if proposed is not None:
            rows, bound = proposed
            chosen = torch.zeros_like(mask)
            chosen[rows] = True
            scores, best = self._exactly.search(index, query, now=now, mask=chosen, k=k)
            if float(scores[-1]) > bound:
                return scores, best
        return self._exactly.search(index, query, now=now, mask=passing, k=k)

    def _proposed(self, query: Tensor, now: int, passing: Tensor, k: int) -> tuple[Tensor, float] | None:
        """Return rows [m], at least k if that many pass, and an upper bound on the other rows' scores with a flat
        index; return None if faiss can't tell.
        """
        w, store = self._weights, self._store
        ahead = w.decay * (self._t0 - now) / MICROSECONDS_A_DAY if w.beta else 0.0
        count = int(passing.sum())
        if not count or not len(store) or ahead > self._farthest:
            return None
        share = count / len(store)
        if not store.exact and share < _LEAST_SHARE:
            return None
        a, b, c = self._roots
        extra = query.new_tensor([b * math.exp(ahead), c])
        allowed = np.append(passing.cpu().numpy(), False)[self._rows]  # the last, -1, is what stale slots hold
        wanted = min(k + _SPARE if store.exact else k, count)
        slots, least = store.search(torch.cat([a * query, extra]).float().cpu().numpy(), wanted, allowed, share)
        if len(slots) < min(k, count):
            return None
        rows = torch.from_numpy(self._rows[slots]).to(passing.device)
        if not store.exact or len(slots) == count:
            return rows, -math.inf
        # float32 errs by less than a part of the sum of the absolute terms, which is at most |score| + size
        size = 2.02 * w.alpha * float(query.norm())
        part = (len(query) + 64) * 2.0**-23
        return rows, least + part * (abs(least) + size) + 2.0**-60 * w.beta  # of columns next to zero

    def _catch_up(self, index: UserIndex) -> None:
        """Update the faiss index to the state of `index`, unless that state is older."""
        w = self._weights
        if self._generation is not None and self._generation >= index.generation:
            return
        known, self._generation = self._generation, None
        living = index.occurred_at[index.alive]
        newest = int(living.max()) if len(living) else 0
        moved = abs(w.decay * (newest - self._t0) / MICROSECONDS_A_DAY) if w.beta and len(self._store) else 0.0
        if known is None or moved > self._farthest:
            self._start()
        self._follow(index, newest)
        if self._store.stale > _MOST_STALE * len(self._store):
            self._start()
            self._follow(index, newest)
        self._generation = index.generation

    def _start(self) -> None:
        """Start with an empty faiss index."""
        self._store = FaissStore(self._faiss, self._factory, self._dimension + 2, self._device, **self._options)
        self._followed = -1, -1  # generation and layout of the index when it was followed last
        self._farthest = _FARTHEST if self._store.exact else 1.0
        self._t0 = 0
        self._seqs = torch.empty(0, dtype=torch.int64)  # [n] as last followed; so are the next two
        self._marks = torch.empty(0, dtype=torch.int64)  # [n] hashes of a vector's inputs
        self._slots = torch.empty(0, dtype=torch.int64)  # [n], -1 if not embedded
        self._rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # [slots], -1 if removed

    def _follow(self, index: UserIndex, newest: int) -> None:
        """Apply the changes since the last call: only in rows marked as changed or, after a new layout, in all rows."""
        store = self._store
        generation, layout = self._followed
        everything = layout != index.layout
        if not len(store):
            self._t0 = newest
        if not store.trained:
            held = torch.nonzero(index.embedded)[:, 0]
            if len(held) < store.to_train:
                return
            store.train(self._augmented(index, held[torch.from_numpy(store.sample(len(held))).to(index.device)]))
        seqs = index.seqs.cpu().clone()
        old = _places(seqs, self._seqs) if everything else torch.arange(len(seqs))
        old[old >= len(self._seqs)] = -1
        slots, marks = _taken(self._slots, old), _taken(self._marks, old)
        rows = torch.arange(len(seqs)) if everything else torch.nonzero(index.stamps > generation)[:, 0].cpu()
        found = self._hashed(index, rows)
        embedded = index.embedded.cpu()
        changed = rows[(found != marks[rows]) | (old[rows] < 0) | ~embedded[rows]]
        marks[rows], slots[changed] = found, -1
        kept = torch.zeros(len(self._rows) + 1, dtype=torch.bool)
        kept[slots] = True  # the last stands for -1
        gone = self._slots[(self._slots >= 0) & ~kept[self._slots]]
        if len(gone):
            store.remove(gone.numpy())
        fresh = changed[embedded[changed]]
        # at random: in the order of time, a graph with recency loses recall (.93 for 1.00 of 100,000 vectors)
        fresh = fresh[torch.randperm(len(fresh), generator=torch.Generator().manual_seed(0))]
        slots[fresh] = len(self._rows) + torch.arange(len(fresh))
        for block in torch.split(fresh, _BLOCK) if len(fresh) else ():
            store.add(slots[block].numpy(), self._augmented(index, block.to(index.device)))
        self._rows = np.full(len(self._rows) + len(fresh), -1, dtype=np.int64)
        stored = torch.nonzero(slots >= 0)[:, 0]
        self._rows[slots[stored].numpy()] = stored.numpy()
        self._seqs, self._marks, self._slots = seqs, marks, slots
        self._followed = index.generation, index.layout

    def _augmented(self, index: UserIndex, rows: Tensor) -> NDArray[np.float32]:
        """Return the vectors [m, d + 2] stored for rows [m]."""
        a, b, c = self._roots
        times, importance = index.occurred_at[rows], index.importance[rows]
        recent = b * recency(times, self._weights.decay, self._t0).float() if b else torch.zeros_like(importance)
        extra = torch.stack([recent, c * importance], dim=1)
        vectors = a * compared(index, self._weights)[rows].float()
        stored: NDArray[np.float32] = torch.cat([vectors, extra], dim=1).cpu().numpy()
        return stored

    def _hashed(self, index: UserIndex, rows: Tensor) -> Tensor:
        """Return 64-bit hashes [m] of the bits that `_augmented` reads from rows [m]; the hashes are linear in these
        bits.
        """
        factors = self._factors.to(index.device)
        hashes = [torch.empty(0, dtype=torch.int64)]
        for part in torch.split(rows.to(index.device), _BLOCK // 4) if len(rows) else ():
            read = torch.cat([compared(index, self._weights)[part].float(), index.importance[part, None]], dim=1)
            words = read.view(torch.int32).long().mul_(factors[1:]).sum(dim=1)
            hashes.append((words + index.occurred_at[part] * factors[0]).cpu())
        return torch.cat(hashes)


def _places(wanted: Tensor, seqs: Tensor) -> Tensor:
    """Return the positions [n] of `wanted` [n] in ascending `seqs` [m]; -1 if absent."""
    if not len(seqs):
        return torch.full_like(wanted, -1)
    places = torch.searchsorted(seqs, wanted).clamp_(max=len(seqs) - 1)
    return torch.where(seqs[places] == wanted, places, -1)


def _taken(values: Tensor, places: Tensor) -> Tensor:
    """Return `values` [m] at `places` [n], with -1 for absent ones. [n]"""
    return torch.cat([values, values.new_tensor([-1])])[places]
