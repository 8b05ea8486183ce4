"""The trained reader: finds short answers and the passages that support them, and classifies stances.

    reader = Reader.from_pretrained()
    (read,) = reader.read(["Where does Ana live?"], [[Passage("I moved to Porto in May", speaker="Ana")]])
    read.spans[0].text  # "Porto"

A question's passages are read together in one row if there is room. If they fill several rows, the most likely evidence
from all of them is read again in one row, which then contains everything relevant. Rows for different questions share
batches; masks keep them separate.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nscma_torch.core.errors import InvalidInputError, ModelError
from nscma_torch.core.int8_tensors import dequantized
from nscma_torch.core.locked_property import locked_cached_property
from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.reading import minilm_encoder, mpnet_encoder, transformers_encoder
from nscma_torch.reading.int8_linear import quantize_linear_layers
from nscma_torch.reading.low_rank import with_difference
from nscma_torch.reading.minilm_encoder import MiniLMEncoder
from nscma_torch.reading.mpnet_encoder import MPNetEncoder
from nscma_torch.reading.reader_input import PADDED_TO, InputPart, InputPassage, InputRow, Packer, Piece, padded_rows
from nscma_torch.reading.reader_model import KINDS, STANCES, Encoder, Outputs, ReaderModel
from nscma_torch.reading.transformers_encoder import TransformersEncoder
from nscma_torch.reading.whole_tokens import whole_tokens

ENCODERS: dict[str, Callable[[], Encoder]] = {minilm_encoder.NAME: MiniLMEncoder, mpnet_encoder.NAME: MPNetEncoder}
WEIGHTS = Path(__file__).with_name("weights") / "reader.safetensors"
EFFECTS = WEIGHTS.with_name("effects.safetensors")  # the reader trained further for `Reader.changes`, as a difference
MAX_TOKENS = 512  # of a row, where the encoder reads as many
MAX_SPAN = 24  # tokens of the longest answer
# Of spans that overlap, what each token takes from the log share: the span from one of two likely answers to the other
# has shares of both. Chosen on development dialogues.
PER_TOKEN = 0.06
SPANS_PER_ROW = 8
_CANDIDATES = 64  # best spans of a row, before removing those that overlap a better one
_CPU_TOKENS = 1024  # of a batch on a CPU, padding included


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """A possible answer: characters [start, end) in the text of passage number `passage`, or in its speaker's name.

    `share` is the span's share of the softmax over all spans in the row, in (0, 1].
    """

    text: str
    passage: int
    start: int
    end: int
    of_text: bool
    share: float


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Output of the reader for one question.

    `spans` are possible answers, best first. `answerable` is the probability that the passages answer the question.
    `evidence` has the probability of each passage to support the answer, 0 if it wasn't read. `kinds` and `stances`
    have the probability of each of `KINDS` and `STANCES` for the answer. `summary` is that of `Outputs`, [4d], from the
    bundled reader only.
    """

    spans: tuple[ReadSpan, ...]
    answerable: float
    evidence: tuple[float, ...]
    kinds: tuple[float, ...]
    stances: tuple[float, ...] = ()
    summary: Tensor | None = field(default=None, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """Return the most likely kind of answer."""
        return KINDS[max(range(len(KINDS)), key=lambda i: self.kinds[i])]


class TextStates(NamedTuple):
    """The hidden states of a text and its passages in each layer, the tokens that aren't padding, and the passages'."""

    layers: Tensor  # [layers, L, d] float32, on the CPU
    mask: Tensor  # [L] bool
    passage: Tensor  # [L] bool


class Reader:
    """A trained `ReaderModel`.

    It reads rows of at most `MAX_TOKENS` tokens, or fewer if its encoder's maximum is lower.

    Args:
        effects: loads the model for `changes`, on first use; without it, that is `model`.
    """

    def __init__(self, model: ReaderModel, effects: Callable[[], ReaderModel] | None = None) -> None:
        self.model = model.eval().requires_grad_(False)
        self.build_lock = threading.RLock()
        self._load_effects = effects
        self._packer = Packer(model.encoder.tokenizer, min(MAX_TOKENS, model.encoder.max_tokens))
        # oneDNN compiles a bfloat16 kernel for each new shape, which takes longer than a row
        self._multiple = PADDED_TO if model.token.weight.dtype == torch.bfloat16 else 1

    @classmethod
    def from_pretrained(
        cls, weights: Path | None = None, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
    ) -> Reader:
        """Load the bundled reader, or one created by `train/reader`.

        A reader with one of `ENCODERS` is a file; a reader with an encoder of transformers is a folder. With the dtype
        `torch.int8`, which needs a CPU, the linear layers of one of `ENCODERS` multiply in int8; everything else is in
        float32.

        Raises:
            ModelNotFoundError: a file is missing.
            ModelError: the file isn't a reader of this version.
            ChecksumError: the bundled embedder's files differ from the published ones.
            InvalidInputError: int8 on another device than a CPU.
            MissingDependencyError: another encoder needs transformers, which is not installed.
        """
        if dtype == torch.int8 and torch.device(device).type != "cpu":
            raise InvalidInputError(f"a reader computes in int8 on a CPU only, not on {device}: choose another dtype")
        folder = weights if weights is not None and weights.is_dir() else None
        other = None if folder is None else TransformersEncoder.from_reader(folder)
        path = weights or WEIGHTS if folder is None else folder / transformers_encoder.WEIGHTS
        remedy = "install nscma-torch again" if weights is None else "give a file or a folder that train/reader wrote"
        with open_tensors(path, "a reader", missing=f"the reader's weights are missing: {path}; {remedy}") as file:
            model = ReaderModel(other or _encoder_of(file))
            model.load(dequantized(all_tensors(file)), path)
        model = _prepared(model, device, dtype)
        return cls(model, partial(_effects_model, model, device, dtype) if weights is None else None)

    @locked_cached_property
    def effects_model(self) -> ReaderModel:
        """Return the model for `changes`."""
        return self.model if self._load_effects is None else self._load_effects().eval().requires_grad_(False)

    @torch.no_grad()
    def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        """Answer each question from its passages, which are in the order they were said.

        A question without passages has no spans.
        """
        if len(questions) != len(passages):
            raise InvalidInputError(
                f"pass one list of passages per question: got {len(passages)} for {len(questions)} questions"
            )
        packed = [self._packer.rows(question, own) for question, own in zip(questions, passages, strict=True)]
        outputs = iter(self._outputs([row for rows in packed for row in rows]))
        first = [[(row, next(outputs)) for row in rows] for rows in packed]
        joined = {
            number: self._packer.joined(questions[number], _by_evidence(rows))
            for number, rows in enumerate(first)
            if len(rows) > 1
        }
        again = dict(zip(joined, zip(joined.values(), self._outputs(list(joined.values())), strict=True), strict=True))
        last = [again.get(number, rows[0] if rows else None) for number, rows in enumerate(first)]
        found = [_reading(own, rows, final) for own, rows, final in zip(passages, first, last, strict=True)]
        if self._load_effects is None:  # not the bundled reader
            return found
        return [
            one if final is None else replace(one, summary=final[1].summary)
            for one, final in zip(found, last, strict=True)
        ]

    def stances(self, statements: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> Tensor:
        """Return the last passage's stance towards each statement: the probability of each of `STANCES`, [n, 8].

        The earlier passages in a list are context.
        """
        return torch.stack([out.stance for out in self._pairs(statements, passages)]).softmax(-1)

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> Tensor:
        """Return how each last passage changes an earlier text ("Ana: …"): the probability of each of `CHANGES`, [n,
        6].
        """
        outputs = self._pairs(earlier, later, self.effects_model)
        return torch.stack([out.change for out in outputs]).softmax(-1)

    @torch.no_grad()
    def states(self, texts: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> Iterator[TextStates]:
        """Yield the hidden states of each text with its passages, of which there is at least one, in order.

        Raises `ModelError` if the encoder doesn't give the states of its layers.
        """
        if not isinstance(self.model.encoder, MPNetEncoder):
            raise ModelError("this reader's encoder does not give the states of its layers: use the bundled reader")
        device = self.model.token.weight.device
        for text, own in zip(texts, passages, strict=True):
            row = self._packer.rows(text, own)[0]
            ids, mask, passage = (part.to(device) for part in padded_rows([row], self._multiple))
            layers = [state[0].float().cpu() for state in self.model.encoder.states(ids, mask, passage)]
            yield TextStates(torch.stack(layers), mask[0].cpu(), passage[0].cpu())

    @torch.no_grad()
    def _pairs(
        self, texts: Sequence[str], passages: Sequence[Sequence[InputPassage]], model: ReaderModel | None = None
    ) -> list[Outputs]:
        """Return the outputs for each text with its passages.

        If the last passage is longer than a row, only its first piece is read.
        """
        if len(texts) != len(passages):
            raise InvalidInputError(f"pass one list of passages per text: got {len(passages)} for {len(texts)} texts")
        return self._outputs([self._packer.rows(*pair)[0] for pair in zip(texts, passages, strict=True)], model)

    def _outputs(self, rows: Sequence[InputRow], model: ReaderModel | None = None) -> list[Outputs]:
        """Return the outputs for each row, on the CPU, in order; rows of similar length share a batch."""
        model = model or self.model
        device = model.token.weight.device
        found: dict[int, Outputs] = {}
        for batch in _batches([len(row.ids) for row in rows], device.type == "cpu"):
            out = model(*(part.to(device) for part in padded_rows([rows[i] for i in batch], self._multiple)))
            for place, i in enumerate(batch):
                found[i] = Outputs(*(part[place].cpu() for part in out))
        return [found[i] for i in range(len(rows))]


def _prepared(model: ReaderModel, device: str | torch.device, dtype: torch.dtype) -> ReaderModel:
    """Move a model to a device and a dtype."""
    if dtype != torch.int8:
        return model.to(torch.device(device), dtype)
    if not isinstance(model.encoder, TransformersEncoder):
        quantize_linear_layers(model.encoder)
    return model


def _effects_model(reader: ReaderModel, device: str | torch.device, dtype: torch.dtype) -> ReaderModel:
    """Load the bundled model for `changes`; it shares the reader's table of words."""
    with open_tensors(WEIGHTS, "a reader", missing=f"{WEIGHTS} is missing; install nscma-torch again") as file:
        base = dequantized(all_tensors(file))
        model = ReaderModel(_encoder_of(file))
    with open_tensors(EFFECTS, "a reader", missing=f"{EFFECTS} is missing; install nscma-torch again") as file:
        model.load(with_difference(base, dequantized(all_tensors(file))), EFFECTS)
    if isinstance(model.encoder, MPNetEncoder) and isinstance(reader.encoder, MPNetEncoder):
        model.encoder.word = reader.encoder.word
    return _prepared(model, device, dtype)


def _encoder_of(file: Any) -> Encoder:
    """Return the encoder that an open weights file names; a file without a name has MiniLM's."""
    name = (file.metadata() or {}).get("encoder", minilm_encoder.NAME)
    if name not in ENCODERS:
        raise ValueError(f"its encoder is {name!r}; known are {', '.join(ENCODERS)}")
    return ENCODERS[name]()


def _batches(lengths: Sequence[int], small: bool) -> Iterator[list[int]]:
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    most = _CPU_TOKENS if small else 64 * _CPU_TOKENS
    while order:
        size = min(len(order), 256)
        while size > 1 and size * lengths[order[size - 1]] > most:
            size -= 1
        yield order[:size]
        del order[:size]


@lru_cache(maxsize=4)
def shared_reader(weights: Path | None, device: torch.device, dtype: torch.dtype) -> Reader:
    """Return `Reader.from_pretrained(…)`, loaded once per process because a reader is immutable."""
    return Reader.from_pretrained(weights, device=device, dtype=dtype)


def _by_evidence(rows: Sequence[tuple[InputRow, Outputs]]) -> list[InputPart]:
    """Return the parts from all rows, the most likely evidence first.

    Long parts are cut to the text around their most likely answer.
    """
    found: list[tuple[float, InputPart]] = []
    for row, out in rows:
        for part, end in zip(row.parts, row.ends, strict=True):
            own = out.first[end - len(part.tokens) : end]
            likeliest = int(own.argmax()) if len(own) else 0
            found.append((float(out.evidence[end]), part.around(likeliest)))
    return [part for _, part in sorted(found, key=lambda item: (-item[0], item[1][:2]))]


def _reading(
    passages: Sequence[InputPassage], rows: Sequence[tuple[InputRow, Outputs]], last: tuple[InputRow, Outputs] | None
) -> ReadResult:
    """Return the result for the last row read, with the evidence from all rows."""
    if last is None:
        kinds, stances = (tuple(float(i == 0) for i in range(len(names))) for names in (KINDS, STANCES))
        return ReadResult((), 0.0, (), kinds, stances)
    evidence = [0.0] * len(passages)
    for row, out in rows:
        for part, end in zip(row.parts, row.ends, strict=True):
            evidence[part.passage] = max(evidence[part.passage], float(out.evidence[end].sigmoid()))
    row, out = last
    places = torch.tensor([i for i, piece in enumerate(row.pieces) if piece is not None], dtype=torch.int64)
    first, final = out.first[places], out.last[places]
    normalizer = float(first.logsumexp(0) + final.logsumexp(0)) if len(places) else 0.0
    spans = []
    for piece, score in _best_spans(row, places, first, final):
        source = _source(passages[piece.passage], piece)
        start, end = whole_tokens(source, piece.start, piece.end)
        share = min(1.0, float(torch.tensor(score - normalizer).exp()))
        spans.append(ReadSpan(source[start:end], piece.passage, start, end, piece.of_text, share))
    return ReadResult(
        tuple(spans),
        float(out.answerable.sigmoid()),
        tuple(evidence),
        tuple(out.kind.softmax(0).tolist()),
        tuple(out.stance.softmax(0).tolist()),
    )


def _best_spans(row: InputRow, places: Tensor, first: Tensor, last: Tensor) -> list[tuple[Piece, float]]:
    """Return the best spans in a row, without overlaps; each span lies in one source and within the length limit."""
    if not len(places):
        return []
    sources = [piece[:2] for piece in row.pieces if piece is not None]
    numbers = {source: number for number, source in enumerate(dict.fromkeys(sources))}
    source = torch.tensor([numbers[own] for own in sources])
    gap = places[None, :] - places[:, None]
    allowed = (gap >= 0) & (gap < MAX_SPAN) & (source[None, :] == source[:, None])
    scores = (first[:, None] + last[None, :]).masked_fill(~allowed, -torch.inf).flatten()
    short_first = scores - PER_TOKEN * gap.flatten()
    found: list[tuple[Piece, float]] = []
    best = short_first.topk(min(_CANDIDATES, int(allowed.sum()))).indices
    for score, at in zip(scores[best].tolist(), best.tolist(), strict=True):
        begin, end = divmod(at, len(places))
        piece = row.characters_of(int(places[begin]), int(places[end]))
        if len(found) < SPANS_PER_ROW and not any(_overlap(piece, other) for other, _ in found):
            found.append((piece, score))
    return found


def _source(passage: InputPassage, piece: Piece) -> str:
    return passage.text if piece.of_text else passage.speaker


def _overlap(a: Piece, b: Piece) -> bool:
    return a[:2] == b[:2] and a.start < b.end and b.start < a.end
