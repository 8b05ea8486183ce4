"""The recent messages of the streams that this process added to last, so that the next `add` need not read them again.

A window is used for as long as nothing else of its user was written since, in this process or another one: each is kept
with the user's version (`user_versions.version`) that the commit of its last message left.
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
    """Texts of a stream's recent messages, oldest first, and their vectors [n, d]; None where none are compared."""

    history: Sequence[str]
    vectors: Tensor | None


class Windows:
    """Windows by stream; safe to share between threads. Erasing anything in this process empties it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, int], Window]] = OrderedDict()
        self._erasures = 0
        self._lock = Lock()
        erasable_cache.empty_with_others(self)

    @property
    def erasures(self) -> int:
        """Number of erasures seen: read it before a transaction whose window is to be kept."""
        return self._erasures

    def get(self, stream_id: str, version: tuple[int, int]) -> Window | None:
        """The stream's window where the user is still of this version; an older one is dropped."""
        with self._lock:
            kept, window = self._kept.pop(stream_id, (None, None))
            if kept != version or window is None:
                return None
            self._kept[stream_id] = version, window
            return window

    def put(self, stream_id: str, version: tuple[int, int], window: Window, *, erasures: int) -> None:
        """Keep the window that a commit left, unless something was erased since `erasures` was read."""
        with self._lock:
            if erasures != self._erasures:
                return
            self._kept[stream_id] = version, window
            self._kept.move_to_end(stream_id)
            while len(self._kept) > _STREAMS:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        """Let go of every window."""
        with self._lock:
            self._kept.clear()
            self._erasures += 1
