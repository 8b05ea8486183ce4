"""An embedder and a surprise model with precomputed results, which call the underlying model for all other inputs.

Cached results don't change what is stored, because their keys are the model's complete inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import torch

from nscma_torch.core.protocols import Embedder, StreamScore, SurpriseModel

Key = tuple[bytes | None, bytes]  # digests of a state and of the texts that follow it


class KeptEmbedder:
    """An `Embedder` that looks up texts before calling the model.

    Attributes:
        known: vectors [d] by text.
        computed: texts that were not known when requested.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.known: Mapping[str, torch.Tensor] = {}
        self.computed = 0

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    def made(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Return the model's vectors [d] for texts, on the CPU, processing duplicates separately."""
        distinct = list(dict.fromkeys(texts))
        return dict(zip(distinct, self._embedder.embed(distinct).cpu(), strict=True)) if distinct else {}

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, d]: on the CPU if all texts are known, else on the model's device."""
        left = [text for text in texts if text not in self.known]
        if not texts or len(left) == len(texts):
            self.computed += len(left)
            return self._embedder.embed(texts)
        self.computed += len(left)
        found = {**self.known, **self.made(left)} if left else self.known
        return torch.stack([found[text] for text in texts])

    def embed_query(self, text: str) -> torch.Tensor:
        return self._embedder.embed_query(text)


class KeptSurpriseModel:
    """A `SurpriseModel` that looks up scores before calling the model.

    Attributes:
        known: scores by their inputs.
        computed: runs of messages that were not known when requested.
    """

    def __init__(self, surprise_model: SurpriseModel) -> None:
        self._surprise_model = surprise_model
        self.known: dict[Key, StreamScore] = {}
        self.computed = 0

    @property
    def fingerprint(self) -> str:
        return self._surprise_model.fingerprint

    def make(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> Sequence[StreamScore]:
        """Compute scores with the model, and cache them."""
        scores = self._surprise_model.score(streams, states)
        for texts, state, score in zip(streams, states, scores, strict=True):
            self.known[_key(texts, state)] = score
        return scores

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[StreamScore]:
        """Return scores for consecutive messages in each stream."""
        return [self._one(texts, state) for texts, state in zip(streams, states, strict=True)]

    def _one(self, texts: Sequence[str], state: bytes | None) -> StreamScore:
        known = self.known.get(_key(texts, state))
        if known is not None:
            return known
        self.computed += 1
        return self._surprise_model.score([texts], [state])[0]


def _key(texts: Sequence[str], state: bytes | None) -> Key:
    said = hashlib.sha256()
    for text in texts:
        data = text.encode(errors="surrogatepass")
        said.update(len(data).to_bytes(8, "big") + data)
    return None if state is None else hashlib.sha256(state).digest(), said.digest()
