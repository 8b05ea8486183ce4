"""Memory in Markdown files, as coding agents keep it: a line for each passage, searched with grep.

An agent would choose what to search for. Here each word of the question is searched for, the rarest first, until
`lines` lines are found; the newest lines of a word come first. With each line the `around` lines before and after it
are read, as with `grep -C`. Words are compared whole and in lower case. Nothing is rewritten: without a language model,
there is nobody to tidy the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import said
from eval.systems.options import options_of
from eval.systems.plain_retrieval import plain_words
from nscma_torch.core.config import Section


class MarkdownOptions(Section):
    """Options of kind markdown-files."""

    lines: int = Field(4, gt=0, description="Lines that are found.")
    around: int = Field(1, ge=0, description="Lines that are read before and after each of them.")


class MarkdownFiles:
    """All passages as lines, and the lines that contain each word."""

    def __init__(self, options: MarkdownOptions) -> None:
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._lines: dict[str, list[int]] = {}

    def keep(self, passages: Sequence[Passage]) -> None:
        """Write the lines."""
        self._passages = passages
        for number, passage in enumerate(passages):
            for word in dict.fromkeys(plain_words(said(passage))):
                self._lines.setdefault(word, []).append(number)

    def find(self, question: str, now: datetime) -> Found:  # noqa: ARG002
        """The lines found, each before those around it, best first."""
        found: dict[int, None] = {}
        words = [word for word in dict.fromkeys(plain_words(question)) if word in self._lines]
        for word in sorted(words, key=lambda one: len(self._lines[one])):
            for number in reversed(self._lines[word]):
                if len(found) < self._options.lines:
                    found[number] = None
        around = range(-self._options.around, self._options.around + 1)
        read = dict.fromkeys(number + step for number in found for step in sorted(around, key=abs))
        passages = [self._passages[number] for number in read if 0 <= number < len(self._passages)]
        return Found(passages, passages)

    def store_bytes(self) -> int:
        """Of the texts: grep has no index."""
        return text_bytes(self._passages)


def make_markdown_files(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind markdown-files."""
    options = options_of(MarkdownOptions(), section)
    return Baseline(section["name"], options, shared, lambda *_: nullcontext(MarkdownFiles(options)))
