"""No memory at all: the last tokens of what was said, or everything, handed to the reader in the order it was said.

`sliding-window` keeps the newest passages that have `tokens` tokens together, 8192 by default, as a chat does that
forgets what leaves its context; `last-turns` keeps the last `turns` messages, 10 by default, however long they are;
`full-context` keeps everything. Tokens are counted as the embedder counts them,
without its special tokens, so that the window is the same whatever reads it. The language model must have room for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import places_of
from eval.systems.options import options_of
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder


class WindowOptions(Section):
    """Options of kind sliding-window."""

    tokens: int = Field(8192, gt=0, description="Most tokens of all passages together.")


class LastTurnsOptions(Section):
    """Options of kind last-turns."""

    turns: int = Field(10, gt=0, description="Messages that are kept.")


class FullContextOptions(Section):
    """Kind full-context has no options."""


class Window:
    """The newest passages.

    Args:
        tokens: most tokens of all of them together; None for no limit.
    """

    def __init__(self, embedder: Embedder, tokens: int | None) -> None:
        self._embedder = embedder
        self._tokens = tokens
        self._passages: Sequence[Passage] = ()

    def keep(self, passages: Sequence[Passage]) -> None:
        """Drop what does not fit, oldest first."""
        self._passages = passages if self._tokens is None else self._newest(passages, self._tokens)

    def _newest(self, passages: Sequence[Passage], left: int) -> Sequence[Passage]:
        empty = self._embedder.count_tokens([""])[0]
        first = len(passages)
        while first:
            left -= self._embedder.count_tokens([passages[first - 1].text])[0] - empty
            if left < 0:
                break
            first -= 1
        return passages[first:]

    def find(self, question: str, now: datetime) -> Found:  # noqa: ARG002
        """All of them."""
        return Found(self._passages)

    def store_bytes(self) -> int:
        """Of the texts."""
        return text_bytes(self._passages)


class LastTurns:
    """The passages of the last messages."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._passages: Sequence[Passage] = ()

    def keep(self, passages: Sequence[Passage]) -> None:
        """Drop those of earlier messages."""
        kept = set(places_of(passages)[-self._turns :])
        self._passages = [passage for passage in passages if passage.place in kept]

    def find(self, question: str, now: datetime) -> Found:  # noqa: ARG002
        """All of them."""
        return Found(self._passages)

    def store_bytes(self) -> int:
        """Of the texts."""
        return text_bytes(self._passages)


def make_sliding_window(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind sliding-window."""
    options = options_of(WindowOptions(), section)
    return _baseline(section["name"], options, shared, options.tokens)


def make_last_turns(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind last-turns."""
    options = options_of(LastTurnsOptions(), section)
    return Baseline(section["name"], options, shared, lambda *_: nullcontext(LastTurns(options.turns)))


def make_full_context(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind full-context."""
    return _baseline(section["name"], options_of(FullContextOptions(), section), shared, None)


def _baseline(name: str, options: Section, shared: Shared, tokens: int | None) -> Baseline:
    return Baseline(name, options, shared, lambda *_: nullcontext(Window(shared.embedder, tokens)))
