"""Vectors in one faiss index for inner products (Flat, IVF or HNSW), on CPU or GPU.

Legend: m is the number of vectors, D their dimension; a slot is a vector's number, counted up from 0 and never reused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nscma_torch.core.config import FAISS_FACTORY
from nscma_torch.core.errors import ConfigError

_POINTS = 39, 256  # fewest and most vectors a list that faiss wants to train on
_EF_CONSTRUCTION = 100  # how deep HNSW looks for links; recall@10 of 100,000 vectors is .97 with faiss's 40, then 1.00
_MOST_ON_A_GPU = 2048  # results of one search


class FaissStore:
    """Stores vectors in one faiss index.

    | factory | adding | removing | a search compares |
    |---|---|---|---|
    | `Flat` | at the end | at once | all vectors |
    | `IVF<lists>` | once trained on 39 vectors a list | at once | those in `nprobe` lists |
    | `HNSW<links>` | into the graph | stay in it as stale, and are not found | those that a walk of `ef_search` meets |

    HNSW adds vectors on one thread, because the order shapes the graph; with both IVF and HNSW, results can depend on
    the order of additions and removals.

    If faiss is built for GPUs and `device` is a GPU, Flat and IVF are stored there; HNSW stays on the CPU. A GPU index
    has no selectors and can't remove vectors: removed vectors remain as stale, and each search takes the best 2048 of
    all vectors and drops those that are not allowed. This has never been run on a GPU: the tests use a CPU index with
    the same restrictions.

    Args:
        faiss: the faiss module.
        factory: as in the table; `,Flat` may follow.

    Attributes:
        exact: True if a search compares all vectors.
        to_train: number of vectors that `train` needs.
        stale: number of removed vectors that the index still contains.

    Raises `ConfigError` for any other `factory`.
    """

    def __init__(
        self, faiss: Any, factory: str, dimension: int, device: torch.device, *, nprobe: int, ef_search: int
    ) -> None:
        kind = re.fullmatch(FAISS_FACTORY, factory)
        if kind is None:
            raise ConfigError(
                f"index.faiss_factory = {factory!r} must be 'Flat', 'IVF' with a number of lists ('IVF256') or "
                "'HNSW' with a number of links, 2 or more ('HNSW32')"
            )
        lists, links = int(kind[2] or 0), int(kind[4] or 0)
        self._faiss = faiss
        on_gpu = device.type == "cuda" and not links and hasattr(faiss, "StandardGpuResources")
        self._resources = faiss.StandardGpuResources() if on_gpu else None
        self._device = device
        self._removes = not on_gpu and not links
        self.exact = not lists and not links
        self.to_train = _POINTS[0] * lists
        self.stale = 0
        name = f"IVF{lists},Flat" if lists else f"HNSW{links},Flat" if links else "Flat"
        # IVF keeps numbers itself; where nothing is removed, faiss numbers vectors as slots are
        mapped = f"IDMap,{name}" if self.exact and self._removes else name
        self._index = faiss.index_factory(dimension, mapped, faiss.METRIC_INNER_PRODUCT)
        self._lists, self._nprobe = lists, min(nprobe, lists)
        self._links, self._ef_search = links, ef_search
        if lists:
            self._index.nprobe = self._nprobe  # for a GPU, which takes no parameters with a search
        if links:
            self._index.hnsw.efConstruction = _EF_CONSTRUCTION
        if self.trained:
            self._place()

    def __len__(self) -> int:
        """Return the number of vectors, including stale ones."""
        return int(self._index.ntotal)

    @property
    def nbytes(self) -> int:
        """Return the number of bytes used by vectors and links, including stale ones, but not by vector numbers and
        centroids.
        """
        dimension = int(self._index.d)
        return len(self) * 4 * (dimension + 2 * self._links)  # HNSW: twice as many links on its lowest level

    @property
    def trained(self) -> bool:
        """Return True if the index is ready for adding vectors."""
        return bool(self._index.is_trained)

    def sample(self, m: int) -> NDArray[np.int64]:
        """Return the positions of training vectors among m vectors: all of them, or as many as training can use, evenly
        spread.
        """
        return np.unique(np.linspace(0, m - 1, min(m, _POINTS[1] * self.to_train // _POINTS[0]), dtype=np.int64))

    def train(self, vectors: NDArray[np.float32]) -> None:
        """Train the lists on vectors [m, D] with faiss's own fixed seed; m must be at least `to_train`."""
        self._index.train(vectors)
        self._place()

    def add(self, slots: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors [m, D] under slots [m], which must continue the existing slots."""
        if self._removes:
            self._index.add_with_ids(vectors, slots)
            return
        with _one_thread(self._faiss):
            self._index.add(vectors)

    def remove(self, slots: NDArray[np.int64]) -> None:
        """Remove vectors; if the index can't, count them as stale."""
        if self._removes:
            self._index.remove_ids(self._faiss.IDSelectorBatch(slots))
        else:
            self.stale += len(slots)

    def search(
        self, query: NDArray[np.float32], k: int, allowed: NDArray[np.bool_], share: float
    ) -> tuple[NDArray[np.int64], float]:
        """Return about k slots, unordered: the best ones for query [D] among `allowed` [slots]; and, for an `exact`
        index, an upper bound on the other slots' products.

        If only a share of all vectors is allowed, proportionally more lists are visited, or the walk goes deeper.
        """
        if self._resources is not None:
            scores, slots = self._index.search(query[None], min(len(self), _MOST_ON_A_GPU))
            return slots[0][(slots[0] >= 0) & allowed[slots[0]]], float(scores[0, -1])
        bits = self._faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        scores, slots = self._index.search(query[None], k, params=self._parameters(bits, share))
        return slots[0][slots[0] >= 0], float(scores[0, -1])

    def _parameters(self, selector: Any, share: float) -> Any:
        if self._lists:
            lists = min(self._lists, math.ceil(self._nprobe / share))
            return self._faiss.SearchParametersIVF(sel=selector, nprobe=lists)
        if self._links:
            return self._faiss.SearchParametersHNSW(sel=selector, efSearch=math.ceil(self._ef_search / share))
        return self._faiss.SearchParameters(sel=selector)

    def _place(self) -> None:
        if self._resources is not None:
            number = self._device.index or 0
            self._index = self._faiss.index_cpu_to_gpu(self._resources, number, self._index)


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
