"""A larger reader as a teacher: what it makes of the rows that another is trained on (Hinton et al. 2015, section 2).

    teacher = Teacher(Path("run/large"), device)
    told = teacher.reads(batch)
    distillation_losses(student(...), batch, told)

The two need not split texts into the same tokens: a share of the teacher's softmax goes to that token of the student
which holds the first character of the teacher's span, or the last. Legend: B rows, L tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputRow, Packer, padded_rows
from nscma_torch.reading.reader_model import Outputs
from train.reader.batches import Batch, Group, LabelledRow

Character = tuple[int, bool, int]  # a place in a passage: its number, whether in its text, and which character


class Told(NamedTuple):
    """What a teacher makes of a batch of questions: probabilities, each where the student has a logit."""

    first: Tensor  # [B, L], over all tokens of all rows of a question 1, or 0 where no token could be given a share
    last: Tensor  # [B, L]
    evidence: Tensor  # [B, L], at the last token of each passage
    answerable: Tensor  # [B]


class _Read(NamedTuple):
    """A row of the student, which has this place in the batch, as the teacher's rows; `begins`: see `_rows`."""

    place: int
    row: InputRow
    rows: list[InputRow]
    begins: list[int]


class Teacher:
    """A trained reader that reads what a student does; errors as `Reader.from_pretrained`."""

    def __init__(self, weights: Path, device: torch.device, *, bfloat16: bool) -> None:
        self._model = Reader.from_pretrained(weights, device=device).model
        self._packer = Packer(self._model.encoder.tokenizer, self._model.encoder.max_tokens)
        self._device = device
        self._bfloat16 = bfloat16

    @torch.no_grad()
    def reads(self, batch: Batch) -> Told:
        """What it makes of the rows of a batch, those of its questions; of others there are zeros."""
        first, last, evidence = (torch.zeros(batch.ids.shape) for _ in range(3))
        told = Told(first, last, evidence, torch.zeros(len(batch.ids)))
        asked: list[list[_Read]] = []
        place = 0
        for group in batch.groups:
            if group.example.task == "read":
                asked.append([_Read(place + i, row.row, *self._rows(group, row)) for i, row in enumerate(group.rows)])
            place += len(group.rows)
        outputs = iter(self._outputs([row for question in asked for read in question for row in read.rows]))
        for question in asked:
            own = [(read, row, next(outputs)) for read in question for row in read.rows]
            for name in ("first", "last"):
                _give_shares(getattr(told, name), name, own)
            for read, row, out in own:
                for part, end in zip(row.parts, row.ends, strict=True):
                    _raise(told.evidence[read.place], read.row.ends[part.passage], out.evidence[end].sigmoid())
                _raise(told.answerable, read.place, out.answerable.sigmoid())
        return told

    def _rows(self, group: Group, row: LabelledRow) -> tuple[list[InputRow], list[int]]:
        """The teacher's rows of what a student's row holds, and which character each part of it begins at."""
        shown, begins = [], []
        for part in row.row.parts:
            own = [piece for _, piece in part.tokens if piece is not None and piece.of_text]
            begin, end = (own[0].start, own[-1].end) if own else (0, 0)
            passage = group.example.passages[part.passage].passage
            shown.append(replace(passage, text=passage.text[begin:end], rank=0, context=False))
            begins.append(begin)
        return self._packer.rows(group.example.question, shown), begins

    def _outputs(self, rows: Sequence[InputRow]) -> list[Outputs]:
        """The outputs of each row."""
        if not rows:
            return []
        inputs = (part.to(self._device) for part in padded_rows(rows, multiple=16))
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bfloat16):
            out = self._model(*inputs)
        parts = [part.float().cpu() for part in out]
        return [Outputs(*(part[i] for part in parts)) for i in range(len(rows))]


def distillation_losses(out: Outputs, batch: Batch, told: Told) -> dict[str, Tensor]:
    """Cross-entropies with what a teacher told, by the parts of `losses`, mean over the questions of the batch.

    Spans count as far as the teacher finds that the rows answer the question: of others it was trained on none.
    """
    parts: dict[str, list[Tensor]] = {}
    start = 0
    for group in batch.groups:
        rows = slice(start, start + len(group.rows))
        start = rows.stop
        if group.example.task != "read":
            continue
        spannable = batch.spannable[rows]
        answerable = told.answerable[rows].to(out.answerable.device)
        for logits, shares in ((out.first, told.first), (out.last, told.last)):
            taught = shares[rows].to(logits.device)[spannable]
            span = -(taught * logits[rows][spannable].log_softmax(0)).sum()
            parts.setdefault("span", []).append(answerable.max() * span)
        for i, row in enumerate(group.rows, start=rows.start):
            taught = told.evidence[i, row.row.ends].to(out.evidence.device)
            read = out.evidence[i, row.row.ends]
            parts.setdefault("evidence", []).append(F.binary_cross_entropy_with_logits(read, taught))
        read = out.answerable[rows]
        parts.setdefault("answerable", []).append(F.binary_cross_entropy_with_logits(read, answerable))
    return {name: torch.stack(own).mean() for name, own in parts.items()}


def _give_shares(shares: Tensor, end: str, own: Sequence[tuple[_Read, InputRow, Outputs]]) -> None:
    """Put the shares of a question's tokens in one softmax where the student has the same characters.

    Args:
        shares: [B, L], of the student's tokens.
        end: which of the outputs, "first" or "last".
    """
    places = [[i for i, piece in enumerate(row.pieces) if piece is not None] for _, row, _ in own]
    logits = [getattr(out, end)[places] for (_, _, out), places in zip(own, places, strict=True)]
    given = iter(torch.cat(logits).softmax(0).tolist())
    rows = sorted({read.place for read, _, _ in own})
    for (read, row, _), spannable in zip(own, places, strict=True):
        tokens = _tokens(read.row)
        for i in spannable:
            piece, share = row.pieces[i], next(given)
            assert piece is not None
            offset = read.begins[piece.passage] if piece.of_text else 0
            character = offset + (piece.start if end == "first" else piece.end - 1)
            token = tokens.get((read.row.parts[piece.passage].passage, piece.of_text, character))
            if token is not None:
                shares[read.place, token] += share
    shares[rows] /= shares[rows].sum().clamp(min=1e-9)


def _raise(values: Tensor, place: int, value: Tensor) -> None:
    values[place] = torch.maximum(values[place], value)


def _tokens(row: InputRow) -> dict[Character, int]:
    """The token of each character of a row."""
    return {
        (piece.passage, piece.of_text, character): i
        for i, piece in enumerate(row.pieces)
        if piece is not None
        for character in range(piece.start, piece.end)
    }
