"""HippoRAG 2 (Gutiérrez et al. 2025, "From RAG to Memory: Non-Parametric Continual Learning for Large Language
Models").

The graph of phrases has a node for each passage too, joined to the phrases that it holds (section 3.2, dense-sparse
integration). The triples nearest to the whole question are found by cosine (section 3.3, deeper contextualization), and
the model leaves those out that do not bear on it (section 3.4, recognition memory). Personalised PageRank starts at the
phrases of the triples that are left, each weighted by the mean score of these, and at every passage, weighted by its
similarity with the question times a factor of 0.05; what the walk pays to a passage ranks it (section 3.5). Where no
triple is left, the passages are ranked by cosine alone.

As in the authors' code, scores of triples and of passages are brought to 0 ... 1 over all of them, and a phrase's mean
is divided by the passages that hold the phrase: the paper starts at a phrase with its mean itself (appendix G.1). Five
phrases are started from at most, those of the best means, as the paper has it; the code chooses by what the division
leaves. The paper gives edges no weights. In the code an edge between two phrases counts twice, since it is added in
both directions, and one between a passage and a phrase once; here both count once.

Ours beside the paper: phrases are one by `name_key`; the recognition memory's prompt is not the one that the authors
tuned. Without an engine triples are those of the trained reader, and the embedded task that chooses helpful hits is
the recognition memory: it leaves the best one in always, so that cosine alone ranks only where nothing was stated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, best, text_bytes
from eval.systems.documents import embed_beginnings, said, said_by
from eval.systems.language import Language
from eval.systems.options import options_of
from eval.systems.phrase_graph import PhraseGraph
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder

_RECOGNIZE = (
    "You are given a question and numbered statements that a search has found. Give the numbers of the statements that "
    "bear on the question: that name what it asks about, or are a step on the way to its answer. Where none does, give "
    "none."
)


class HippoRag2Options(Section):
    """Options of kind hipporag2."""

    top_k: int = Field(5, gt=0, description="Passages that are read.")
    synonyms: float = Field(0.8, ge=-1, le=1, description="Cosine above which two phrases are joined.")
    damping: float = Field(0.5, gt=0, lt=1, description="Probability that the walk goes on along an edge.")
    triples: int = Field(5, gt=0, description="Nearest triples that the recognition memory is shown.")
    phrases: int = Field(5, gt=0, description="Most phrases that the walk starts at.")
    passage_weight: float = Field(0.05, ge=0, description="Weight of a passage as a start, beside that of a phrase.")


class HippoRag2:
    """Passages and the graph of them and of what they say."""

    def __init__(self, language: Language, embedder: Embedder, options: HippoRag2Options) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._vectors = torch.empty(0, 0)
        self._triples = torch.empty(0, 0)  # vectors
        self.graph = PhraseGraph((), embedder)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Read the triples and build the graph."""
        self._passages = passages
        if not passages:
            return
        self._vectors = self._embedder.embed([said(passage) for passage in passages]).cpu()
        stated = self._language.triples(passages)
        self.graph = PhraseGraph(stated, self._embedder, synonyms=self._options.synonyms, with_passages=True)
        self._triples = embed_beginnings(self._embedder, [triple.text for triple in self.graph.triples])

    def find(self, question: str, now: datetime) -> Found:
        """The passages where the walk from the question's triples and from all passages is most."""
        rows = [row for row, passage in enumerate(self._passages) if said_by(passage, now)]
        if not rows:
            return Found((), ())
        query = self._embedder.embed_query(question).cpu()
        dense = torch.zeros(len(self._passages), dtype=torch.float64)
        dense[rows] = scaled(self._vectors[rows] @ query)
        near = self._near(query, {*rows})
        texts = [self.graph.triples[place].text for place, _ in near]
        helpful = self._language.helpful(question, texts, [score for _, score in near], _RECOGNIZE)
        seeds = self._seeds([near[place] for place in helpful], dense)
        walked = bool(helpful) and bool(seeds.any())
        shares = self.graph.walk(seeds, self._options.damping)[len(self.graph.phrases) :] if walked else dense
        worth, cosines = shares.tolist(), dense.tolist()
        rows.sort(key=lambda row: (-worth[row], -cosines[row]))
        return best([self._passages[row] for row in rows], self._options.top_k)

    def _near(self, query: Tensor, rows: Collection[int]) -> list[tuple[int, float]]:
        """The triples of these passages that are nearest to the question, with their scores, best first."""
        known = [place for place, own in enumerate(self.graph.said_in) if any(row in rows for row in own)]
        if not known:
            return []
        scores = scaled(self._triples[known] @ query)
        order = scores.argsort(descending=True, stable=True)[: self._options.triples].tolist()
        return [(known[place], float(scores[place])) for place in order]

    def _seeds(self, kept: Sequence[tuple[int, float]], dense: Tensor) -> Tensor:
        """Weights [N] of where the walk starts: phrases of the triples that are left, with their scores, and passages.

        `dense` are the scaled similarities of the passages [n].
        """
        scores: defaultdict[int, list[float]] = defaultdict(list)
        for place, score in kept:
            for phrase in self.graph.ends[place]:
                scores[phrase].append(score)
        means = {phrase: sum(own) / len(own) for phrase, own in scores.items()}
        phrases = torch.zeros(len(self.graph.phrases), dtype=torch.float64)
        for phrase in sorted(means, key=lambda phrase: (-means[phrase], phrase))[: self._options.phrases]:
            phrases[phrase] = means[phrase] / self.graph.holders[phrase]
        return torch.cat([phrases, self._options.passage_weight * dense])

    def store_bytes(self) -> int:
        """Of texts, vectors and the graph."""
        return text_bytes(self._passages) + self._vectors.nbytes + self._triples.nbytes + self.graph.store_bytes()


def scaled(scores: Tensor) -> Tensor:
    """Scores brought to 0 ... 1, float64; ones where all are the same."""
    wide = scores.double()
    span = wide.max() - wide.min()
    return (wide - wide.min()) / span if span > 0 else torch.ones_like(wide)


def make_hipporag2(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind hipporag2."""
    options = options_of(HippoRag2Options(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(HippoRag2(Language(shared, engine), shared.embedder, options)),
    )
