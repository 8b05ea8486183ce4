"""Cache the recent messages in the streams that this process wrote last, so the next `add` needn't read them.

A window is valid until something else is written for its user, in this process or another one. Each is stored with the
user's version (`user_versions.version`) after its last message's commit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from torch import Tensor

from nscma_torch.core import erasable_cache

_STREAMS = 16  # windows that are kept, of about 400 kB


@dataclass(frozen=True, slots=True)
class Window:
    """The texts of a stream's recent messages, oldest first, and their vectors [n, d]; None if vectors are not
    compared.
    """

    history: Sequence[str]
    vectors: Tensor | None


class Windows:
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
