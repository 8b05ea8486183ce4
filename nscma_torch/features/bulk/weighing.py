"""Compute chunk vectors and message surprise for a pack, for many users at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import torch

from nscma_torch.api.surprise_models import load_surprise_model
from nscma_torch.core.config import Config
from nscma_torch.core.device import torch_device
from nscma_torch.core.errors import StateMismatchError
from nscma_torch.core.protocols import StreamScore
from nscma_torch.features.bulk.kept import KeptEmbedder, KeptSurpriseModel, Key
from nscma_torch.features.bulk.packs import Batch, Pack
from nscma_torch.ingest.configured_chunker import configured_chunker
from nscma_torch.text.embedders.embedder import load_embedder

_SEGMENT = 512  # messages that are computed, and handed on to be stored, at once


@dataclass(frozen=True, slots=True)
class Weighed:
    """The batches in a pack, in order, with the embeddings and surprise scores needed to commit them."""

    batches: tuple[Batch, ...]
    texts: tuple[str, ...]
    vectors: torch.Tensor  # of the texts, [n, d]
    scores: Mapping[Key, StreamScore]


class BulkModels:
    """The embedder and the surprise model that a configuration names.

    `surprise_model` is None if the language engine is the surprise model (`surprise.engine = "llm"`), which the commit
    then calls itself.
    """

    def __init__(self, embedder: KeptEmbedder, surprise_model: KeptSurpriseModel | None) -> None:
        self.embedder = embedder
        self.surprise_model = surprise_model

    @classmethod
    def load(cls, config: Config) -> Self:
        """Load the models on the configured devices."""
        device = torch_device(config.device)
        surprise_model = (
            None if config.surprise.engine == "llm" else KeptSurpriseModel(load_surprise_model(config.surprise, device))
        )
        return cls(KeptEmbedder(load_embedder(config.embedder, device)), surprise_model)


class Weigher:
    """Processes packs in segments, running the embedder and the surprise model in parallel."""

    def __init__(self, config: Config, models: BulkModels) -> None:
        self._embedder, self._surprise_model = models.embedder, models.surprise_model
        self._ahead = config.embedder.deferred  # otherwise the gate decides first which ones are embedded
        self._chunker = None
        if self._ahead and not (config.chunker.strategy == "surprise" and self._surprise_model is None):
            surprise_model = self._surprise_model
            self._chunker = configured_chunker(config.chunker, self._embedder, lambda: _there(surprise_model))

    @classmethod
    def load(cls, config: Config) -> Self:
        """Create an instance with its own models."""
        return cls(config, BulkModels.load(config))

    def __call__(self, pack: Pack) -> Iterator[Weighed]:
        states = dict(pack.states)
        for batches in _segments(pack.batches):
            if self._surprise_model is not None:
                self._surprise_model.known = {}
            with ThreadPoolExecutor(max_workers=1) as beside:
                embedding = beside.submit(self._embed, batches)
                if self._surprise_model is not None:
                    _score(self._surprise_model, batches, states)
                vectors = embedding.result()
            scores = {} if self._surprise_model is None else self._surprise_model.known
            matrix = torch.stack(list(vectors.values())) if vectors else torch.empty(0, self._embedder.dimension)
            yield Weighed(tuple(batches), tuple(vectors), matrix, scores)

    def _embed(self, batches: Sequence[Batch]) -> dict[str, torch.Tensor]:
        if self._chunker is None:
            return {}
        texts = [text for batch in batches for text in batch.texts]
        return self._embedder.made([chunk.text for text in texts for chunk in self._chunker.chunk(text)])


def _there(surprise_model: KeptSurpriseModel | None) -> KeptSurpriseModel:
    assert surprise_model is not None, "without one nothing is cut at its surprise"
    return surprise_model


def _score(surprise_model: KeptSurpriseModel, batches: Sequence[Batch], states: dict[str, bytes | None]) -> None:
    """Score batches, with different streams in parallel; `states` is updated to the states after the batches.

    A stream with an unreadable state is left to the commit, which recomputes the state.
    """
    waiting = list(batches)
    while waiting:
        now = {batch.stream_id: batch for batch in reversed(waiting)}
        waiting = [batch for batch in waiting if batch is not now[batch.stream_id]]
        going = [(key, batch) for key, batch in now.items() if key in states]
        try:
            scores = surprise_model.make([batch.texts for _, batch in going], [states[key] for key, _ in going])
        except StateMismatchError:
            scores = []
            for key, batch in going:
                _score_alone(surprise_model, batch, states, key)
            continue
        states.update((key, score.state) for (key, _), score in zip(going, scores, strict=True))


def _score_alone(surprise_model: KeptSurpriseModel, batch: Batch, states: dict[str, bytes | None], key: str) -> None:
    try:
        states[key] = surprise_model.make([batch.texts], [states[key]])[0].state
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
