"""Examples as rows of tokens, and batches of about equal numbers of tokens in an order that the seed decides."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from nscma_torch.reading.reader_input import InputRow, Packer, padded_rows
from train.reader.examples import Example, Labelled, Span

CHUNK = 1024  # examples that are packed, and sorted by length, together


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row with its labels.

    Token pairs of right spans, the last token of each passage of which it is known whether it holds an answer, and
    whether the row does.
    """

    row: InputRow
    answers: tuple[tuple[int, int], ...]
    evidence: tuple[tuple[int, bool], ...]
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one example."""

    example: Example
    rows: tuple[LabelledRow, ...]

    @property
    def length(self) -> int:
        """Tokens of the longest row."""
        return max(len(row.row.ids) for row in self.rows)


class Batch(NamedTuple):
    """Rows of some groups, padded: B rows, L tokens of the longest."""

    groups: list[Group]
    ids: Tensor  # [B, L] int64
    mask: Tensor  # [B, L] bool
    passage: Tensor  # [B, L] bool
    spannable: Tensor  # [B, L] bool: where an answer can lie


def group_of(example: Example, packer: Packer, most_rows: int) -> Group:
    """The rows of an example, at most `most_rows`: those with an answer first."""
    packed = packer.rows(example.question, [labelled.passage for labelled in example.passages])
    rows = [_labelled(row, example.passages) for row in packed]
    rows.sort(key=lambda row: not row.answers)
    return Group(example, tuple(rows[:most_rows]))


def _labelled(row: InputRow, passages: Sequence[Labelled]) -> LabelledRow:
    answers: list[tuple[int, int]] = []
    evidence: list[tuple[int, bool]] = []
    known = True
    for part, end in zip(row.parts, row.ends, strict=True):
        number = part.passage
        own = _tokens(row, number, passages[number].answers)
        answers += own
        holds = passages[number].holds
        if holds and passages[number].answers and not own:  # a piece of a long text, without the whole answer
            holds = None if any(_touches(row, number, span) for span in passages[number].answers) else False
        if holds is None:
            known = False
        else:
            evidence.append((end, holds))
    held = any(holds for _, holds in evidence)
    return LabelledRow(row, tuple(answers), tuple(evidence), held if held or known else None)


def batches(
    examples: Sequence[Example], packers: Sequence[Packer], most_rows: int, tokens: int, seed: str
) -> Iterator[tuple[int, list[Group]]]:
    """Yield all examples once in batches of at most `tokens` tokens, padding included, or of one example.

    Each batch comes with the number of examples in the batches before it. Examples are packed when their chunk of
    `CHUNK` is reached, each by a packer drawn for it, so that a long stage needs no more memory than a short one.
    """
    order = list(examples)
    random.Random(f"{seed} order").shuffle(order)
    read = 0
    for at in range(0, len(order), CHUNK):
        rng = random.Random(f"{seed} chunk {at}")
        groups = [group_of(example, rng.choice(packers), most_rows) for example in order[at : at + CHUNK]]
        for batch in _of_similar_length(groups, tokens, rng):
            yield read, batch
            read += len(batch)


def _of_similar_length(groups: Sequence[Group], tokens: int, rng: random.Random) -> list[list[Group]]:
    made: list[list[Group]] = []
    rows = longest = 0
    for group in sorted(groups, key=lambda g: g.length):
        longest = max(longest, group.length) if rows else group.length
        if not rows or (rows + len(group.rows)) * longest > tokens:
            made.append([])
            rows, longest = 0, group.length
        made[-1].append(group)
        rows += len(group.rows)
    rng.shuffle(made)
    return made


def padded(groups: list[Group], multiple: int = 16) -> Batch:
    """The rows of these groups as tensors."""
    own = [row.row for group in groups for row in group.rows]
    rows = padded_rows(own, multiple)
    spannable = torch.zeros_like(rows.mask)
    for i, row in enumerate(own):
        spannable[i, [j for j, piece in enumerate(row.pieces) if piece is not None]] = True
    return Batch(groups, *rows, spannable)


def _tokens(row: InputRow, passage: int, spans: Sequence[Span]) -> list[tuple[int, int]]:
    found = (row.tokens_of(passage, span.start, span.end, of_text=span.of_text) for span in spans)
    return [pair for pair in found if pair is not None]


def _touches(row: InputRow, passage: int, span: Span) -> bool:
    return any(
        p is not None and p[:2] == (passage, span.of_text) and p.start < span.end and p.end > span.start
        for p in row.pieces
    )
