"""The trained reader: short answers from passages, whether a passage answers at all, and what a statement's stance is.

    reader = Reader.from_pretrained()
    (read,) = reader.read(["Where does Ana live?"], [[Passage("I moved to Porto in May", speaker="Ana")]])
    read.spans[0].text  # "Porto"

All passages of a question share one softmax (Clark & Gardner 2018, arXiv:1710.10723, section 3.2), so that spans of
different passages compare. Rows of different questions share batches; masks keep every row to itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from nscma_torch.errors import InvalidInputError, ModelError, ModelNotFoundError
from nscma_torch.reading.reader_input import Packer, Passage, Window, padded_rows
from nscma_torch.reading.reader_model import KINDS, TENSES, Outputs, ReaderModel
from nscma_torch.text.minilm import MiniLM, bundled_folder, load_tokenizer, verify

WEIGHTS = Path(__file__).with_name("weights") / "reader.safetensors"
MAX_TOKENS = 256
MAX_SPAN = 24  # tokens of the longest answer
SPANS_PER_ROW = 3
_CPU_TOKENS = 2048  # of a batch on a CPU, padding included


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """A possible answer: characters [start, end) of the text of passage number `passage`, or its speaker's name.

    `share` is its share of the softmax over all spans of all passages, in (0, 1].
    """

    text: str
    passage: int
    start: int
    end: int
    of_text: bool
    share: float


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What the reader made of one question.

    `spans` are possible answers, best first. `answerable` has, for each passage, the probability that it answers;
    `kinds` the probabilities of `KINDS` by the passage that answers most surely, and `past` that of a question about
    what was so before.
    """

    spans: tuple[ReadSpan, ...]
    answerable: tuple[float, ...]
    kinds: tuple[float, ...]
    past: float = 0.0

    @property
    def kind(self) -> str:
        """The likeliest kind of answer."""
        return KINDS[max(range(len(KINDS)), key=lambda i: self.kinds[i])]


class _Row(NamedTuple):
    question: int
    passage: int
    window: Window


class Reader:
    """A trained `ReaderModel` with its tokenizer."""

    def __init__(self, model: ReaderModel, tokenizer: Tokenizer, *, max_tokens: int = MAX_TOKENS) -> None:
        self._model = model.eval().requires_grad_(False)
        self._packer = Packer(tokenizer, max_tokens)

    @classmethod
    def from_pretrained(
        cls, weights: Path | None = None, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
    ) -> Reader:
        """The bundled reader, or one that `train/reader` wrote, on the bundled encoder.

        Raises:
            ModelNotFoundError: the weights are missing.
            ChecksumError: the encoder's files are not the published ones.
        """
        path = weights or WEIGHTS
        if not path.is_file():
            raise ModelNotFoundError(f"the reader's weights are missing: {path}; install nscma-torch again")
        folder = bundled_folder()
        verify(folder)
        model = ReaderModel(MiniLM.from_checkpoint(folder / "model.safetensors"))
        weights_read = load_file(path)
        if lacking := sorted(model.trained_state().keys() ^ weights_read.keys()):
            raise ModelError(f"{path} is no reader of this version: {lacking[0]} is missing, or not known")
        model.load_state_dict(weights_read, strict=False)
        return cls(model.to(torch.device(device), dtype), load_tokenizer(folder))

    @torch.no_grad()
    def read(self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[ReadResult]:
        """What the passages answer to each question; a question without passages has no span."""
        if len(questions) != len(passages):
            raise InvalidInputError(f"{len(questions)} questions have {len(passages)} lists of passages; one each")
        rows = [
            _Row(number, place, window)
            for number, (question, own) in enumerate(zip(questions, passages, strict=True))
            for place, passage in enumerate(own)
            for window in self._packer.windows(question, passage)
        ]
        outputs = self._outputs([row.window for row in rows])
        found = []
        for number, own in enumerate(passages):
            mine = [(row, out) for row, out in zip(rows, outputs, strict=True) if row.question == number]
            found.append(_reading(own, mine))
        return found

    def stances(self, statements: Sequence[str], passages: Sequence[Passage]) -> Tensor:
        """The probability of each of `STANCES` that a passage takes to a statement, [n, 8]."""
        return torch.stack([out.stance for out in self._pairs(statements, passages)]).softmax(-1)

    def changes(self, earlier: Sequence[str], later: Sequence[Passage]) -> Tensor:
        """The probability of each of `CHANGES` that a passage makes to what was said earlier ("Ana: …"), [n, 6]."""
        return torch.stack([out.change for out in self._pairs(earlier, later)]).softmax(-1)

    @torch.no_grad()
    def _pairs(self, texts: Sequence[str], passages: Sequence[Passage]) -> list[Outputs]:
        """The outputs of each text with its passage, of which a long one's first window is read."""
        if len(texts) != len(passages):
            raise InvalidInputError(f"{len(texts)} texts have {len(passages)} passages; one each")
        return self._outputs([next(self._packer.windows(*pair)) for pair in zip(texts, passages, strict=True)])

    def _outputs(self, windows: Sequence[Window]) -> list[Outputs]:
        """The outputs of each window, on the CPU, in their order; rows of like length are read together."""
        device = self._model.passage.device
        found: dict[int, Outputs] = {}
        for batch in _batches([len(window.ids) for window in windows], device.type == "cpu"):
            out = self._model(*(part.to(device) for part in padded_rows([windows[i] for i in batch])))
            for row, i in enumerate(batch):
                found[i] = Outputs(*(part[row].cpu() for part in out))
        return [found[i] for i in range(len(windows))]


def _batches(lengths: Sequence[int], small: bool) -> Iterator[list[int]]:
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    most = _CPU_TOKENS if small else 64 * _CPU_TOKENS
    while order:
        size = min(len(order), 256)
        while size > 1 and size * lengths[order[size - 1]] > most:
            size -= 1
        yield order[:size]
        del order[:size]


def _reading(passages: Sequence[Passage], rows: Sequence[tuple[_Row, Outputs]]) -> ReadResult:
    if not rows:
        return ReadResult((), (), tuple(1.0 if kind == "span" else 0.0 for kind in KINDS))
    first_total, last_total, spans = [], [], []
    answerable = [0.0] * len(passages)
    surest, best = -1.0, rows[0][1]
    for row, out in rows:
        sure = float(out.answerable.sigmoid())
        answerable[row.passage] = max(answerable[row.passage], sure)
        if sure > surest:
            surest, best = sure, out
        where = [i for i, piece in enumerate(row.window.pieces) if piece is not None]
        places = torch.tensor(where, dtype=torch.int64) + row.window.first_piece
        first, last = out.first[places], out.last[places]
        first_total.append(first)
        last_total.append(last)
        spans += _best_spans(passages[row.passage], row, where, first, last)
    normalizer = float(torch.cat(first_total).logsumexp(0) + torch.cat(last_total).logsumexp(0))
    unique: dict[tuple[int, bool, int, int], float] = {}  # windows of one passage overlap
    for key, score in spans:
        unique[key] = max(score, unique.get(key, score))
    ranked = sorted(unique.items(), key=lambda item: (-item[1], item[0]))
    read = []
    for (number, of_text, start, end), score in ranked:
        text = passages[number].text[start:end] if of_text else passages[number].speaker
        share = float(torch.tensor(score - normalizer).exp())
        read.append(ReadSpan(text, number, start, end, of_text, min(1.0, share)))
    kinds, past = best.kind.softmax(0).tolist(), float(best.tense.softmax(0)[TENSES.index("past")])
    return ReadResult(tuple(read), tuple(answerable), tuple(kinds), past)


def _best_spans(
    passage: Passage, row: _Row, where: Sequence[int], first: Tensor, last: Tensor
) -> list[tuple[tuple[int, bool, int, int], float]]:
    """The best spans of a row that lie in one source, begin before they end, and are not too long."""
    if not len(where):
        return []
    pieces = (row.window.pieces[i] for i in where)
    source = torch.tensor([piece is not None and piece.of_text for piece in pieces])
    place = torch.tensor(where)
    gap = place[None, :] - place[:, None]
    allowed = (gap >= 0) & (gap < MAX_SPAN) & (source[None, :] == source[:, None])
    scores = (first[:, None] + last[None, :]).masked_fill(~allowed, -torch.inf).flatten()
    best = scores.topk(min(SPANS_PER_ROW, int(allowed.sum())))
    found = []
    for score, at in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        piece = row.window.characters_of(*(row.window.first_piece + where[end] for end in divmod(at, len(where))))
        start, end = (piece.start, piece.end) if piece.of_text else (0, len(passage.speaker))
        found.append(((row.passage, piece.of_text, start, end), score))
    return found
