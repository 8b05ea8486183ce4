"""Find the facts whose sentences are most similar to a text by cosine, to compare them with a new statement (mem0)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nscma_torch.core.erasable_cache import empty_with_others
from nscma_torch.core.protocols import Embedder

_KEPT = 16_384  # vectors of sentences, of 384 floats 25 MB


class SimilarFacts:
    """Finds similar sentences; vectors of seen sentences are cached in memory until an erasure.

    Args:
        embedder: returns the embedder; called when a vector is first needed.
        most: s, the maximum number of sentences found.
    """

    def __init__(self, embedder: Callable[[], Embedder], most: int) -> None:
        self._embedder = embedder
        self._most = most
        self._vectors: dict[str, Tensor] = {}
        empty_with_others(self)

    def forget(self) -> None:
        """Drop all vectors and their sentences."""
        self._vectors.clear()

    def nearest(self, text: str, among: Sequence[str]) -> list[int]:
        """Return the positions of the most similar sentences, best first; ties keep their order."""
        if not among:
            return []
        vectors = self._of([text, *among])
        cosines = vectors[1:] @ vectors[0]
        order = cosines.sort(descending=True, stable=True).indices
        found: list[int] = order[: self._most].tolist()
        return found

    def _of(self, texts: Sequence[str]) -> Tensor:  # [n, d]
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        made = self._embedder().embed(new).cpu() if new else ()
        own = {**self._vectors, **dict(zip(new, made, strict=True))}
        self._vectors = dict(list(own.items())[-_KEPT:])
        return torch.stack([own[text] for text in texts])
