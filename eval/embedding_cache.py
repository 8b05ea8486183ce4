"""An embedder that keeps its vectors, so that a program that runs twice embeds once.

Only for measuring: vectors are found by text, and all of them stay in memory.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from nscma_torch.protocols import Embedder


class CachedEmbedder:
    """`Embedder` that asks another one only for texts that it does not know.

    Args:
        embedder: makes the vectors.
        folder: where `save` keeps them, in one file for each fingerprint; None keeps them in memory alone.
        clock: gives the seconds.

    Attributes:
        seconds: spent in `embed` and `embed_query`.
        learning: whether new vectors are kept; if not, a text that is not known is embedded each time.
    """

    def __init__(
        self, embedder: Embedder, folder: Path | None = None, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._embedder = embedder
        self._clock = clock
        self._file = folder and folder / f"{_key('fingerprint', embedder.fingerprint).hex()[:16]}.safetensors"
        self._known: dict[bytes, torch.Tensor] = {}
        self._saved = 0
        self.seconds = 0.0
        self.learning = True
        if self._file is not None and self._file.exists():
            stored = load_file(self._file)
            keys = stored["keys"].numpy()
            self._known = {key.tobytes(): vector for key, vector in zip(keys, stored["vectors"], strict=True)}
            self._saved = len(self._known)

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; not kept."""
        return self._embedder.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors [n, d], on the CPU."""
        return self._vectors("text", texts, self._embedder.embed)

    def embed_query(self, text: str) -> torch.Tensor:
        """Unit vector [d] of a question, on the CPU."""
        return self._vectors("query", [text], lambda texts: self._embedder.embed_query(texts[0])[None])[0]

    def save(self) -> None:
        """Write what is known to the folder, if there is one; a kill leaves the old file or the new one."""
        if self._file is None or len(self._known) == self._saved:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        keys = torch.frombuffer(bytearray(b"".join(self._known)), dtype=torch.uint8).reshape(len(self._known), -1)
        unfinished = self._file.with_suffix(".part")
        save_file({"keys": keys, "vectors": torch.stack(list(self._known.values()))}, unfinished)
        unfinished.replace(self._file)
        self._saved = len(self._known)

    def _vectors(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], torch.Tensor]) -> torch.Tensor:
        began = self._clock()
        keys = [_key(kind, text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        found = self._known
        if new:
            fresh = dict(zip(new, embed(list(new.values())).cpu(), strict=True))
            if self.learning:
                self._known |= fresh
            found = {key: fresh[key] if key in fresh else self._known[key] for key in keys}
        vectors = torch.stack([found[key] for key in keys]) if keys else torch.empty(0, self.dimension)
        self.seconds += self._clock() - began
        return vectors


def _key(kind: str, text: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode()).digest()
