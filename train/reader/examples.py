"""What the reader learns from: a question over passages with the spans that answer it, or a pair with a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from nscma_torch.reading.reader_input import InputPassage

Task = Literal["read", "stance", "change"]


class Span(NamedTuple):
    """Characters [start, end) of the passage's text, or of its speaker's name."""

    start: int
    end: int
    of_text: bool = True


@dataclass(frozen=True, slots=True)
class Labelled:
    """A passage with what is right in it.

    `answers` are right spans; `holds`: whether the passage is evidence of the answer, None where it is not known.
    """

    passage: InputPassage
    answers: tuple[Span, ...] = ()
    holds: bool | None = False


@dataclass(frozen=True, slots=True)
class Example:
    """A question and its passages, which share one softmax, or a text and passages, the last with a class of `task`.

    `kind` and `label` are places in the model's KINDS, and STANCES (of what answers a question, too) or CHANGES; None
    where they are not known.
    """

    source: str
    task: Task
    question: str
    passages: tuple[Labelled, ...]
    kind: int | None = None
    label: int | None = None


def plain(text: str) -> str:
    """Lower case with one kind of apostrophe, of the same length."""
    lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lowered.replace("’", "'").replace("‘", "'")
