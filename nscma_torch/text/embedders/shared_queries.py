"""Share one embedder pass among concurrent questions.

If a pass is free, a caller embeds its question at once and alone, without waiting for others. While all passes are
taken, callers queue; when a pass becomes free, the first caller in the queue embeds all queued questions together.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from nscma_torch.core.protocols import Embedder, QueryEmbedder

_LEAST = 2  # passes: a hanging one blocks nobody


@dataclass(slots=True, eq=False)
class _Asked:
    """A waiting question. When `turn` is set, it has its vector, leads a batch, or must be embedded alone."""

    text: str
    turn: threading.Event = field(default_factory=threading.Event)
    vector: torch.Tensor | None = None
    leads: list[_Asked] = field(default_factory=list)


class SharedQueries:
    """An `Embedder` that shares passes of `embed_query` between threads and delegates everything else.

    A vector differs from the one embedded alone by at most the embedder's batch tolerance. After a failed batch, each
    caller embeds alone, so it only sees errors caused by its own question.

    Args:
        most: maximum questions in one pass.
        passes: number of concurrent passes; by default, as many as the CPUs can run, but at least two.
    """

    def __init__(self, embedder: QueryEmbedder, *, most: int, passes: int | None = None) -> None:
        self._embedder = embedder
        self._most = most
        self._free = passes or max(_LEAST, (os.cpu_count() or 1) // torch.get_num_threads())
        self._lock = threading.Lock()  # of `_free` and `_waiting`; never held while anything is embedded
        self._waiting: deque[_Asked] = deque()  # empty while a pass is free

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
        return self._embedder.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> torch.Tensor:
        """Return the unit vector [d] for a question. Raises the embedder's errors for this question only."""
        own = _Asked(text)
        with self._lock:
            if self._free:
                self._free -= 1
                own.leads = [own]
            else:
                self._waiting.append(own)
        if not own.leads:
            own.turn.wait()
        if own.leads:
            self._run(own.leads)
        return self._embedder.embed_query(text) if own.vector is None else own.vector

    def _run(self, batch: Sequence[_Asked]) -> None:
        """Embed a batch, and pass on the turn even if an error occurs."""
        try:
            if len(batch) == 1:
                batch[0].vector = self._embedder.embed_query(batch[0].text)
            else:
                self._embed(batch)
        finally:
            self._hand_on()
            for asked in batch[1:]:
                asked.turn.set()

    def _embed(self, batch: Sequence[_Asked]) -> None:
        try:
            vectors = self._embedder.embed_queries([asked.text for asked in batch])
        except Exception:  # noqa: BLE001 - each of them meets its own error when it is embedded alone
            return
        for asked, vector in zip(batch, vectors, strict=True):
            asked.vector = vector.clone()  # not a part of the tensor that holds the others'

    def _hand_on(self) -> None:
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            self._free += not batch
        if batch:
            batch[0].leads = batch
            batch[0].turn.set()


def sharing(embedder: Embedder, most: int) -> Embedder:
    """Return an embedder that batches concurrent questions, or the embedder itself if it can't embed several at
    once."""
    return SharedQueries(embedder, most=most) if isinstance(embedder, QueryEmbedder) else embedder
