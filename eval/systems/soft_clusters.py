"""RAPTOR's clustering: UMAP, then a Gaussian mixture whose size BIC chooses, globally and again inside each cluster.

Sarthi et al. 2024, "RAPTOR: Recursive Abstractive Processing for Tree-Organized Retrieval", section 3. A text is in
each cluster whose posterior probability is above a threshold, so clusters overlap. Sizes of neighbourhoods are those of
the authors' code: the root of n - 1 globally, 10 locally.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nscma_torch.core.extras import require

DIMENSIONS = 10  # that UMAP reduces to
_LOCAL = 10  # neighbours inside a cluster
MOST = 50  # components that are tried


def soft_clusters(vectors: Tensor, *, threshold: float, seed: int) -> list[list[int]]:
    """Clusters of the rows of vectors [n, d]; every row is in one or more.

    Few rows are one cluster: UMAP needs more than `DIMENSIONS` + 1.
    """
    points = vectors.detach().cpu().numpy().astype(np.float64)
    if len(points) <= DIMENSIONS + 1:
        return [list(range(len(points)))]
    wide = _reduced(points, round((len(points) - 1) ** 0.5), seed)
    found = []
    for members in mixture_rows(wide, threshold, seed):
        if len(members) <= DIMENSIONS + 1:
            found.append(members)
            continue
        inside = _reduced(points[members], _LOCAL, seed)
        found += [[members[row] for row in own] for own in mixture_rows(inside, threshold, seed)]
    return [list(own) for own in dict.fromkeys(tuple(own) for own in found)]


def _reduced(points: Any, neighbours: int, seed: int) -> Any:
    """Rows of fewer dimensions; torch keeps its threads, which numba would set to one for each processor."""
    umap = require("umap", extra="eval", purpose="RAPTOR's clustering")
    reducer = umap.UMAP(
        n_neighbors=min(max(2, neighbours), len(points) - 1),
        n_components=min(DIMENSIONS, len(points) - 2),
        metric="cosine",
        random_state=seed,
        n_jobs=1,
    )
    threads = torch.get_num_threads()
    try:
        return reducer.fit_transform(points)
    finally:
        torch.set_num_threads(threads)


def mixture_rows(points: Any, threshold: float, seed: int, *, most: int = MOST) -> Sequence[list[int]]:
    """Rows of each component of the mixture of lowest BIC; each row is in its likeliest, whatever the threshold."""
    mixture = require("sklearn.mixture", extra="eval", purpose="RAPTOR's clustering")
    sizes = range(1, min(most, len(points) - 1) + 1)
    fits = [mixture.GaussianMixture(size, random_state=seed).fit(points) for size in sizes]
    best = min(fits, key=lambda fit: fit.bic(points))
    likely = best.predict_proba(points)
    held = (likely > threshold) | (likely == likely.max(axis=1, keepdims=True))
    return [rows for column in held.T if (rows := np.nonzero(column)[0].tolist())]
