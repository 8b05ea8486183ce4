"""One data set under variants of CAM: what stands in the reader's context, and what the bundled reader answers from it.

The best hits of a question go into a context of so many tokens, the same for every variant. Measured are

    R@10             evidence among the first ten places of the ranking (`eval/metrics/evidence_places.py`)
    filled           share of the context that is filled: Prune-and-Grow may choose less than there is room for
    context ROUGE    share of the words and pairs of a reference summary that stand in the context
    answer stands    whether an answer of a few words stands there; not of yes and no
    answer ROUGE     F1 of the reader's whole answer against a reference summary, quotations included
    EM, F1           of the reader's short answer
    silent           whether the reader says nothing at the threshold that ships; its other measures are without one

Those of the ranking and the context tell what any reader could make of the memory, the others what this one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.hierarchy.cam_variants import Variant
from eval.harness.fakes import IndifferentProxy
from eval.metrics import evidence_places
from eval.metrics.answer_metrics import exact_match, holds, token_f1
from eval.metrics.evidence_places import Places
from eval.metrics.retrieval_metrics import recall_at
from eval.metrics.rouge import rouge, rouge_recall
from eval.systems.partial_tasks import WithoutFacts
from eval.tasks.retrieval_sets import Asked, DataSet, Half, World
from nscma_torch import Memory, load_config
from nscma_torch.answering.from_messages import answer_from
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.records import Answer, Hit, Scope
from nscma_torch.retrieval.budget import within
from nscma_torch.retrieval.search import Retrieved
from nscma_torch.retrieval.search_bounds import Bounds

_PLACES = 10  # of R@10
_HITS = 200  # more than fill a context
_SECTIONS = {  # passages alone answer; nobody abstains, and all of the context is read
    "facts": {"answer": False},
    "answer": {"min_answerability": -1.0},
    "reading": {"sure": 0.0, "unsure": 0.0, "passages": _HITS},
}
_UNSURE = load_config(None).reading.unsure


@dataclass(frozen=True)
class Outcome:
    """One question under one variant; `user` is the memory that was asked, `scores` are by measure."""

    variant: str
    user: str
    half: Half
    category: str
    question: str
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Measured:
    """How a data set is scored by the answers of a question: a context, and what was answered from it."""

    context: Callable[[str, Sequence[str]], dict[str, float]]
    answer: Callable[[str, Sequence[str]], dict[str, float]]


def _summary_in(context: str, references: Sequence[str]) -> dict[str, float]:
    return {f"context {name}": value for name, value in rouge_recall(context, references).items()}


def _summary(said: str, references: Sequence[str]) -> dict[str, float]:
    return {f"answer {name}": value for name, value in rouge(said, references).items()}


def _short_answer_in(context: str, answers: Sequence[str]) -> dict[str, float]:
    if {"yes", "no"}.intersection(answer.lower() for answer in answers):
        return {}
    return {"answer stands": float(any(holds(context, answer) for answer in answers))}


def _short_answer(said: str, answers: Sequence[str]) -> dict[str, float]:
    return {"EM": exact_match(said, answers), "F1": token_f1(said, answers, closed=True)}


SUMMARIES = Measured(_summary_in, _summary)
SHORT_ANSWERS = Measured(_short_answer_in, _short_answer)


class Store:
    """A data set, all of whose questions have answers, as it is stored for variants that store alike.

    Each of its memories is a user.

    Raises `RuntimeError` where background work failed.
    """

    def __init__(self, data_set: DataSet, variants: Sequence[Variant], folder: Path, embedder: CachedEmbedder) -> None:
        self._data_set = data_set
        self._variants = variants
        self._file = folder / "store.db"
        self._embedder = embedder
        self._tokens: dict[str, int] = {}
        with self._open(variants[0]) as memory:
            numbered = [self._add(memory, world) for world in data_set.worlds]
            memory.flush()
            if failures := memory.stats().failures:
                raise RuntimeError(f"background work failed: {failures[0]}")
            self._places = [
                evidence_places.read(memory, world.user, place, whole=data_set.whole)
                for world, place in zip(data_set.worlds, numbered, strict=True)
            ]

    @property
    def sizes(self) -> tuple[int, int]:
        """How many chunks and summaries there are."""
        return sum(len(own.chunks) for own in self._places), sum(len(own.below) for own in self._places)

    def _open(self, variant: Variant) -> Memory:
        config = variant.config(_SECTIONS)
        tasks = EmbeddedTasks(**config.answer.model_dump(), summary_words=config.hierarchy.summary_words)
        proxy, alone = IndifferentProxy(), WithoutFacts(tasks)
        return Memory(self._file, config=config, embedder=self._embedder, proxy=proxy, tasks=alone)

    def _add(self, memory: Memory, world: World) -> dict[str, int]:
        added = memory.add_many(world.messages, user_id=world.user, now=world.asked_at)
        return {item.id: i for i, item in enumerate(added)}

    def outcomes(self, budgets: Sequence[int], measured: Measured, answered: DataSet) -> Iterator[Outcome]:
        """Every question under every variant; those of `answered` are read, too, within the first budget."""
        read = {(world.user, asked) for world in answered.worlds for asked in world.questions}
        for variant in self._variants:
            with self._open(variant) as memory:
                for world, places, asked in self._asked():
                    found = self._found(memory, world, asked)
                    contexts = {size: within(found.hits[:_HITS], size, self._count_tokens) for size in budgets}
                    scores = self._recall(places, asked, found.hits)
                    for size, hits in contexts.items():
                        text = "\n".join(hit.text for hit in hits)
                        filled = sum(self._count_tokens([hit.text for hit in hits])) / size
                        own = {**measured.context(text, asked.answers), "filled": filled}
                        scores |= {f"{name}, {size} tokens": value for name, value in own.items()}
                    if (world.user, asked) in read:
                        answer = _answered(memory, world, asked, found, contexts[budgets[0]])
                        scores |= of_answer(answer, asked, measured)
                    yield Outcome(variant.name, world.user, asked.half, asked.category, asked.text, scores)

    def _asked(self) -> Iterator[tuple[World, Places, Asked]]:
        for world, places in zip(self._data_set.worlds, self._places, strict=True):
            for asked in world.questions:
                yield world, places, asked

    def _found(self, memory: Memory, world: World, asked: Asked) -> Retrieved:
        skew = timedelta(seconds=memory.config.limits.max_clock_skew)
        bounds = Bounds(Scope(world.user), world.asked_at, skew, memory.config.retrieval.kinds)
        return memory.components.retriever.retrieve(asked.text, bounds, top_k=_HITS)

    def _recall(self, places: Places, asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
        if not asked.evidence:
            return {}
        question = self._embedder.embed_query(asked.text)
        order = places.ranked(hits[:_HITS], question, lambda text: self._embedder.embed([text])[0])
        return {f"R@{_PLACES}": recall_at(order, places.relevant(asked.evidence), _PLACES)}

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        self._tokens |= zip(new, self._embedder.count_tokens(new), strict=True)
        return [self._tokens[text] for text in texts]


def of_answer(answer: Answer, asked: Asked, measured: Measured) -> dict[str, float]:
    """Scores of the answer without its quotations, and whether it is unsure or none."""
    silent = answer.abstained or answer.confidence < _UNSURE
    return measured.answer("" if answer.abstained else answer.short, asked.answers) | {"silent": float(silent)}


def _answered(memory: Memory, world: World, asked: Asked, found: Retrieved, context: Sequence[Hit]) -> Answer:
    """What the bundled reader makes of a context."""
    parts = memory.components
    return answer_from(
        parts,
        parts.tasks,
        asked.text,
        context,
        found.answerability(),
        top_k=memory.config.retrieval.top_k,
        user_id=world.user,
        now=world.asked_at,
    )
