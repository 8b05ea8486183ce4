"""HippoRAG (Gutiérrez et al. 2024, "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models").

Open triples of all passages are a graph of phrases (`phrase_graph`; section 2.3, offline indexing). Entities that the
question names are linked to the nearest phrases by cosine; personalised PageRank starts at these, each weighted by its
node specificity, one over the passages that hold it; a passage is worth the sum over its phrases of their share times
how often it holds them (section 2.3, online retrieval). Threshold 0.8 and damping 0.5 are those of section 3.

Ours beside the paper: phrases are one by `name_key` instead of by letters and digits alone. Passages worth the same are
ordered by their cosine with the question, and so are all of them where the question names nothing. Without an engine
triples are those of the trained reader, and entities of a question what it names of the graph's phrases and whatever
else has a capital letter in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, best, text_bytes
from eval.systems.documents import embed_beginnings, said, said_by
from eval.systems.language import EntitiesForm, Language
from eval.systems.options import options_of
from eval.systems.phrase_graph import PhraseGraph
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.text.capitalised import NAME
from nscma_torch.text.known_names import words_of
from nscma_torch.text.terms import terms

_ENTITIES = "List the named entities of the question (people, places, organisations, works, dates, things with a name)."
_OWNER = re.compile(r"['’]s\b")
_CAPITALS = re.compile(rf"{NAME}(?:\s+{NAME})*")
_LONGEST = 10  # words of a phrase that is looked for in a question


class HippoRagOptions(Section):
    """Options of kind hipporag."""

    top_k: int = Field(5, gt=0, description="Passages that are read.")
    synonyms: float = Field(0.8, ge=-1, le=1, description="Cosine above which two phrases are joined.")
    damping: float = Field(0.5, gt=0, lt=1, description="Probability that the walk goes on along an edge.")


def named_in(question: str, phrases: Sequence[str]) -> list[str]:
    """The phrases that a question names, the longest at each place, and names that are none of them, without a model.

    Words that say nothing ("it", "which") are no phrase and no name.
    """
    text = _OWNER.sub("", question)
    known = {words_of(phrase): phrase for phrase in reversed(phrases) if terms(phrase)}
    words = words_of(text)
    found: list[str] = []
    covered: set[str] = set()
    start = 0
    while start < len(words):
        sizes = range(min(_LONGEST, len(words) - start), 0, -1)
        size = next((size for size in sizes if words[start : start + size] in known), 0)
        if size:
            found.append(known[words[start : start + size]])
            covered.update(words[start : start + size])
        start += max(1, size)
    capitals = [name for name in _CAPITALS.findall(text) if terms(name) and not covered.issuperset(words_of(name))]
    return list(dict.fromkeys([*found, *capitals]))


class HippoRag:
    """Passages and the graph of what they say."""

    def __init__(self, language: Language, embedder: Embedder, options: HippoRagOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._vectors = torch.empty(0, 0)
        self.graph = PhraseGraph((), embedder)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Read the triples and build the graph."""
        self._passages = passages
        if not passages:
            return
        self._vectors = self._embedder.embed([said(passage) for passage in passages]).cpu()
        stated = self._language.triples(passages)
        self.graph = PhraseGraph(stated, self._embedder, synonyms=self._options.synonyms)

    def find(self, question: str, now: datetime) -> Found:
        """The passages where the walk from the question's entities is most."""
        if not self._passages:
            return Found((), ())
        cosines = (self._vectors @ self._embedder.embed_query(question).cpu()).tolist()
        shares = self._shares(self._named(question)).tolist()
        rows = [row for row, passage in enumerate(self._passages) if said_by(passage, now)]
        rows.sort(key=lambda row: (-shares[row], -cosines[row]))
        return best([self._passages[row] for row in rows], self._options.top_k)

    def _named(self, question: str) -> list[str]:
        if self._language.engine is None:
            return named_in(question, self.graph.phrases)
        (form,) = self._language.fill(EntitiesForm, _ENTITIES, [{"question": question}])
        return list(dict.fromkeys(form.entities))

    def _shares(self, names: Sequence[str]) -> torch.Tensor:
        """What each passage is worth [n], float64."""
        if not (names and self.graph.phrases):
            return torch.zeros(len(self._passages), dtype=torch.float64)
        nearest = (self.graph.vectors @ embed_beginnings(self._embedder, names).T).argmax(0)
        linked = sorted({*nearest.tolist()})
        seeds = torch.zeros(self.graph.nodes, dtype=torch.float64)
        seeds[linked] = 1 / self.graph.holders[linked]
        return self.graph.of_passages(self.graph.walk(seeds, self._options.damping))

    def store_bytes(self) -> int:
        """Of texts, vectors and the graph."""
        return text_bytes(self._passages) + self._vectors.nbytes + self.graph.store_bytes()


def make_hipporag(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind hipporag."""
    options = options_of(HippoRagOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(HippoRag(Language(shared, engine), shared.embedder, options)),
    )
