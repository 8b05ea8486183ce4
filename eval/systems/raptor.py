"""RAPTOR (Sarthi et al. 2024, "RAPTOR: Recursive Abstractive Processing for Tree-Organized Retrieval").

Passages are clustered softly (`soft_clusters`), each cluster is summarised, and the summaries are clustered again,
until a level has too few nodes to be clustered (section 3). A cluster whose texts are longer than a summary may read is
clustered once more. A question is put to all nodes of the tree at once: the nearest by cosine, until their tokens reach
a limit (collapsed tree, section 3, "Querying").

Ours beside the paper: passages are those of all systems of a run, not cuts of 100 tokens; the limit counts the
embedder's tokens; a summary's evidence are its nearest passages (`text_nodes.ranked_leaves`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, embed_beginnings, said
from eval.systems.language import Language
from eval.systems.options import options_of
from eval.systems.soft_clusters import DIMENSIONS, soft_clusters
from eval.systems.text_nodes import TextNode, as_passage, leaves_below, ranked_leaves
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder

_SUMMARIZE = "Summarize these texts, which belong together, with as many of their particulars as fit."


class RaptorOptions(Section):
    """Options of kind raptor."""

    tokens: int = Field(2000, gt=0, description="Tokens of the nodes that are read; at least one node is.")
    threshold: float = Field(0.1, ge=0, lt=1, description="Probability from which a text is in a cluster.")
    words: int = Field(100, gt=0, description="Longest summary in words.")
    summarised: int = Field(3500, gt=0, description="Most tokens that one summary is made of.")
    levels: int = Field(5, gt=0, description="Most levels above the passages.")


class Raptor:
    """The tree. Its nodes are in one list, passages first."""

    def __init__(self, language: Language, embedder: Embedder, options: RaptorOptions, seed: int) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._seed = seed
        self._passages: Sequence[Passage] = ()
        self.nodes: list[TextNode] = []
        self._vectors = torch.empty(0, 0)

    def keep(self, passages: Sequence[Passage]) -> None:
        """Build the tree level by level."""
        self._passages = passages
        level = [TextNode(said(passage), (row,)) for row, passage in enumerate(passages)]
        vectors = [self._embedder.embed([node.text for node in level]).cpu()] if level else []
        self.nodes = list(level)
        for _ in range(self._options.levels):
            if len(level) <= DIMENSIONS + 1:
                break
            groups = self._clusters(level, vectors[-1])
            texts = [[node.text for node in group] for group in groups]
            summaries = self._language.summaries(texts, _SUMMARIZE, words=self._options.words)
            level = [
                TextNode(text, leaves_below(group), written=True)
                for text, group in zip(summaries, groups, strict=True)
                if text
            ]
            if not level:
                break
            vectors.append(embed_beginnings(self._embedder, [node.text for node in level]))
            self.nodes += level
        self._vectors = torch.cat(vectors) if vectors else self._vectors

    def _clusters(self, level: Sequence[TextNode], vectors: torch.Tensor) -> list[list[TextNode]]:
        """Clusters of a level; one that is too long to be summarised is clustered again while that divides it."""
        sizes = self._embedder.count_tokens([node.text for node in level])
        waiting = [list(range(len(level)))]
        found: list[list[int]] = []
        while waiting:
            rows = waiting.pop()
            for own in soft_clusters(vectors[rows], threshold=self._options.threshold, seed=self._seed):
                members = [rows[row] for row in own]
                divisible = DIMENSIONS + 1 < len(members) < len(rows)
                if divisible and sum(sizes[row] for row in members) > self._options.summarised:
                    waiting.append(members)
                else:
                    found.append(members)
        return [[level[row] for row in members] for members in sorted(found)]

    def find(self, question: str, now: datetime) -> Found:  # noqa: ARG002
        """The nodes nearest to the question, as many as fit the tokens."""
        if not self.nodes:
            return Found((), ())
        cosines = self._vectors @ self._embedder.embed_query(question).cpu()
        order = [self.nodes[row] for row in cosines.argsort(descending=True, stable=True).tolist()]
        sizes = self._embedder.count_tokens([node.text for node in order])
        total = 0
        read: list[TextNode] = []
        for node, size in zip(order, sizes, strict=True):
            if read and total + size > self._options.tokens:
                break
            read.append(node)
            total += size
        leaves = ranked_leaves(order, cosines[: len(self._passages)])[:RANKED]
        return Found([as_passage(node, self._passages) for node in read], [self._passages[row] for row in leaves])

    def store_bytes(self) -> int:
        """Of texts and vectors."""
        written = sum(len(node.text.encode()) for node in self.nodes if node.written)
        return text_bytes(self._passages) + written + self._vectors.nbytes


def make_raptor(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind raptor."""
    options = options_of(RaptorOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(Raptor(Language(shared, engine), shared.embedder, options, shared.seed)),
    )
