"""Compute the vector for a question of any length."""

from __future__ import annotations

import torch
from torch.nn import functional

from nscma_torch.core.protocols import Embedder
from nscma_torch.text.chunker import Chunker


def query_vector(embedder: Embedder, text: str) -> torch.Tensor:
    """Return the unit vector [d] for a question; if it is too long, the normalised mean of its parts' vectors."""
    if embedder.count_tokens([text])[0] <= embedder.max_tokens:
        return embedder.embed_query(text)
    parts = Chunker(embedder.count_tokens, embedder.max_tokens).chunk(text)
    vectors = torch.stack([embedder.embed_query(part.text) for part in parts])
    return functional.normalize(vectors.mean(0), dim=0)
