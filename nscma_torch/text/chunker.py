"""Cut a text into chunks that fit the embedder, at sentence ends or surprise peaks if possible."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from nscma_torch.core.errors import ConfigError
from nscma_torch.text.segmentation import Segmentation
from nscma_torch.text.sentences import split_sentences

Strategy = Literal["sentence", "fixed", "surprise"]

_CLAUSE_MARKS = re.compile(r"[,;:—–，、：；]++[\"'”’)\]」』）]*+")
_WORD = re.compile(r"\S++")
_JOINERS = "\u200d\ufe0e\ufe0f"  # zero-width joiner and variation selectors: the next or last character belongs to them
_LONGEST_COMBINATION = 32  # characters; longer stacks are cut anyway
_USUAL_CHARS_PER_TOKEN = 8  # an upper bound for prose; a longer text is not tried whole first
_HARD_CUT_MARGIN = 1.1  # more pieces than the mean needs, because tokens are not spread evenly over characters


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: `text` is exactly the characters `start:end` in the source; `n_tokens` is the tokenizer's count."""

    start: int
    end: int
    text: str
    n_tokens: int


class _Piece(NamedTuple):
    start: int
    end: int
    cost: int  # tokens above those of the empty text


class Chunker:
    """Packs whole sentences greedily into chunks of at most `max_tokens`.

    `count_tokens` is the embedder's own counter, which includes special tokens and takes batches. A sentence above the
    limit is cut at clause marks, then between words, then between characters (as in Chinese without punctuation, or
    base64), but never inside a combined character. `overlap_sentences` repeats that many sentences at the start of the
    next chunk, if they fit. `strategy="fixed"` packs words instead of sentences; "surprise" also begins a new chunk at
    each peak found by `segmentation`, in texts longer than one chunk. Every chunk is counted as a whole before it is
    returned, so the limit is kept even if the tokenizer's counts aren't additive.

    Raises `ConfigError` if not even one character fits.
    """

    def __init__(
        self,
        count_tokens: Callable[[Sequence[str]], list[int]],
        max_tokens: int,
        overlap_sentences: int = 0,
        strategy: Strategy = "sentence",
        segmentation: Segmentation | None = None,
    ) -> None:
        if strategy not in ("sentence", "fixed", "surprise"):
            raise ConfigError(f"chunker.strategy must be 'sentence', 'fixed' or 'surprise', got {strategy!r}")
        if (strategy == "surprise") != (segmentation is not None):
            raise ConfigError("chunker.strategy 'surprise' needs a 'segmentation', and no other strategy takes one")
        if overlap_sentences < 0 or (overlap_sentences and strategy != "sentence"):
            raise ConfigError(
                f"chunker.overlap_sentences = {overlap_sentences} needs strategy 'sentence' and must not be negative"
            )
        self._count = count_tokens
        self._empty = count_tokens([""])[0]
        if max_tokens <= self._empty:
            raise ConfigError(
                f"chunker.max_tokens = {max_tokens} leaves no room for {self._empty} special tokens; raise it"
            )
        self.max_tokens = max_tokens
        if segmentation is not None and segmentation.min_tokens > max_tokens:
            raise ConfigError(
                f"chunker.min_tokens = {segmentation.min_tokens} is more than chunker.max_tokens = {max_tokens}: "
                f"lower it"
            )
        self.overlap_sentences = overlap_sentences
        self.strategy: Strategy = strategy
        self._segmentation = segmentation

    def chunk(self, text: str) -> list[Chunk]:
        """Return the chunks in order. They cover all non-whitespace characters, some twice if there is overlap; "" has
        no chunks.
        """
        whole = _trimmed(text, 0, len(text))
        if whole is None:
            return []
        if len(text) <= _USUAL_CHARS_PER_TOKEN * self.max_tokens:  # most chat messages: one chunk, one count
            piece = self._counted(text, [whole])[0]
            if piece.cost <= self._room:
                return [self._chunk_of(text, piece)]
        if self.strategy == "fixed":
            units = self._fit(text, self._counted(text, _words(text, 0, len(text))), ())
        else:
            sentences = [(span.start, span.end) for span in split_sentences(text)]
            units = self._fit(text, self._counted(text, sentences), (_clauses, _words))
            if self._segmentation is not None:
                starts = self._segmentation.starts(text, sentences)
                parts = _segments(units, starts, self._segmentation.min_tokens - self._empty, self._room)
                return [self._chunk_of(text, piece) for part in parts for piece in self._pack(text, part, 0)]
        packed = self._pack(text, units, self.overlap_sentences)
        return [self._chunk_of(text, piece) for piece in packed]

    def _chunk_of(self, text: str, piece: _Piece) -> Chunk:
        return Chunk(piece.start, piece.end, text[piece.start : piece.end], piece.cost + self._empty)

    @property
    def _room(self) -> int:
        return self.max_tokens - self._empty

    def _counted(self, text: str, spans: Iterable[tuple[int, int]]) -> list[_Piece]:
        spans = list(spans)
        counts = self._count([text[start:end] for start, end in spans]) if spans else []
        return [
            _Piece(start, end, max(count - self._empty, 0)) for (start, end), count in zip(spans, counts, strict=True)
        ]

    def _fit(self, text: str, pieces: Sequence[_Piece], cutters: Sequence[_Cutter]) -> list[_Piece]:
        """Return the pieces in order; a piece above the limit is replaced by the largest pieces that the cutters
        produce.

        The first cutter makes the coarsest cuts, and the others cut pieces that are still too large; the last resort is
        single characters.
        """
        fitted: list[_Piece] = []
        for piece in pieces:
            if piece.cost <= self._room:
                fitted.append(piece)
                continue
            if cutters:
                spans = cutters[0](text, piece.start, piece.end)
                parts = self._fit(text, self._counted(text, spans) if len(spans) > 1 else [piece], cutters[1:])
            else:
                parts = self._cut_characters(text, piece)
            fitted += self._pack(text, parts, overlap=0)
        return fitted

    def _cut_characters(self, text: str, piece: _Piece) -> list[_Piece]:
        waiting, small = [piece], []
        while waiting:
            parts = self._counted(text, (span for large in waiting for span in self._even_parts(text, large)))
            small += [part for part in parts if part.cost <= self._room]
            waiting = [part for part in parts if part.cost > self._room]
        return sorted(small)

    def _even_parts(self, text: str, piece: _Piece) -> list[tuple[int, int]]:
        count = max(2, math.ceil(_HARD_CUT_MARGIN * piece.cost / self._room))
        length = piece.end - piece.start
        cuts = [_boundary(text, piece.start + length * i // count, piece.start) for i in range(1, count)]
        edges = [piece.start, *sorted({cut for cut in cuts if piece.start < cut < piece.end}), piece.end]
        if len(edges) == 2:
            if length == 1:
                raise ConfigError(
                    f"chunker.max_tokens = {self.max_tokens} is too small: the character {text[piece.start]!r} alone "
                    f"makes {piece.cost + self._empty} tokens; raise it"
                )
            edges.insert(1, piece.start + length // 2)  # one combined character that is too long: cut it after all
        return list(pairwise(edges))

    def _pack(self, text: str, units: Sequence[_Piece], overlap: int) -> list[_Piece]:
        """Join consecutive units greedily by the sum of their costs, then count each result as a whole and halve it if
        it is too large."""
        ranges: list[tuple[int, int]] = []
        first, total = 0, 0
        for i, unit in enumerate(units):
            if i > first and total + unit.cost > self._room:
                ranges.append((first, i))
                first, total = i, 0
                while (
                    first > max(ranges[-1][0] + 1, i - overlap)
                    and total + units[first - 1].cost + unit.cost <= self._room
                ):
                    first -= 1
                    total += units[first].cost
            total += unit.cost
        if units:
            ranges.append((first, len(units)))
        packed: list[_Piece] = []
        while ranges:
            packed += [units[a] for a, b in ranges if b - a == 1]
            ranges = [(a, b) for a, b in ranges if b - a > 1]
            pieces = self._counted(text, ((units[a].start, units[b - 1].end) for a, b in ranges))
            packed += [piece for piece in pieces if piece.cost <= self._room]
            large = [ab for ab, piece in zip(ranges, pieces, strict=True) if piece.cost > self._room]
            ranges = [half for a, b in large for half in ((a, (a + b) // 2), ((a + b) // 2, b))]
        return _without_contained(packed)


def _segments(units: Sequence[_Piece], starts: frozenset[int], least: int, most: int) -> list[Sequence[_Piece]]:
    """Cut the units before each of `starts`, unless a neighbouring segment would cost less than `least`.

    A segment that exceeds `most` is also cut where packing would cut it, and the next segment is counted from there.
    """
    rest = sum(unit.cost for unit in units)
    parts, first, total = [], 0, 0
    for i, unit in enumerate(units):
        peak = unit.start in starts and total >= least and rest >= least
        if i > first and (peak or total + unit.cost > most):
            parts.append(units[first:i])
            first, total = i, 0
        total += unit.cost
        rest -= unit.cost
    return [*parts, units[first:]]


def _without_contained(pieces: list[_Piece]) -> list[_Piece]:
    """Return the pieces ordered by start, without those contained in another piece (halving can leave only an
    overlap)."""
    kept: list[_Piece] = []
    for piece in sorted(pieces, key=lambda p: (p.start, -p.end)):
        if not kept or piece.end > kept[-1].end:
            kept.append(piece)
    return kept


_Cutter = Callable[[str, int, int], list[tuple[int, int]]]


def _clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return spans that end after clause marks, without surrounding whitespace; marks inside a word or number (1,000)
    don't count.
    """
    cuts = [
        match.end()
        for match in _CLAUSE_MARKS.finditer(text, start, end)
        if match[0][0] in "，、：；—" or text[match.end() : match.end() + 1].isspace()
    ]
    edges = [start, *cuts, end]
    return [span for a, b in pairwise(edges) if (span := _trimmed(text, a, b))]


def _words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [match.span() for match in _WORD.finditer(text, start, end)]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return (start + left, start + len(piece.rstrip())) if left < len(piece) else None


def _boundary(text: str, at: int, start: int) -> int:
    """Return the last position up to `at` that doesn't split a combined character."""
    nearest = max(start, at - _LONGEST_COMBINATION)
    while at > nearest and (unicodedata.combining(text[at]) or text[at] in _JOINERS or text[at - 1] == "\u200d"):
        at -= 1
    return at
