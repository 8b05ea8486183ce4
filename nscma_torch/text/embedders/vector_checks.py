"""Checks shared by all embedders, for invalid or too long texts and for non-finite vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nscma_torch.core.errors import EmptyTextError, TextTooLongError, VectorError
from nscma_torch.text.surrogates import refuse_surrogates


def refuse_unencodable(texts: Sequence[str]) -> None:
    """Raise `EncodingError` if a text contains a lone surrogate."""
    for position, text in enumerate(texts):
        refuse_surrogates(text, f"text {position} of {len(texts)}")


def refuse_empty(texts: Sequence[str]) -> None:
    """Raise `EmptyTextError` if a text is empty or only whitespace."""
    for position, text in enumerate(texts):
        if not text.strip():
            raise EmptyTextError(f"text {position} of {len(texts)} is empty; omit it")


def refuse_longer(counts: Sequence[int], max_tokens: int) -> None:
    """Raise `TextTooLongError` if a text has more tokens than the embedder accepts."""
    for position, count in enumerate(counts):
        if count > max_tokens:
            raise TextTooLongError(
                f"text {position} of {len(counts)} has {count} tokens, but the embedder accepts {max_tokens}; "
                "split it with the chunker, or configure an embedder for longer texts"
            )


def refuse_not_finite(vectors: torch.Tensor) -> torch.Tensor:
    """Return `vectors` [n, d] unchanged. Raises `VectorError` if one contains NaN or infinity."""
    finite = vectors.isfinite().all(dim=1)
    if not bool(finite.all()):
        position = int((~finite).nonzero()[0])
        raise VectorError(
            f"the embedding of text {position} of {len(vectors)} is not finite; "
            "set embedder.dtype to float32, or check the model's weights"
        )
    return vectors
