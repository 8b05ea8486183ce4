"""Create the configured reranker: the trained reader or a cross-encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nscma_torch.core.errors import ConfigError
from nscma_torch.search.context import Reranker

if TYPE_CHECKING:
    import torch


def configured_reranker(
    name: str, relevance: Callable[[], Reranker | None], device: Callable[[], torch.device]
) -> Reranker:
    """Return the reranker configured as `retrieval.reranker`.

    Args:
        relevance: returns the trained reader's relevance function; None if no reader is configured.
    """
    if name == "reader":
        found = relevance()
        if found is None:
            raise ConfigError('retrieval.reranker = "reader" needs a reader; set reading.model = "bundled"')
        return found
    from nscma_torch.text.embedders.cross_encoder import CrossEncoder

    encoder = CrossEncoder(name, device())
    return lambda question, hits, _: encoder.score(question, [hit.text for hit in hits])
