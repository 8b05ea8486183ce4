"""An embedder that keeps its vectors, so that a program that runs twice, or many systems in one, embed once.

Only for measuring: vectors are found by text. With each are kept the seconds that it took when it was made.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from eval.caches.cached_time import KeptTime
from eval.caches.vector_log import VectorLog
from nscma_torch.core.protocols import Embedder

_MEMORY = 2 << 30  # bytes of vectors
_DISK = 64 << 30
_Kept = tuple[torch.Tensor, float]  # a vector [d], and its seconds


class CachedEmbedder:
    """`Embedder` that asks another one only for texts that it does not know.

    Several processes may have the same folder; each finds what the others had saved when it began, or last saved.

    Args:
        embedder: makes the vectors.
        folder: where `save` keeps them; None keeps them in memory alone.
        clock: gives the seconds.
        kept_time: hears what was spared.
        memory_bytes: of vectors in memory; the oldest go first.
        disk_bytes: size of the files of this embedder above which nothing more is saved.

    Attributes:
        seconds: spent in `embed` and `embed_query`.
        learning: whether new vectors are kept; if not, a text that is not known is embedded each time.
    """

    def __init__(
        self,
        embedder: Embedder,
        folder: Path | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
        kept_time: KeptTime | None = None,
        memory_bytes: int = _MEMORY,
        disk_bytes: int = _DISK,
    ) -> None:
        self._embedder = embedder
        self._clock = clock
        self._time = kept_time or KeptTime(clock)
        name = _key("fingerprint", embedder.fingerprint).hex()[:16]
        self._log = None if folder is None else VectorLog(folder, name, embedder.dimension, most_bytes=disk_bytes)
        self._known: OrderedDict[bytes, _Kept] = OrderedDict()
        self._most_known = max(1, memory_bytes // (4 * embedder.dimension))
        self._unsaved: dict[bytes, _Kept] = {}
        self.seconds = 0.0
        self.learning = True

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
        """Write what is new to the folder, if there is one, and see what other processes saved.

        Raises OSError where it cannot be written; it is not tried again.
        """
        if self._log is None:
            return
        new, self._unsaved = self._unsaved, {}
        self._log.append([(key, vector.numpy(), seconds) for key, (vector, seconds) in new.items()])
        self._log.refresh()

    def _vectors(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], torch.Tensor]) -> torch.Tensor:
        with self._time.timed() as timed:
            began = self._clock()
            keys = [_key(kind, text) for text in texts]
            found = {key: kept for key in dict.fromkeys(keys) if (kept := self._find(key)) is not None}
            new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
            if new:
                found |= self._fresh(new, embed)
            timed.cold = sum(found[key][1] for key in keys)
            self.seconds += self._clock() - began
            return torch.stack([found[key][0] for key in keys]) if keys else torch.empty(0, self.dimension)

    def _fresh(self, new: dict[bytes, str], embed: Callable[[Sequence[str]], torch.Tensor]) -> dict[bytes, _Kept]:
        """Embed new texts; what it takes is shared among them by their lengths."""
        texts = list(new.values())
        began = self._clock()
        vectors = embed(texts).cpu()
        each = (self._clock() - began) / max(1, sum(map(len, texts)))
        fresh = {key: (vector, each * len(text)) for (key, text), vector in zip(new.items(), vectors, strict=True)}
        if self.learning:
            self._remember(fresh)
            if self._log is not None:
                self._unsaved |= fresh
        return fresh

    def _find(self, key: bytes) -> _Kept | None:
        if key in self._known:
            return self._known[key]
        if key in self._unsaved:
            return self._unsaved[key]
        stored = self._log.get(key) if self._log is not None else None
        if stored is None:
            return None
        kept = torch.from_numpy(stored[0]), stored[1]
        self._remember({key: kept})
        return kept

    def _remember(self, kept: dict[bytes, _Kept]) -> None:
        self._known |= kept
        while len(self._known) > self._most_known:
            self._known.popitem(last=False)


def _key(kind: str, text: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode(errors="surrogatepass")).digest()
