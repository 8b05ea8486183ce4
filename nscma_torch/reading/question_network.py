"""Parse English questions into a relation, the requested part and slots, using a trained network.

    network = QuestionNetwork.from_pretrained(load_relations())
    network.read("Where does my sister work these days?")
    # AskedRelation(asks="object", relation="works_at", slots=Slots(subject="my sister", …), …)

`questions.py` turns the result into a walk over facts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from nscma_torch.reading.fact_questions import object_question
from nscma_torch.reading.question_model import ASKS, FLAGS, SLOTS, QuestionModel
from nscma_torch.reading.relations import Schema
from nscma_torch.text.embedders.minilm import MAX_TOKENS

WEIGHTS = Path(__file__).with_name("weights") / "questions.safetensors"
LONGEST_SLOT = 12  # tokens
_TOPIC = SLOTS.index("topic")
_FLAG = 0.5  # least probability of a flag
_NEW = 2.0  # added to the logit of a relation it was not trained on, whose logits are lower


class Slots(NamedTuple):
    """The slots filled with the question's words, "" if absent.

    `before` is the value that followed the requested one.
    """

    subject: str = ""
    object: str = ""
    topic: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class AskedRelation:
    """The relation, slots and flags found in a question.

    `asks` is one of `question_model.ASKS`, and `flags` is a subset of `question_model.FLAGS`. `relation` is "" if
    `asks` is "none" or "again". `also` is the alternative parse with the second-best reading of the topic.
    """

    asks: str
    relation: str
    flags: frozenset[str]
    slots: Slots
    confidence: float
    also: AskedRelation | None = None


@lru_cache(maxsize=4)
def shared_network(schema: Schema, device: torch.device) -> QuestionNetwork:
    """Return the bundled network for a schema, loaded once per process because it is immutable."""
    return QuestionNetwork.from_pretrained(schema, device=device)


class _Span(NamedTuple):
    first: int
    last: int
    logarithm: float


class QuestionNetwork:
    """A trained `QuestionModel` with all relations in a schema, including relations it wasn't trained on."""

    def __init__(self, model: QuestionModel, schema: Schema) -> None:
        self._names = [name for name, relation in schema.relations.items() if not relation.open]
        with torch.no_grad():
            asked = [(object_question(schema[name]), *schema[name].en.asks) for name in self._names]
            words = torch.stack([model.words_of(own).mean(0) for own in asked])
            words = F.normalize(words, dim=-1)
            own = [model.relations.index(name) if name in model.relations else -1 for name in self._names]
            places = torch.tensor(own, dtype=torch.int64, device=words.device)
            self._vectors = model.vectors(words, places)
            self._raised = (places < 0) * _NEW
        model.merge()
        self._model = model

    @classmethod
    def from_pretrained(
        cls, schema: Schema, weights: Path | None = None, *, device: str | torch.device = "cpu"
    ) -> QuestionNetwork:
        """Load the bundled network, or one created by `train/reader/train_questions`.

        Raises:
            ModelNotFoundError: a file is missing.
            ModelError: the file isn't a question network of this version.
            ChecksumError: the bundled encoder's files differ from the published ones.
        """
        path = weights or WEIGHTS
        remedy = "install nscma-torch again" if weights is None else "give a file that train/reader wrote"
        missing = f"the weights that read questions are missing: {path}; {remedy}"
        model = QuestionModel.from_file(path, "a reader of questions", missing=missing)
        return cls(model.to(torch.device(device)), schema)

    @torch.no_grad()
    def read(self, question: str) -> AskedRelation:
        """Parse an English question, with the probability of the whole parse; a long question is truncated."""
        encoded = self._model.tokenizer.encode(question)
        length = min(len(encoded.ids), MAX_TOKENS)
        device = self._vectors.device
        ids = torch.tensor([encoded.ids[:length]], device=device)
        out = self._model(ids, torch.ones_like(ids, dtype=torch.bool), self._vectors)
        asks, kind = out.asks[0].softmax(-1).max(-1)
        name = ASKS[int(kind)]
        if name in ("none", "again"):
            return AskedRelation(name, "", frozenset(), Slots(), float(asks))
        relation, place = (out.relation[0] + self._raised).softmax(-1).max(-1)
        flags = out.flags[0].sigmoid().tolist()
        spans = _spans(out.first[0].cpu(), out.last[0].cpu(), length)
        sure = [max(p, 1 - p) for p in flags]
        rest = float(asks * relation) * math.prod(sure)
        told = frozenset(flag for flag, p in zip(FLAGS, flags, strict=True) if p > _FLAG)

        def asked(spans: Sequence[_Span], also: AskedRelation | None = None) -> AskedRelation:
            slots = Slots(*(_words(question, encoded.offsets, span) for span in spans))
            confidence = rest * math.exp(sum(span.logarithm for span in spans))
            return AskedRelation(name, self._names[int(place)], told, slots, confidence, also)

        likeliest = [one for one, _ in spans]
        other = likeliest.copy()
        other[_TOPIC] = spans[_TOPIC][1]
        return asked(likeliest, also=asked(other))


def _spans(first: Tensor, last: Tensor, length: int) -> list[tuple[_Span, _Span]]:
    """Return two readings of each slot, the more likely first.

    `first` and `last` are logits for the slots' first and last tokens, [L, slots] each.

    Slots don't overlap: the surest span is chosen first, and its tokens are excluded from the other slots.
    """
    first, last = first[:length].clone(), last[:length].clone()
    found: dict[int, tuple[_Span, _Span]] = {}
    while len(found) < len(SLOTS):
        left = [slot for slot in range(len(SLOTS)) if slot not in found]
        spans = {slot: _readings(first[:, slot].log_softmax(0), last[:, slot].log_softmax(0)) for slot in left}
        surest = max(left, key=lambda slot: spans[slot][0].logarithm)
        found[surest] = spans[surest]
        span, _ = found[surest]
        if span.first > 0:
            first[span.first : span.last + 1] = -torch.inf
            last[span.first : span.last + 1] = -torch.inf
    return [found[slot] for slot in range(len(SLOTS))]


def _readings(first: Tensor, last: Tensor) -> tuple[_Span, _Span]:
    """Return two spans, the more likely first: the empty span ([CLS] alone) and the most likely non-empty one.

    Args:
        first: log-probability of each token to be the first, [L]; -inf for tokens in other slots.
        last: the same for the last token.
    """
    none = _Span(0, 0, float(first[0] + last[0]))
    best = _Span(0, 0, -math.inf)
    taken = [i for i, one in enumerate(last.tolist()) if one == -math.inf]
    for i in range(1, len(first) - 1):
        stop = min([i + LONGEST_SLOT, len(last) - 1, *(t for t in taken if t >= i)])
        if stop == i:
            continue
        ends = last[i:stop]
        j = int(ends.argmax())
        best = max(best, _Span(i, i + j, float(first[i] + ends[j])), key=lambda span: span.logarithm)
    return (best, none) if best.logarithm > none.logarithm else (none, best)


def _words(question: str, offsets: Sequence[tuple[int, int]], span: _Span) -> str:
    return question[offsets[span.first][0] : offsets[span.last][1]] if span.first else ""
