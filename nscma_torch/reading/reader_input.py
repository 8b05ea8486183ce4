"""Encode a question and its passages as rows of tokens for the reader.

    [CLS] question [SEP] day speaker: text [SEP] day speaker: text [SEP] ...

Passages in one row are read together, in order, so that a later one can be compared with an earlier one. An answer span
lies in a passage's text or speaker's name. A passage's date is included if it differs from the previous passage's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

from nscma_torch.core.errors import ModelError

PADDED_TO = 32  # tokens: rows are padded to a multiple of it, or of a part of it
QUESTION_TOKENS = 64  # maximum tokens of a question; longer ones are truncated
SPEAKER_TOKENS = 16  # most of a speaker's name
PART_TOKENS = 128  # maximum tokens of a long passage that are read again with others
OVERLAP = 0.5  # of the pieces of a long text, with the next piece


@dataclass(frozen=True, slots=True)
class InputPassage:
    """A text that may contain an answer, with its speaker and time.

    If not all passages fit in one row, passages with the smallest `rank` are read together. `context` passages only
    help to understand others, and are added to their rows if there is room.
    """

    text: str
    speaker: str = ""
    said_at: datetime | None = None
    rank: int = 0
    context: bool = False


class Piece(NamedTuple):
    """The origin of a token: characters `start` to `end` in a passage's text or in its speaker's name."""

    passage: int
    of_text: bool
    start: int
    end: int


class InputPart(NamedTuple):
    """A passage, or a piece of a long passage, as tokens: date tokens, and all other tokens with their origins."""

    passage: int
    place: int  # index among the passage's overlapping pieces
    day: list[int]
    tokens: list[tuple[int, Piece | None]]

    @property
    def size(self) -> int:
        """Return the maximum number of tokens that the part takes in a row."""
        return len(self.day) + len(self.tokens) + 1

    def around(self, token: int) -> InputPart:
        """Return the part cut to the speaker and at most `PART_TOKENS` text tokens around token number `token`."""
        said = next((i for i, (_, piece) in enumerate(self.tokens) if piece is not None and piece.of_text), 0)
        start = max(said, min(token - PART_TOKENS // 2, len(self.tokens) - PART_TOKENS))
        return self._replace(tokens=[*self.tokens[:said], *self.tokens[start : start + PART_TOKENS]])


@dataclass(frozen=True, slots=True)
class InputRow:
    """One row of tokens.

    `question_length` is the number of tokens up to and including the first separator. `pieces` has the origin of each
    token, or None if the token can't be part of an answer. `ends` has the last token of each of the row's `parts`.
    """

    ids: list[int]
    question_length: int
    pieces: list[Piece | None]
    parts: list[InputPart]
    ends: list[int]

    def tokens_of(self, passage: int, start: int, end: int, *, of_text: bool = True) -> tuple[int, int] | None:
        """Return the first and last token of characters [start, end), or None if the row doesn't contain them all."""
        inside = [
            (i, piece)
            for i, piece in enumerate(self.pieces)
            if piece is not None
            and (piece.passage, piece.of_text) == (passage, of_text)
            and piece.start < end
            and piece.end > start
        ]
        if not inside or inside[0][1].start > start or inside[-1][1].end < end:
            return None
        return inside[0][0], inside[-1][0]

    def characters_of(self, first: int, last: int) -> Piece:
        """Return the characters of tokens `first` to `last`, which must have the same source."""
        begin, finish = self.pieces[first], self.pieces[last]
        assert begin is not None and finish is not None and begin[:2] == finish[:2]
        return begin._replace(end=finish.end)


class InputRows(NamedTuple):
    """B rows as tensors, padded to the length L of the longest."""

    ids: Tensor  # [B, L] int64
    mask: Tensor  # [B, L] bool, False at padding
    passage: Tensor  # [B, L] bool, True at the tokens after the question


def padded_rows(rows: Sequence[InputRow], multiple: int = 1) -> InputRows:
    """Stack rows into tensors whose length is a multiple of `multiple`.

    Padding is masked, so its token id is arbitrary.
    """
    longest = max(len(row.ids) for row in rows)
    ids = torch.zeros(len(rows), longest + -longest % multiple, dtype=torch.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = torch.tensor(row.ids)
    asked = torch.tensor([row.question_length for row in rows])
    size = torch.tensor([len(row.ids) for row in rows])
    place = torch.arange(ids.shape[1])
    mask = place < size[:, None]
    return InputRows(ids, mask, mask & (place >= asked[:, None]))


def target_tokens(rows: Sequence[InputRow], length: int) -> Tensor:  # [B, length] bool
    """Return a mask of the tokens in each row that belong to the last passage's text."""
    target = torch.zeros(len(rows), length, dtype=torch.bool)
    for number, row in enumerate(rows):
        last = max((part.passage for part in row.parts), default=-1)
        own = [i for i, p in enumerate(row.pieces) if p is not None and p.of_text and p.passage == last]
        target[number, own] = True
    return target


def asked_by(name: str, question: str) -> str:
    """Prefix a question with the name of its asker, to whom "I" refers."""
    return f"{name} asks: {question}"


def slot_question(subject: str, predicate: str) -> str:
    """Return the question that asks for a statement's object."""
    return f"{subject} {predicate} what?"


class Packer:
    """Builds rows of at most `max_tokens` tokens.

    The tokens that the tokenizer puts before and after a text are used as [CLS] and [SEP]. Raises `ModelError` unless
    it puts exactly one token at each end.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        around: list[int] = tokenizer.encode("").ids
        if len(around) != 2:
            raise ModelError(
                f"a reader needs a tokenizer that puts one token before a text and one after it, such as [CLS] and "
                f"[SEP]; this one puts {len(around)} around it: choose another base"
            )
        self._cls, self._sep = around
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens

    def rows(self, question: str, passages: Sequence[InputPassage]) -> list[InputRow]:
        """Build the rows for a question; they contain every non-context passage, in order within each row."""
        asked = self._asked(question)
        room = self._max_tokens - len(asked)
        filled: list[list[InputPart]] = []
        for number in sorted(range(len(passages)), key=lambda i: (passages[i].context, passages[i].rank, i)):
            for part in self._parts(number, passages[number], room):
                row = next((own for own in filled if sum(p.size for p in own) + part.size <= room), None)
                if row is not None:
                    row.append(part)
                elif not passages[number].context or not filled:
                    filled.append([part])
        return [self._row(asked, own) for own in filled]

    def joined(self, question: str, parts: Sequence[InputPart]) -> InputRow:
        """Build one row from as many of the first parts as there is room for, without overlapping pieces."""
        asked = self._asked(question)
        room = self._max_tokens - len(asked)
        chosen: list[InputPart] = []
        for part in parts:
            beside = any(own.passage == part.passage and abs(own.place - part.place) <= 1 for own in chosen)
            if not beside and part.size <= room:
                chosen.append(part)
                room -= part.size
        return self._row(asked, chosen)

    def _asked(self, question: str) -> list[int]:
        return [self._cls, *self._ids(question)[:QUESTION_TOKENS], self._sep]

    def _parts(self, number: int, passage: InputPassage, room: int) -> Iterator[InputPart]:
        """Yield the whole passage as one part, or overlapping pieces of its text; there is at least one."""
        day = list(self._ids(f"{passage.said_at:%d %B %Y}")) if passage.said_at is not None else []
        speaker = self._pieces(number, passage.speaker, of_text=False)[:SPEAKER_TOKENS]
        if passage.speaker:
            speaker += [(i, None) for i in self._ids(":")]
        tokens = self._pieces(number, passage.text, of_text=True)
        most = max(16, room - len(day) - len(speaker) - 1)
        step = max(1, int(most * (1 - OVERLAP)))
        starts = range(0, max(1, len(tokens) - most + step), step) if len(tokens) > most else (0,)
        for place, start in enumerate(starts):
            yield InputPart(number, place, day, [*speaker, *tokens[start : start + most]])

    def _pieces(self, number: int, text: str, *, of_text: bool) -> list[tuple[int, Piece | None]]:
        """Return the tokens of a text with their characters.

        The space that many tokenizers include at the beginning of a word is excluded.
        """
        read = self._tokenizer.encode(text, add_special_tokens=False)
        pieces: list[tuple[int, Piece | None]] = []
        for i, (start, end) in zip(read.ids, read.offsets, strict=True):
            word = text[start:end].lstrip()
            pieces.append((i, Piece(number, of_text, end - len(word), end) if word else None))
        return pieces

    def _ids(self, text: str) -> Sequence[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _row(self, asked: list[int], parts: Sequence[InputPart]) -> InputRow:
        ids = list(asked)
        pieces: list[Piece | None] = [None] * len(asked)
        ordered = sorted(parts, key=lambda part: part[:2])
        ends: list[int] = []
        day: list[int] = []
        for part in ordered:
            dated = part.day if part.day != day else []
            day = part.day
            ids += [*dated, *(i for i, _ in part.tokens), self._sep]
            pieces += [*(None for _ in dated), *(piece for _, piece in part.tokens), None]
            ends.append(len(ids) - 1)
        return InputRow(ids, len(asked), pieces, ordered, ends)
