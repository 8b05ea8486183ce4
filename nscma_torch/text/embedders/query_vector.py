"""Compute the vector for a question or a text of any length."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from nscma_torch.core.protocols import Embedder
from nscma_torch.text.chunker import Chunker


def query_vector(embedder: Embedder, text: str) -> torch.Tensor:
    """Return the unit vector [d] for a question; if it is too long, the normalised mean of its parts' vectors."""
    return _vector(embedder, text, embedder.embed_query)


def text_vector(embedder: Embedder, text: str) -> torch.Tensor:
    """Return the unit vector [d] for a text as it would be stored; if it is too long, as for a question."""
    return _vector(embedder, text, lambda part: embedder.embed([part])[0])


def _vector(embedder: Embedder, text: str, embed: Callable[[str], torch.Tensor]) -> torch.Tensor:
    if embedder.count_tokens([text])[0] <= embedder.max_tokens:
        return embed(text)
    parts = Chunker(embedder.count_tokens, embedder.max_tokens).chunk(text)
    vectors = torch.stack([embed(part.text) for part in parts])
    return functional.normalize(vectors.mean(0), dim=0)
