"""Which passages a reader knows of, and in what order it reads them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from eval.harness.contract import Passage


def said_at(passage: Passage, now: datetime) -> datetime:
    """When it was said: now, if its message does not tell."""
    return passage.message.timestamp or now


def known(passages: Sequence[Passage], now: datetime) -> list[Passage]:
    """Those that say something and were said by now."""
    return [passage for passage in passages if passage.text.strip() and said_at(passage, now) <= now]


def as_said(passages: Sequence[Passage], now: datetime) -> list[Passage]:
    """In the order they were said."""
    return sorted(passages, key=lambda passage: (said_at(passage, now), passage.place, passage.start))
