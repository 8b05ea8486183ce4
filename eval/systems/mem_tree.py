"""MemTree (Rezazadeh et al. 2024, "From Isolated Conversations to Hierarchical Schemas: Dynamic Tree Memory
Representation for LLMs").

A tree under a root without text grows with each passage, one after the other. From the root the passage goes to the
child of largest cosine while that is at least theta(d) = theta_0 exp(lambda d), d being the depth of the node whose
children are compared; else it becomes a new child there. A leaf that it reaches becomes the parent of what
it was and of the passage. Each node on the way, but for the root, is written anew of its text and the passage, the more
abstractly the more passages it stands for, and embedded again. A question is put to all nodes at once (collapsed
retrieval): of those whose cosine is at least a threshold, the `top_k` nearest.

theta_0 = 0.4 and lambda = 0.5 are those of MemEngine's implementation, which reads d as the share of the tree's
greatest depth (`relative`); as the formula stands no cosine reaches theta(2), so that nothing goes deeper than 3. The
threshold of retrieval is that of the authors' own module (MemTreeModule of Accenture's AI Refinery), 0.2.

Ours beside the paper: passages are those of all systems of a run; `top_k` is our choice, since we know no number of
the paper's; a written node's evidence are its nearest passages (`text_nodes.ranked_leaves`). Only
as much of a written text is embedded as the embedder reads. Without an engine a text is written by extraction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, embed_beginnings, said, said_by
from eval.systems.language import Language
from eval.systems.options import options_of
from eval.systems.text_nodes import TextNode, as_passage, ranked_leaves
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder

_MERGE = (
    "Write one text that says what the existing information and the new information say together, the most important "
    "of both. The existing information stands for as many earlier entries as `entries` says: where these are more than "
    "two, say only what runs through all of them, the shorter and the more abstract the more there are. Use at most "
    "{words} words, and write nothing but the text."
)


class MemTreeOptions(Section):
    """Options of kind mem-tree."""

    top_k: int = Field(10, gt=0, description="Nodes that are read.")
    least: float = Field(0.2, ge=-1, le=1, description="Cosine with the question from which a node is read.")
    base: float = Field(0.4, ge=0, le=1, description="theta_0: cosine from which a child of the root takes a passage.")
    rate: float = Field(0.5, ge=0, description="lambda: how that grows with the depth.")
    relative: bool = Field(False, description="Whether depth is a share of the greatest one, as in MemEngine.")
    words: int = Field(100, gt=0, description="Longest written text in words.")


@dataclass(slots=True)
class TreeNode:
    """A node; its row in the tree is its name.

    Attributes:
        leaves: rows of the passages below it, or its own.
    """

    text: str
    leaves: list[int]
    depth: int
    written: bool = False
    children: list[int] = field(default_factory=list)


class MemTree:
    """The tree. Its nodes are in one list, the root first.

    Attributes:
        nodes: all of them.
    """

    def __init__(self, language: Language, embedder: Embedder, options: MemTreeOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: list[Passage] = []
        self.nodes = [TreeNode("", [], 0)]
        self._depth = 0
        self._vectors = self._own = torch.empty(0, 0)  # of the nodes, of the passages

    def keep(self, passages: Sequence[Passage]) -> None:
        """Insert the passages in order, beside those that are there. Raises the engine's `EngineError`."""
        if not passages:
            return
        first, texts = len(self._passages), [said(passage) for passage in passages]
        own = self._embedder.embed(texts).cpu()
        known = self._vectors if first else own.new_zeros(1, own.shape[1])
        self._vectors = torch.cat([known, own.new_zeros(2 * len(texts), own.shape[1])])
        self._own = torch.cat([self._own, own]) if first else own
        self._passages += passages
        for row, text in enumerate(texts, first):
            self._insert(row, text, self._own[row])
        self._vectors = self._vectors[: len(self.nodes)].clone()

    def _insert(self, row: int, text: str, vector: Tensor) -> None:
        way = self.way(vector)
        last = way[-1] if way else 0
        if way and not self.nodes[last].children:
            leaf = self.nodes[last]
            self._add(last, TreeNode(leaf.text, list(leaf.leaves), leaf.depth + 1), self._vectors[last])
        self._add(last, TreeNode(text, [row], self.nodes[last].depth + 1), vector)
        self._write_anew(way, row, text)

    def way(self, vector: Tensor) -> list[int]:
        """The nodes below the root that a passage with this vector [d] goes through, the last of them its parent."""
        at, way = 0, []
        while children := self.nodes[at].children:
            cosines = self._vectors[children] @ vector
            nearest = int(cosines.argmax())
            if float(cosines[nearest]) < self.threshold(self.nodes[at].depth):
                break
            at = children[nearest]
            way.append(at)
        return way

    def threshold(self, depth: int) -> float:
        """theta of a node at a depth; the root's is 0."""
        share = depth / max(1, self._depth) if self._options.relative else depth
        return self._options.base * math.exp(self._options.rate * share)

    def _add(self, parent: int, node: TreeNode, vector: Tensor) -> None:
        self.nodes[parent].children.append(len(self.nodes))
        self._vectors[len(self.nodes)] = vector
        self.nodes.append(node)
        self._depth = max(self._depth, node.depth)

    def _write_anew(self, way: Sequence[int], row: int, text: str) -> None:
        if not way:
            return
        nodes = [self.nodes[place] for place in way]
        if self._language.engine is None:
            texts = self._language.summaries([[node.text, text] for node in nodes], "", words=self._options.words)
        else:
            data = [{"new": text, "existing": node.text, "entries": len(node.leaves)} for node in nodes]
            texts = self._language.write(_MERGE.format(words=self._options.words), data, words=self._options.words)
        for node, new in zip(nodes, texts, strict=True):
            node.text = new or node.text
            node.written = True
            node.leaves.append(row)
        self._vectors[list(way)] = embed_beginnings(self._embedder, [node.text for node in nodes])

    def find(self, question: str, now: datetime) -> Found:
        """The nodes nearest to the question; what was written of later passages too is not there yet."""
        if not self._passages:
            return Found((), ())
        query = self._embedder.embed_query(question).cpu()
        cosines = (self._vectors @ query).tolist()
        known = [said_by(passage, now) for passage in self._passages]
        rows = [row for row in range(1, len(self.nodes)) if all(known[leaf] for leaf in self.nodes[row].leaves)]
        rows.sort(key=lambda row: (-cosines[row], row))
        order = [_text_node(self.nodes[row]) for row in rows]
        near = sum(cosines[row] >= self._options.least for row in rows)
        read = order[: min(near, self._options.top_k)]
        leaves = ranked_leaves(order, self._own @ query)[:RANKED]
        return Found([as_passage(node, self._passages) for node in read], [self._passages[row] for row in leaves])

    def store_bytes(self) -> int:
        """Of texts and vectors."""
        written = sum(len(node.text.encode()) for node in self.nodes if node.written)
        return text_bytes(self._passages) + written + self._vectors.nbytes


def _text_node(node: TreeNode) -> TextNode:
    return TextNode(node.text, tuple(sorted(node.leaves)), node.written)


def make_mem_tree(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind mem-tree."""
    options = options_of(MemTreeOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(MemTree(Language(shared, engine), shared.embedder, options)),
    )
