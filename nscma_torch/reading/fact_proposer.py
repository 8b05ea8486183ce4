"""Propose the facts that a message may state, in one pass for all relations.

    proposer = FactProposer.from_pretrained(load_relations())
    (found,) = proposer.propose([[Passage("I moved to Porto in May", speaker="Ana")]])
    found.facts[0].relation, found.facts[0].object.text  # "lives_in", "Porto"

The proposer only proposes facts in the relations it was trained on. The trained reader verifies each proposal
(`fact_reader.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from nscma_torch.reading.fact_questions import has_topic, object_question
from nscma_torch.reading.proposer_model import ProposerModel
from nscma_torch.reading.reader import ReadSpan
from nscma_torch.reading.reader_input import PADDED_TO, InputPassage, InputRow, Packer, padded_rows, target_tokens
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.whole_tokens import whole_tokens
from nscma_torch.text.embedders.minilm import POSITIONS

WEIGHTS = Path(__file__).with_name("weights") / "proposer.safetensors"
ASKED = "what is told?"  # placeholder for the question in a row
FIRST = 0.05  # least probability of an object's first token
MOST_FACTS = 24  # proposals of a message
SHORTER = 0.85  # times the probability of a last token for each token before it: of two objects the nearer end wins
MAX_OBJECT, MAX_NAMED = 15, 11  # tokens of the longest object, and of the longest subject or topic
_STARTS = 6  # likeliest first tokens of a subject or topic that are tried


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fact that a message may state, in the words of the message or of the turns before it.

    `placed` is the probability of the object's first and last tokens. `told` is the probability that the message states
    this object for the relation, in any stance; `stances` has the probability of each of `STANCES` if it does.
    `subject` is None if it wasn't requested.
    """

    relation: str
    subject: ReadSpan | None
    object: ReadSpan
    topic: str
    placed: float
    told: float
    stances: tuple[float, ...]


class Proposals(NamedTuple):
    """Candidate statements in a message, most likely first.

    Also contains, for each relation, the probability that the message states a fact in it.
    """

    facts: tuple[Proposal, ...]
    picks: dict[str, float]


class _Object(NamedTuple):
    """Tokens `first` to `last` as an object for relation number `relation`."""

    probability: float
    first: int
    last: int
    relation: int


class FactProposer:
    """A trained `ProposerModel`, for the relations in a schema that it was trained on."""

    def __init__(self, model: ProposerModel, schema: Schema) -> None:
        self._names = [name for name in schema.relations if name in model.relations]
        self._with_topic = [has_topic(schema[name]) for name in self._names]
        with torch.no_grad():
            words = model.words_of([object_question(schema[name]) for name in self._names])
            places = torch.tensor([model.relations.index(name) for name in self._names], dtype=torch.int64)
            self._vectors = model.vectors(words, places.to(words.device))
        model.merge()
        self._model = model
        self._device = model.own.device
        self._packer = Packer(model.tokenizer, POSITIONS)
        self._multiple = PADDED_TO if model.own.dtype == torch.bfloat16 else 1

    @classmethod
    def from_pretrained(
        cls,
        schema: Schema,
        weights: Path | None = None,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> FactProposer:
        """Load the bundled proposer, or one created by `train/reader/train_proposer`.

        Raises:
            ModelNotFoundError: a file is missing.
            ModelError: the file isn't a proposer of this version.
            ChecksumError: the bundled encoder's files differ from the published ones.
        """
        path = weights or WEIGHTS
        remedy = "install nscma-torch again" if weights is None else "give a file that train/reader wrote"
        missing = f"the proposer's weights are missing: {path}; {remedy}"
        model = ProposerModel.from_file(path, "a proposer", missing=missing)
        return cls(model.to(torch.device(device), dtype), schema)

    @property
    def relations(self) -> Sequence[str]:
        """Return the names of the relations covered by the proposer."""
        return self._names

    @torch.no_grad()
    def propose(self, messages: Sequence[Sequence[InputPassage]]) -> list[Proposals]:
        """Propose statements for the last passage in each list, using the earlier passages as context."""
        return [self._proposals(own) if self._names else Proposals((), {}) for own in messages]

    def _proposals(self, passages: Sequence[InputPassage]) -> Proposals:
        row = self._packer.rows(ASKED, passages)[0]
        ids, mask, _ = padded_rows([row], self._multiple)
        target = target_tokens([row], ids.shape[1])
        x = self._model.hidden(ids.to(self._device), mask.to(self._device), target.to(self._device))
        ends = self._model.objects(x, self._vectors)[0].sigmoid().cpu()  # [L, 2, R]
        firsts = ends[:, 0] * target[0, :, None]
        picks = dict(zip(self._names, firsts.amax(0).tolist(), strict=True))
        objects = self._objects(row, firsts, ends[:, 1])
        if not objects:
            return Proposals((), picks)
        relations, first, last = (torch.tensor([o[i] for o in objects], device=self._device) for i in (3, 1, 2))
        pointers, stances = self._model.about(x, torch.zeros_like(first), first, last, self._vectors[relations])
        inside = torch.tensor([piece is not None for piece in row.pieces], device=self._device)
        pointers = pointers[:, : len(row.pieces)].masked_fill(~inside[:, None], -torch.inf).log_softmax(1).cpu()
        told = stances.softmax(-1).tolist()
        facts = []
        for one, points, (*own, untold) in zip(objects, pointers, told, strict=True):
            topic = _pointed(row, passages, points[:, 2], points[:, 3]).text if self._with_topic[one.relation] else ""
            facts.append(
                Proposal(
                    self._names[one.relation],
                    _pointed(row, passages, points[:, 0], points[:, 1]),
                    _span(row, passages, one.first, one.last, one.probability),
                    topic,
                    one.probability,
                    1 - untold,
                    tuple(p / max(1 - untold, 1e-6) for p in own),
                )
            )
        return Proposals(tuple(facts), picks)

    def _objects(self, row: InputRow, firsts: Tensor, lasts: Tensor) -> list[_Object]:
        """Return the most likely objects, without overlaps within a relation. `firsts` and `lasts` are [L, R]."""
        found = []
        for first, relation in (firsts >= FIRST).nonzero().tolist():
            ends = lasts[first : _reach(row, first, MAX_OBJECT), relation]
            last = first + int((ends * SHORTER ** torch.arange(len(ends))).argmax())
            found.append(_Object(float(firsts[first, relation] * lasts[last, relation]), first, last, relation))
        kept: list[_Object] = []
        for one in sorted(found, reverse=True):
            beside = (o for o in kept if o.relation == one.relation)
            if not any(o.first <= one.last and one.first <= o.last for o in beside):
                kept.append(one)
        return kept[:MOST_FACTS]


def _reach(row: InputRow, first: int, most: int) -> int:
    """Return the maximum end of a span that begins at token `first`.

    A span lies in one source and has at most `most` tokens.
    """
    end = first + 1
    start = row.pieces[first]
    while start is not None and end < min(len(row.pieces), first + most):
        piece = row.pieces[end]
        if piece is None or piece[:2] != start[:2]:
            break
        end += 1
    return end


def _pointed(row: InputRow, passages: Sequence[InputPassage], first: Tensor, last: Tensor) -> ReadSpan:
    """Return the most likely span, given the log-probabilities of its first and last token, [L] each."""
    spans: Iterator[tuple[float, int, int]] = (
        (float(first[i] + last[j]), i, j)
        for i in first.topk(min(_STARTS, len(first))).indices.tolist()
        if row.pieces[i] is not None
        for j in [i + int(last[i : _reach(row, i, MAX_NAMED)].argmax())]
    )
    score, i, j = max(spans)
    return _span(row, passages, i, j, math.exp(score))


def _span(row: InputRow, passages: Sequence[InputPassage], first: int, last: int, share: float) -> ReadSpan:
    at = row.characters_of(first, last)
    source = passages[at.passage].text if at.of_text else passages[at.passage].speaker
    start, end = whole_tokens(source, at.start, at.end)
    return ReadSpan(source[start:end], at.passage, start, end, at.of_text, share)
