"""The plain searches as systems: BM25, dense retrieval and their fusion, see `eval.systems.plain_retrieval`.

A passage is searched behind the name of who said it. Dense retrieval has the run's embedder: it is the twin, exact and
without a database, of standard RAG (`eval.systems.rag`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, best, text_bytes
from eval.systems.documents import said
from eval.systems.options import options_of
from eval.systems.plain_retrieval import PlainSearch
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder

NAMES: Mapping[str, str] = {"bm25": "BM25", "dense": "dense", "rrf": "RRF"}  # by kind


class SearchOptions(Section):
    """Options of kinds bm25, dense and rrf."""

    top_k: int = Field(5, gt=0, description="Passages that are read.")


class PlainFinder:
    """The best passages by one of `eval.systems.plain_retrieval`."""

    def __init__(self, name: str, embedder: Embedder, top_k: int) -> None:
        self._name = name
        self._embedder = embedder
        self._top_k = top_k
        self._passages: Sequence[Passage] = ()
        self._search: PlainSearch | None = None
        self._vectors = torch.empty(0, 0)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Index the passages; BM25 needs no vectors."""
        texts = [said(passage) for passage in passages]
        lexical = self._name == "BM25"
        self._passages = passages
        self._vectors = torch.empty(len(texts), 0) if lexical else self._embedder.embed(texts).cpu()
        self._search = PlainSearch(texts, self._vectors) if texts else None

    def find(self, question: str, now: datetime) -> Found:  # noqa: ARG002
        """The `top_k` best."""
        if self._search is None:
            return best((), self._top_k)
        query = self._vectors.new_empty(0) if self._name == "BM25" else self._embedder.embed_query(question).cpu()
        rows = self._search.search(self._name, question, query)
        return best([self._passages[row] for row in rows], self._top_k)

    def store_bytes(self) -> int:
        """Of texts and vectors; postings are made of the texts."""
        return text_bytes(self._passages) + self._vectors.nbytes


def make_search(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kinds bm25, dense and rrf."""
    options = options_of(SearchOptions(), section)
    name = NAMES[section["kind"]]
    return Baseline(
        section["name"],
        options,
        shared,
        lambda *_: nullcontext(PlainFinder(name, shared.embedder, options.top_k)),
    )
