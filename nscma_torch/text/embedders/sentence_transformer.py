"""Any sentence-transformers model, from a folder or from the local Hugging Face cache.

Nothing is downloaded: this library only connects to configured endpoints, so fetch a model once, explicitly, with `hf
download NAME`. Prompts that a model defines for queries and for documents (E5, BGE, Nomic, Qwen3-Embedding, …) are
applied and counted.

Shapes: n texts, d embedding dimension.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from safetensors import SafetensorError

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.core.extras import require
from nscma_torch.text.embedders.model_folder import model_folder
from nscma_torch.text.embedders.vector_checks import (
    refuse_empty,
    refuse_longer,
    refuse_not_finite,
    refuse_unencodable,
)

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_PURPOSE = "an embedding model other than all-MiniLM-L6-v2"


def local_folder(name: str) -> Path:
    """Return the folder that contains a model, given as a folder or as a name in the local Hugging Face cache. Raises
    `ModelNotFoundError` if it isn't there.
    """
    folder = model_folder(name, kind="embedding model", purpose=_PURPOSE)
    if not (folder / "modules.json").is_file():
        raise ModelNotFoundError(
            f"{folder} has no modules.json, so it is not a sentence-transformers model (or only part of it is there); "
            f"run `hf download {name}`, or name a model that is marked as a sentence-transformers model"
        )
    return folder


def _load(folder: Path, device: str | torch.device) -> SentenceTransformer:
    library = require("sentence_transformers", extra="hf", purpose=_PURPOSE)
    try:
        model: SentenceTransformer = library.SentenceTransformer(str(folder), device=str(device), local_files_only=True)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"{folder} cannot be loaded by sentence-transformers: {error}") from error
    return model


def _weights_digest(model: SentenceTransformer) -> str:
    """Return the SHA-256 of all parameters and buffers as hex, independent of the file format."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


class SentenceTransformerEmbedder:
    """An `Embedder` that uses a sentence-transformers model, which sorts the texts by length itself."""

    def __init__(
        self,
        name: str,  # a folder, or a name in the local Hugging Face cache
        *,
        device: str | torch.device = "cpu",
        batch_size: int = EmbedderConfig().batch_size,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        folder = local_folder(name)
        model = _load(folder, device)
        max_tokens, dimension = model.max_seq_length, model.get_embedding_dimension()
        if max_tokens is None or dimension is None:
            raise ModelError(f"{folder} does not report its maximum number of tokens and its dimension")
        numerics = {
            "weights": _weights_digest(model),
            "tokenizer": hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest()
            if (folder / "tokenizer.json").is_file()
            else type(model.tokenizer).__name__,
            "modules": [str(module) for module in model.children()],
            "prompts": model.prompts,
            "max_tokens": max_tokens,
        }
        identity = hashlib.sha256(json.dumps(numerics, sort_keys=True).encode()).hexdigest()
        self._fingerprint = f"sentence-transformers {type(model[0]).__name__}-{dimension} sha256={identity[:16]}"
        self._model = model.to(dtype)
        self._device = torch.device(device)
        self._dimension = dimension
        self._max_tokens = max_tokens
        self._batch_size = batch_size

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens in each text, including the document prompt and special tokens."""
        return self._count(texts, "document")

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, d]; raises `EmptyTextError`, `EncodingError`, `TextTooLongError` or `VectorError`."""
        return self._encode(texts, "document")

    def embed_query(self, text: str) -> torch.Tensor:
        """Return a unit vector [d], using the model's query prompt if it has one."""
        return self._encode([text], "query")[0]

    def embed_queries(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, d] for questions, using the query prompt; raises the same errors as `embed`."""
        return self._encode(texts, "query")

    def _prompt(self, task: Literal["document", "query"]) -> str:
        return self._model.prompts.get(task) or ""

    def _count(self, texts: Sequence[str], task: Literal["document", "query"]) -> list[int]:
        refuse_unencodable(texts)
        if not texts:
            return []
        prompt = self._prompt(task)
        ids = self._model.tokenizer([prompt + text for text in texts], truncation=False, verbose=False)["input_ids"]
        return [len(row) for row in ids]

    @torch.no_grad()
    def _encode(self, texts: Sequence[str], task: Literal["document", "query"]) -> torch.Tensor:
        refuse_empty(texts)
        refuse_longer(self._count(texts, task), self._max_tokens)
        if not texts:
            return torch.empty(0, self._dimension, device=self._device)
        vectors = self._model.encode(
            list(texts),
            prompt=self._prompt(task),
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_tensor=True,
        )
        # Normalised in float32, whatever the model computes in.
        unit = torch.nn.functional.normalize(vectors.to(self._device, torch.float32), dim=-1)
        return refuse_not_finite(unit)
