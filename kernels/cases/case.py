"""Benchmark case: a shape, and the functions that run on it."""

from __future__ import annotations

from collections.abc import Callable

Case = tuple[str, dict[str, Callable[[], object]]]  # shape, and the implementations, ours first; see `PeerShare`


class PeerShare:
    """A peer too slow for the whole work: it does a share of it, and its time is divided by that share."""

    def __init__(self, run: Callable[[], object], share: float) -> None:
        self._run = run
        self.share = share

    def __call__(self) -> object:
        return self._run()
