"""One summary of everything, renewed as the conversation goes on, and nothing else.

ConversationSummaryMemory of LangChain (langchain/memory/summary.py): after each exchange the language model is shown
the summary so far and the new lines, and writes the new summary; the context of an answer is the last one. Here an
exchange is `lines` passages, by default 2 as there. Without an engine the summary is extracted: the sentences of the
old one and of the new lines that together cover most of both, as the embedded controller does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found
from eval.systems.documents import said
from eval.systems.options import options_of
from nscma_torch.core.config import Section
from nscma_torch.core.errors import EngineError
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import LanguageEngine, Request, Turn
from nscma_torch.reading.extractive_summary import extract_summary

_INSTRUCTIONS = (
    "You keep the running summary of a conversation. You are given the summary so far and new lines of the "
    "conversation. Write the new summary: what the old one says, with what the new lines add, and with what they "
    "change. Use at most {words} words, and write nothing but the summary."
)
_TOKENS_PER_WORD = 2  # room for a reply that was asked to keep to so many words


class RollingSummaryOptions(Section):
    """Options of kind rolling-summary."""

    lines: int = Field(2, gt=0, description="Passages that go into the summary at once.")
    words: int = Field(300, gt=0, description="Longest summary in words.")


class RollingSummary:
    """The summary.

    Args:
        engine: what writes it; None extracts it.
        seed: of the engine's sampling.
    """

    def __init__(self, engine: LanguageEngine | None, options: RollingSummaryOptions, seed: int) -> None:
        self._engine = engine
        self._options = options
        self._seed = seed
        self._summary = ""
        self._last: Passage | None = None

    def keep(self, passages: Sequence[Passage]) -> None:
        """Renew the summary exchange by exchange. Raises the engine's `EngineError`."""
        for start in range(0, len(passages), self._options.lines):
            new = [said(passage) for passage in passages[start : start + self._options.lines]]
            self._summary = self._extracted(new) if self._engine is None else self._written(self._engine, new)
        self._last = passages[-1] if passages else None

    def _extracted(self, new: Sequence[str]) -> str:
        old = self._summary.split("\n") if self._summary else []
        return extract_summary([*old, *new], self._options.words)

    def _written(self, engine: LanguageEngine, new: Sequence[str]) -> str:
        lines = "\n".join(new)
        turns = (
            Turn("system", _INSTRUCTIONS.format(words=self._options.words)),
            Turn("user", f"Summary so far:\n{self._summary or '(none)'}\n\nNew lines:\n{lines}\n\nNew summary:"),
        )
        (reply,) = engine.generate([Request(turns, max_tokens=_TOKENS_PER_WORD * self._options.words, seed=self._seed)])
        if isinstance(reply, EngineError):
            raise reply
        return reply.text.strip()

    def find(self, question: str, now: datetime) -> Found:  # noqa: ARG002
        """The summary as one passage that nobody said."""
        if self._last is None:
            return Found(())
        whole = Message("document", self._summary, self._last.message.timestamp)
        return Found([Passage(self._last.place, whole, self._summary)])

    def store_bytes(self) -> int:
        """Of the summary."""
        return len(self._summary.encode())


def make_rolling_summary(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind rolling-summary."""
    options = options_of(RollingSummaryOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(RollingSummary(engine, options, shared.seed)),
    )
