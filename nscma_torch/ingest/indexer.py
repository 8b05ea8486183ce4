"""Turn texts into units: chunks that fit the embedder, with vectors and lexical terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nscma_torch.core.errors import VectorError
from nscma_torch.core.protocols import Embedder
from nscma_torch.episodic.index.packed_vectors import pack_vector
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.ingest.stages import Stages
from nscma_torch.text.chunker import Chunk, Chunker
from nscma_torch.text.terms import terms

_RUN = 128  # chunks handed to the embedder at once, which sorts them by length


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk of a text with its search data; `vector` is [d], or None if it is not embedded."""

    chunk: Chunk
    terms: tuple[str, ...]
    vector: Tensor | None

    @property
    def packed(self) -> bytes | None:
        """Return the vector in its stored form. Raises `VectorError` for NaN or infinity."""
        return None if self.vector is None else pack_vector(self.vector)


class Indexer:
    """Chunks, embeds and analyses texts, in batches."""

    def __init__(self, embedder: Embedder, chunker: Chunker, stages: Stages) -> None:
        self._embedder = embedder
        self._chunker = chunker
        self._stages = stages

    @property
    def fingerprint(self) -> str:
        """Return the embedder's fingerprint; bind the store to it before storing its vectors."""
        return self._embedder.fingerprint

    def index(
        self, texts: Sequence[str], embed: Sequence[bool], progress: Callable[[float], None] = lambda _: None
    ) -> list[list[IndexedChunk]]:
        """Return the chunks for each text, in order; only texts marked in `embed` get vectors.

        `progress` is called with the share of chunks embedded so far, after every `_RUN` chunks.

        Raises `VectorError` if the embedder's vectors don't have its declared dimension.
        """
        with self._stages.stage("chunking"):
            chunks = [self._chunker.chunk(text) for text in texts]
        with self._stages.stage("embedding"):
            wanted = [c.text for of_text, on in zip(chunks, embed, strict=True) if on for c in of_text]
            runs = []
            for at in range(0, max(len(wanted), 1), _RUN):
                runs.append(self._embedder.embed(wanted[at : at + _RUN]).cpu())
                progress(min((at + _RUN) / max(len(wanted), 1), 1.0))
            embedded = torch.cat(runs)
            if wanted and embedded.shape != (len(wanted), self._embedder.dimension):
                raise VectorError(
                    f"the embedder declares dimension {self._embedder.dimension} but returned vectors "
                    f"{[*embedded.shape]} for "
                    f"{len(wanted)} texts; nothing was stored. Correct its `dimension`"
                )
            vectors = iter(embedded)
        with self._stages.stage("lexical"):
            return [
                [IndexedChunk(c, tuple(terms(c.text)), next(vectors) if on else None) for c in of_text]
                for of_text, on in zip(chunks, embed, strict=True)
            ]

    def units(self, kind: str, texts: Sequence[str], origins: Sequence[Mapping[str, Any]]) -> list[list[NewUnit]]:
        """Return the embedded units for each text: one, or several if the text is too long for the embedder."""
        indexed = self.index(texts, [True] * len(texts))
        return [_units(kind, origin, own) for origin, own in zip(origins, indexed, strict=True)]


def chunk_units(episode: Mapping[str, Any], indexed: Sequence[IndexedChunk]) -> list[NewUnit]:
    """Return the chunk units for an episode's row."""
    return _units("chunk", episode, indexed)


def _units(kind: str, origin: Mapping[str, Any], indexed: Sequence[IndexedChunk]) -> list[NewUnit]:
    return [
        NewUnit(kind, item.chunk.text, origin, item.chunk.start, item.chunk.end, item.terms, item.packed)
        for item in indexed
    ]
