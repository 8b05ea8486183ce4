"""The repetition window: a stream's newest messages, with which the next one is compared for repetition and news.

The windows of the streams that this process wrote last are cached, so the next `add` needn't read them. A cached window
is valid until something else is written for its user, in this process or another one. Each is stored with the user's
version (`user_versions.version`) after its last message's commit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.core import erasable_cache
from nscma_torch.episodic.log import episodes
from nscma_torch.ingest.novelty import followed, stored_vectors

LENGTH = 32_768  # characters
_STREAMS = 16  # cached windows, of about 400 kB


@dataclass(frozen=True, slots=True)
class Window:
    """The last `LENGTH` characters of a stream as whole messages, or the end of a longer last message.

    Attributes:
        history: the texts, oldest first.
        vectors: their vectors [n, d], with zeros for missing ones; None if vectors are not compared.
    """

    history: Sequence[str] = ()
    vectors: Tensor | None = None

    def after(self, texts: Sequence[str], vectors: Tensor | None) -> Window:
        """Return the window after these messages, given their vectors [m, d]."""
        history = newest(self.history, texts)
        if vectors is not None:
            before = vectors.new_zeros(len(self.history), 1) if self.vectors is None else self.vectors
            vectors = followed(before, vectors)[len(self.history) + len(texts) - len(history) :]
        return Window(history, vectors)


def newest(history: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the texts in the window after `texts` follow `history`, oldest first."""
    return episodes.newest([*reversed(texts), *reversed(history)], LENGTH)


def read(connection: Connection, stream_id: str, *, vectors: bool) -> Window:
    """Read a stream's window from the store, with the messages' vectors if asked for."""
    recent = episodes.recent(connection, stream_id, LENGTH)
    return Window(list(recent.values()), stored_vectors(connection, stream_id, list(recent)) if vectors else None)


class WindowCache:
    """Windows by stream. Thread-safe. Any erasure in this process empties the cache."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, int], Window]] = OrderedDict()
        self._erasures = 0
        self._lock = Lock()
        erasable_cache.empty_with_others(self)

    @property
    def erasures(self) -> int:
        """Return the number of erasures so far; read it before a transaction if its window will be stored."""
        return self._erasures

    def get(self, stream_id: str, version: tuple[int, int]) -> Window | None:
        """Return the stream's window if the user still has this version; drop it if it is older."""
        with self._lock:
            kept, window = self._kept.pop(stream_id, (None, None))
            if kept != version or window is None:
                return None
            self._kept[stream_id] = version, window
            return window

    def put(self, stream_id: str, version: tuple[int, int], window: Window, *, erasures: int) -> None:
        """Store the window after a commit, unless an erasure happened since `erasures` was read."""
        with self._lock:
            if erasures != self._erasures:
                return
            self._kept[stream_id] = version, window
            self._kept.move_to_end(stream_id)
            while len(self._kept) > _STREAMS:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        """Drop every window."""
        with self._lock:
            self._kept.clear()
            self._erasures += 1
