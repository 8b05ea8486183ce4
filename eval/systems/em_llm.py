"""EM-LLM's events as passages of dense retrieval (Fountas et al. 2024, "Human-like Episodic Memory for Infinite Context
LLMs").

All messages are one stream, which the run's surprise model reads. An event begins where its surprise is above mean +
gamma times deviation of what was just read (equation 1); boundaries are refined by the similarity of what they part
(algorithm 1, `event_boundaries`). A question is put to all events: the `top_k` nearest are read (similarity buffer),
and beside them those that were said just before and after them (contiguity buffer), in the order of the events that
they are next to. Deviation and share of the two buffers are the authors' defaults: gamma 1, three of ten events for
contiguity.

Ours beside the paper: there, events are ranges of a language model's cache of keys and values, found among tokens, and
each layer retrieves its own; here no event begins inside a sentence, surprise is a sentence's mean nats per byte, the
similarity of keys is the cosine of the embedder's vectors of sentences, and an event is found by the vector of its
text. An event of more tokens than the embedder reads is divided. A question is one step of retrieval, so that the
contiguity buffer forgets nothing of earlier steps; the first tokens and the last ones, which the model always sees
there, are not added. No language model is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, said, said_by
from eval.systems.event_boundaries import Metric, refined
from eval.systems.options import options_of
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder, SurpriseModel
from nscma_torch.surprise.measurement import nats_per_byte
from nscma_torch.text.segmentation import mean_surprise, surprise_peaks
from nscma_torch.text.sentences import split_sentences


class EmLlmOptions(Section):
    """Options of kind em-llm."""

    top_k: int = Field(5, gt=0, description="Events nearest to the question that are read.")
    contiguous: int = Field(2, ge=0, description="Most events that are read because they are next to these.")
    reach: int = Field(1, gt=0, description="Events before and after one that are next to it.")
    gamma: float = Field(1.0, description="Standard deviations above the mean at which an event begins.")
    window: int = Field(32, gt=1, description="Sentences that mean and deviation are taken over.")
    refine: Metric | Literal["none"] = Field("modularity", description="What boundaries are refined by.")


class EmLlm:
    """Events.

    Attributes:
        events: the passages of each, in order: runs of sentences of one message.
    """

    def __init__(self, embedder: Embedder, surprise_model: SurpriseModel, options: EmLlmOptions) -> None:
        self._embedder = embedder
        self._surprise_model = surprise_model
        self._options = options
        self.events: list[list[Passage]] = []
        self._vectors = torch.empty(0, 0)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Divide what was said into events and embed them."""
        if not passages:
            return
        sentences = [(row, own) for row, passage in enumerate(passages) for own in _sentences(passage)]
        texts = [said(sentence) for _, sentence in sentences]
        peaks = surprise_peaks(self._surprise(passages), self._options.window, self._options.gamma)
        starts = peaks.nonzero()[:, 0].tolist()
        if self._options.refine != "none" and starts:
            starts = refined(starts, self._embedder.embed(texts).cpu(), self._options.refine)
        for first, last in self._fitting(starts, self._embedder.count_tokens(texts)):
            self.events.append(_joined(sentences[first:last], passages))
        self._vectors = self._embedder.embed([_text(event) for event in self.events]).cpu()

    def _surprise(self, passages: Sequence[Passage]) -> torch.Tensor:
        """Mean nats per byte of each sentence, float64, the passages read as one stream."""
        (score,) = self._surprise_model.score([[passage.text for passage in passages]], [None])
        found = []
        for row, passage in enumerate(passages):
            nats = score.nll[row]
            if score.ends is not None:
                nats = nats_per_byte(nats, score.ends[row], len(passage.text.encode()) + 1)
            starts = [(sentence.start - passage.start, len(sentence.text)) for sentence in _sentences(passage)]
            found.append(mean_surprise(passage.text, [(start, start + size) for start, size in starts], nats))
        return torch.cat(found)

    def _fitting(self, starts: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, int]]:
        """First sentence of each event and the one behind its last; tokens of a sentence alone are `sizes`."""
        found, first, total = [], 0, 0
        begin = {*starts}
        for sentence, size in enumerate(sizes):
            if sentence > first and (sentence in begin or total + size > self._embedder.max_tokens):
                found.append((first, sentence))
                first, total = sentence, 0
            total += size
        return [*found, (first, len(sizes))]

    def find(self, question: str, now: datetime) -> Found:
        """The nearest events, then those next to them; of one that is not over, what was said by then."""
        known = [[passage for passage in event if said_by(passage, now)] for event in self.events]
        begun = [row for row, event in enumerate(known) if event]
        if not begun:
            return Found((), ())
        cosines = self._vectors[begun] @ self._embedder.embed_query(question).cpu()
        order = [begun[place] for place in cosines.argsort(descending=True, stable=True).tolist()]
        near = order[: self._options.top_k]
        read = [*near, *beside(near, {*begun}, reach=self._options.reach, most=self._options.contiguous)]
        ranked = [passage for row in dict.fromkeys([*read, *order]) for passage in known[row]]
        own = sum(len(known[row]) for row in read)
        return Found(ranked[:own], ranked[: max(RANKED, own)])

    def store_bytes(self) -> int:
        """Of texts and vectors."""
        return sum(text_bytes(event) for event in self.events) + self._vectors.nbytes


def beside(near: Sequence[int], rows: Collection[int], *, reach: int, most: int) -> list[int]:
    """The contiguity buffer: of these rows, those next to the best first, the nearer first, the earlier first."""
    steps = [step for size in range(1, reach + 1) for step in (-size, size)]
    found = dict.fromkeys(row + step for row in near for step in steps)
    return [row for row in found if row in rows and row not in near][:most]


def _sentences(passage: Passage) -> list[Passage]:
    """A passage by its sentences; one that has none stands whole."""
    spans = [(span.start, span.end) for span in split_sentences(passage.text)] or [(0, len(passage.text))]
    return [replace(passage, text=passage.text[start:end], start=passage.start + start) for start, end in spans]


def _joined(sentences: Sequence[tuple[int, Passage]], passages: Sequence[Passage]) -> list[Passage]:
    """Sentences, each with the row of its passage, as one piece of each passage."""
    found = []
    for row in dict.fromkeys(row for row, _ in sentences):
        own = [sentence for place, sentence in sentences if place == row]
        first, last = own[0].start - passages[row].start, own[-1].start - passages[row].start + len(own[-1].text)
        found.append(replace(own[0], text=passages[row].text[first:last]))
    return found


def _text(event: Sequence[Passage]) -> str:
    return "\n".join(said(passage) for passage in event)


def make_em_llm(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind em-llm."""
    options = options_of(EmLlmOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda *_: nullcontext(EmLlm(shared.embedder, shared.surprise_model, options)),
    )
