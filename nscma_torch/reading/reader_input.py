"""What the reader is given: a question and a passage as one row of tokens, cut into windows where it is too long.

    [CLS] question [SEP] turns before [SEP] day speaker: text [SEP]

A span of the answer lies in the text or is the speaker's name; the turns before are there to be understood by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

CLS, SEP = 101, 102  # of BERT's uncased vocabulary
QUESTION_TOKENS = 64  # most of a question; what is longer is cut at its end
BEFORE_TOKENS = 64  # most of the turns before; the latest are kept
HEADER_TOKENS = 24  # most of day and speaker
TURNS_BEFORE = 2  # of the same day that stand before a passage
OVERLAP = 0.5  # of a window's text, with the next window


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that may hold an answer, with who said it, when, and the turns before it, oldest first."""

    text: str
    speaker: str = ""
    said_at: datetime | None = None
    before: tuple[str, ...] = ()


class Piece(NamedTuple):
    """Where a token is from: characters `start` to `end` of the text, or of the speaker's name."""

    of_text: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Window:
    """One row of tokens. `question_length` counts those up to the first separator; `pieces` are of the last ones.

    Token `first_piece + i` is `pieces[i]`, or None where no answer can lie.
    """

    ids: list[int]
    question_length: int
    first_piece: int
    pieces: list[Piece | None]

    def tokens_of(self, start: int, end: int, *, of_text: bool = True) -> tuple[int, int] | None:
        """First and last token of characters [start, end); None where the window does not hold them whole."""
        inside = [
            i
            for i, piece in enumerate(self.pieces)
            if piece is not None and piece.of_text == of_text and piece.start < end and piece.end > start
        ]
        if not inside:
            return None
        first, last = self.pieces[inside[0]], self.pieces[inside[-1]]
        assert first is not None and last is not None
        whole = first.start <= start and last.end >= end
        return (self.first_piece + inside[0], self.first_piece + inside[-1]) if whole else None

    def characters_of(self, first: int, last: int) -> Piece:
        """The characters of tokens `first` to `last`, of one source."""
        begin, finish = self.pieces[first - self.first_piece], self.pieces[last - self.first_piece]
        assert begin is not None and finish is not None and begin.of_text == finish.of_text
        return Piece(begin.of_text, begin.start, finish.end)


class Rows(NamedTuple):
    """B windows as tensors, padded to the longest, L tokens."""

    ids: Tensor  # [B, L] int64
    mask: Tensor  # [B, L] bool, False at padding
    passage: Tensor  # [B, L] bool, True at the tokens after the question


def padded_rows(windows: Sequence[Window], multiple: int = 1) -> Rows:
    """The windows as rows of a length that is a multiple of `multiple`."""
    longest = max(len(window.ids) for window in windows)
    ids = torch.zeros(len(windows), longest + -longest % multiple, dtype=torch.int64)
    for row, window in enumerate(windows):
        ids[row, : len(window.ids)] = torch.tensor(window.ids)
    asked = torch.tensor([window.question_length for window in windows])
    size = torch.tensor([len(window.ids) for window in windows])
    place = torch.arange(ids.shape[1])
    mask = place < size[:, None]
    return Rows(ids, mask, mask & (place >= asked[:, None]))


def asked_by(name: str, question: str) -> str:
    """The question with its asker named, who says "I" in it."""
    return f"{name} asks: {question}"


class Packer:
    """Makes windows of at most `max_tokens` tokens."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens

    def windows(self, question: str, passage: Passage) -> Iterator[Window]:
        """The windows of a passage in the order of its text; at least one."""
        asked = self._ids(question)[:QUESTION_TOKENS]
        before = self._ids("\n".join(passage.before))[-BEFORE_TOKENS:] if passage.before else []
        day = f"{passage.said_at:%d %B %Y} " if passage.said_at is not None else ""
        head = [CLS, *asked, SEP, *before, SEP, *self._ids(day)]
        named = self._tokenizer.encode(passage.speaker, add_special_tokens=False) if passage.speaker else None
        header: list[tuple[int, Piece | None]] = []
        if named is not None:
            for i, at in zip(named.ids[:HEADER_TOKENS], named.offsets[:HEADER_TOKENS], strict=True):
                header.append((i, Piece(False, *at)))
            header += [(i, None) for i in self._ids(":")]
        text = self._tokenizer.encode(passage.text, add_special_tokens=False)
        tokens: list[tuple[int, Piece | None]] = [
            (i, Piece(True, *at)) for i, at in zip(text.ids, text.offsets, strict=True)
        ]
        room = max(16, self._max_tokens - len(head) - len(header) - 1)
        step = max(1, int(room * (1 - OVERLAP)))
        for start in range(0, max(1, len(tokens) - room + step), step) if len(tokens) > room else (0,):
            row = [*header, *tokens[start : start + room]]
            yield Window([*head, *(i for i, _ in row), SEP], len(asked) + 2, len(head), [at for _, at in row])

    def _ids(self, text: str) -> Sequence[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids
