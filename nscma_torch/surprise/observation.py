"""The gate's input for one message: a few numbers that can be stored as JSON, so that any rule can decide
again later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.surprise.measurement import measure, memory_nats, repeats

_SCRIPTS = (  # first and last code point
    ("latin", 0x41, 0x24F),
    ("latin", 0x1E00, 0x1EFF),
    ("greek", 0x370, 0x3FF),
    ("cyrillic", 0x400, 0x52F),
    ("hebrew", 0x590, 0x5FF),
    ("arabic", 0x600, 0x77F),
    ("devanagari", 0x900, 0x97F),
    ("thai", 0xE00, 0xE7F),
    ("kana", 0x3040, 0x30FF),
    ("cjk", 0x3400, 0x9FFF),
    ("hangul", 0xAC00, 0xD7A3),
    ("cjk", 0x20000, 0x323AF),
)

_QUESTION_MARKS = "?？؟"


@dataclass(frozen=True, slots=True)
class Observation:
    """One message as the gate sees it."""

    tokens: int  # of the surprise model, with the end of the message
    mean: float  # surprise S, nats per token
    nats: float  # clamped information
    memory_nats: float  # size by a compressor that has read the recent stream
    code_share: float  # share of bytes in ids, hashes, base64 and the like, 0 to 1
    salience: float  # cue lexicon, 0 to 1, 0.5 neutral
    repeat: bool  # the stream, or another one of the user, already said this
    script: str  # most frequent writing system
    nearest: float | None = None  # cosine to the nearest earlier message of the stream; None without vectors
    news: float | None = None  # words that none of the near ones has; None if none is near
    answers: bool = False  # the message before it ends with a line that asks something
    learned: float | None = None  # log-odds of the salience head; None without it or without vectors
    gradient: float | None = None  # norm of the gradient of the stream's associative memory; None where not measured
    bytewise: bool = True  # tokens are bytes, as those of the bundled surprise model

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready fields."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Observation:
        """Build from the result of `to_dict`. Raises `InvalidInputError` for missing, unknown or invalid fields."""
        try:
            return cls(**fields)
        except TypeError as error:
            raise InvalidInputError(f"not a gate observation ({error}): pass what to_dict returned") from error

    def __post_init__(self) -> None:
        numbers = (self.tokens, self.mean, self.nats, self.memory_nats, self.code_share, self.salience)
        known = [
            *numbers,
            *(number for number in (self.nearest, self.news, self.learned, self.gradient) if number is not None),
        ]
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in known) or self.tokens < 1:
            raise InvalidInputError(f"a gate observation needs finite numbers and at least one token, got {self}")


def script_of(text: str) -> str:
    """Return the writing system with the most letters in `text`, or "other" if it has no letters. Chinese characters
    with kana are "kana".
    """
    counts: dict[str, int] = {}
    for char in text:
        if char.isalpha():
            code = ord(char)
            name = next((name for name, first, last in _SCRIPTS if first <= code <= last), "other")
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return "other"
    if "kana" in counts:
        counts["kana"] += counts.pop("cjk", 0)
    counts["cjk"] = 3 * counts.get("cjk", 0)  # a character says about as much as three letters
    return max(counts, key=lambda name: (counts[name], name))


def observe(
    text: str,
    nll: Tensor,
    history: str,
    salience: float,
    *,
    ends: Tensor | None = None,
    nearest: float | None = None,
    news: float | None = None,
    learned: float | None = None,
    gradient: float | None = None,
) -> Observation:
    """Observe a message.

    Args:
        text: the message.
        nll, ends: the nats and end of each token, as in `measure`.
        history: the recent text of the message's stream, one message per line, oldest first; only the last 32 KB count.
        salience: a value from 0 to 1, from a cue lexicon.
        nearest: cosine similarity to the nearest earlier message in the stream, 0 if there is none; None without
            vectors.
        news: how much of the message no near earlier message says; None if no message is near.
        learned: log-odds from a `SalienceHead`; None without one.
        gradient: the result of `gradient_surprise`; None if not measured.

    Raises:
        InvalidInputError: `nll` or `ends` don't match the text.
    """
    surprise = measure(text, nll, ends)
    return Observation(
        tokens=surprise.tokens,
        mean=surprise.mean,
        nats=surprise.nats,
        memory_nats=memory_nats(text, history),
        code_share=surprise.code_share,
        salience=salience,
        repeat=repeats(text, history),
        script=script_of(text),
        nearest=nearest,
        news=news,
        answers=any(mark in history.rsplit("\n", 1)[-1] for mark in _QUESTION_MARKS),
        learned=learned,
        gradient=gradient,
        bytewise=ends is None,
    )
