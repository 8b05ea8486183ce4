"""Compute the chunk vectors and message surprise of a pack, for many users at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import torch

from nscma_torch.api.models import load_proxy
from nscma_torch.core.config import Config
from nscma_torch.core.device import torch_device
from nscma_torch.core.errors import StateMismatchError
from nscma_torch.core.protocols import StreamScore
from nscma_torch.features.bulk.kept import KeptEmbedder, KeptProxy, Key
from nscma_torch.features.bulk.packs import Batch, Pack
from nscma_torch.ingest.chunking import configured_chunker
from nscma_torch.text.embedders.embedder import load_embedder

_SEGMENT = 512  # messages that are computed, and handed on to be stored, at once


@dataclass(frozen=True, slots=True)
class Weighed:
    """Batches of a pack, in order, with what their commit asks of embedder and proxy."""

    batches: tuple[Batch, ...]
    texts: tuple[str, ...]
    vectors: torch.Tensor  # of the texts, [n, d]
    scores: Mapping[Key, StreamScore]


class Models:
    """The embedder and the proxy of a configuration.

    `proxy` is None where the language engine is the proxy (`proxy.engine = "llm"`): that is asked in the commit.
    """

    def __init__(self, embedder: KeptEmbedder, proxy: KeptProxy | None) -> None:
        self.embedder = embedder
        self.proxy = proxy

    @classmethod
    def load(cls, config: Config) -> Self:
        """Load them where the configuration says."""
        device = torch_device(config.device)
        proxy = None if config.proxy.engine == "llm" else KeptProxy(load_proxy(config.proxy, device))
        return cls(KeptEmbedder(load_embedder(config.embedder, device)), proxy)


class Weigher:
    """Computes packs, a segment after the other; embedder and proxy work side by side."""

    def __init__(self, config: Config, models: Models) -> None:
        self._embedder, self._proxy = models.embedder, models.proxy
        self._ahead = config.embedder.deferred  # else the gate says first what is embedded
        self._chunker = None
        if self._ahead and not (config.chunker.strategy == "surprise" and self._proxy is None):
            proxy = self._proxy
            self._chunker = configured_chunker(config.chunker, self._embedder, lambda: _there(proxy))

    @classmethod
    def load(cls, config: Config) -> Self:
        """With models of its own."""
        return cls(config, Models.load(config))

    def __call__(self, pack: Pack) -> Iterator[Weighed]:
        states = dict(pack.states)
        for batches in _segments(pack.batches):
            if self._proxy is not None:
                self._proxy.known = {}
            with ThreadPoolExecutor(max_workers=1) as beside:
                embedding = beside.submit(self._embed, batches)
                if self._proxy is not None:
                    _score(self._proxy, batches, states)
                vectors = embedding.result()
            scores = {} if self._proxy is None else self._proxy.known
            matrix = torch.stack(list(vectors.values())) if vectors else torch.empty(0, self._embedder.dimension)
            yield Weighed(tuple(batches), tuple(vectors), matrix, scores)

    def _embed(self, batches: Sequence[Batch]) -> dict[str, torch.Tensor]:
        if self._chunker is None:
            return {}
        texts = [text for batch in batches for text in batch.texts]
        return self._embedder.made([chunk.text for text in texts for chunk in self._chunker.chunk(text)])


def _there(proxy: KeptProxy | None) -> KeptProxy:
    assert proxy is not None, "without one nothing is cut at its surprise"
    return proxy


def _score(proxy: KeptProxy, batches: Sequence[Batch], states: dict[str, bytes | None]) -> None:
    """Score batches, side by side those of different streams; `states` go on to what they are afterwards.

    A stream whose state cannot be read is left to the commit, which makes it anew.
    """
    waiting = list(batches)
    while waiting:
        now = {batch.stream_id: batch for batch in reversed(waiting)}
        waiting = [batch for batch in waiting if batch is not now[batch.stream_id]]
        going = [(key, batch) for key, batch in now.items() if key in states]
        try:
            scores = proxy.make([batch.texts for _, batch in going], [states[key] for key, _ in going])
        except StateMismatchError:
            scores = []
            for key, batch in going:
                _score_alone(proxy, batch, states, key)
            continue
        states.update((key, score.state) for (key, _), score in zip(going, scores, strict=True))


def _score_alone(proxy: KeptProxy, batch: Batch, states: dict[str, bytes | None], key: str) -> None:
    try:
        states[key] = proxy.make([batch.texts], [states[key]])[0].state
    except StateMismatchError:
        del states[key]


def _segments(batches: Sequence[Batch]) -> Iterator[list[Batch]]:
    segment: list[Batch] = []
    for batch in batches:
        segment.append(batch)
        if sum(len(one.messages) for one in segment) >= _SEGMENT:
            yield segment
            segment = []
    if segment:
        yield segment
