"""Examples as rows of tokens, and batches of about equal numbers of tokens in an order that the seed decides."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from nscma_torch.reading.reader_input import Packer, Window, padded_rows
from train.reader.examples import Example, Span, Task

CHUNK = 1024  # examples that are sorted by length together


@dataclass(frozen=True, slots=True)
class Row:
    """A window with its labels: token pairs of right spans, those of another time, and whether it holds an answer."""

    window: Window
    answers: tuple[tuple[int, int], ...]
    outdated: tuple[tuple[int, int], ...]
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one example."""

    source: str
    task: Task
    rows: tuple[Row, ...]
    kind: int | None
    tense: int | None
    label: int | None

    @property
    def length(self) -> int:
        """Tokens of the longest row."""
        return max(len(row.window.ids) for row in self.rows)


class Batch(NamedTuple):
    """Rows of some groups, padded: B rows, L tokens of the longest."""

    groups: list[Group]
    ids: Tensor  # [B, L] int64
    mask: Tensor  # [B, L] bool
    passage: Tensor  # [B, L] bool
    spannable: Tensor  # [B, L] bool: where an answer can lie


def group_of(example: Example, packer: Packer, most_rows: int) -> Group:
    """The rows of an example, at most `most_rows`: those with an answer first."""
    rows: list[Row] = []
    for labelled in example.passages:
        for window in packer.windows(example.question, labelled.passage):
            answers = _tokens(window, labelled.answers)
            holds = labelled.holds
            if holds and labelled.answers and not answers:
                holds = False if not any(_touches(window, span) for span in labelled.answers) else None
            rows.append(Row(window, answers, _tokens(window, labelled.outdated), holds))
    rows.sort(key=lambda row: not row.answers)
    return Group(example.source, example.task, tuple(rows[:most_rows]), example.kind, example.tense, example.label)


def batches(groups: Sequence[Group], tokens: int, rng: random.Random) -> Iterator[list[Group]]:
    """All groups once, in batches of at most `tokens` tokens, padding included, or of one group."""
    order = list(groups)
    rng.shuffle(order)
    for at in range(0, len(order), CHUNK):
        made: list[list[Group]] = []
        rows = longest = 0
        for group in sorted(order[at : at + CHUNK], key=lambda g: g.length):
            longest = max(longest, group.length) if rows else group.length
            if not rows or (rows + len(group.rows)) * longest > tokens:
                made.append([])
                rows, longest = 0, group.length
            made[-1].append(group)
            rows += len(group.rows)
        rng.shuffle(made)
        yield from made


def padded(groups: list[Group], multiple: int = 16) -> Batch:
    """The rows of these groups as tensors."""
    windows = [row.window for group in groups for row in group.rows]
    rows = padded_rows(windows, multiple)
    spannable = torch.zeros_like(rows.mask)
    for i, window in enumerate(windows):
        where = [window.first_piece + j for j, piece in enumerate(window.pieces) if piece is not None]
        spannable[i, where] = True
    return Batch(groups, *rows, spannable)


def _tokens(window: Window, spans: Sequence[Span]) -> tuple[tuple[int, int], ...]:
    found = (window.tokens_of(span.start, span.end, of_text=span.of_text) for span in spans)
    return tuple(pair for pair in found if pair is not None)


def _touches(window: Window, span: Span) -> bool:
    return any(
        p is not None and p.of_text == span.of_text and p.start < span.end and p.end > span.start for p in window.pieces
    )
