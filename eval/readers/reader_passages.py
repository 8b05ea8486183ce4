"""Which passages a reader knows of, in what order it reads them, how a model sees them, how much an embedder reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from eval.harness.contract import Passage
from nscma_torch.core.protocols import Embedder
from nscma_torch.llm.prompts.answering import shown_line
from nscma_torch.reading.passage import first_words

_WORDS = 120  # of a text that are embedded, where the embedder reads so many


def said_at(passage: Passage, now: datetime) -> datetime:
    """When it was said: now, if its message does not tell."""
    return passage.message.timestamp or now


def known(passages: Sequence[Passage], now: datetime) -> list[Passage]:
    """Those that say something and were said by now."""
    return [passage for passage in passages if passage.text.strip() and said_at(passage, now) <= now]


def as_said(passages: Sequence[Passage], now: datetime) -> list[Passage]:
    """In the order they were said."""
    return sorted(passages, key=lambda passage: (said_at(passage, now), passage.place, passage.start))


def shown_lines(passages: Sequence[Passage], now: datetime) -> list[str]:
    """Show passages to a model as the product shows messages, in the order they were said."""
    said = ((passage.message, passage.text) for passage in as_said(passages, now))
    return [shown_line(message.name or message.role, message.timestamp, text) for message, text in said]


def readable(text: str, embedder: Embedder) -> str:
    """The beginning of a text that the embedder can read."""
    short = first_words(text, _WORDS)
    while embedder.count_tokens([short])[0] > embedder.max_tokens:
        short = short[: len(short) // 2]
    return short
