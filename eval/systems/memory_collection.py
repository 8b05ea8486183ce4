"""A collection of single memories that are inserted, updated and deleted: what LangMem and mem0 have in common."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import torch
from torch import Tensor

from eval.harness.contract import Passage
from eval.systems.baseline import Found
from eval.systems.documents import RANKED, embed_beginnings
from eval.systems.language import units_of
from eval.systems.text_nodes import TextNode, as_passage, as_unit, leaves_below, ranked_leaves, said_by
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import ToldFact, Unit
from nscma_torch.reading.turns_before import TURNS_BEFORE


class MemoryCollection:
    """The memories of one sample and their vectors.

    Attributes:
        memories: by their ids.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made = 0
        self.memories: dict[str, TextNode] = {}
        self._vectors: dict[str, Tensor] = {}

    def nearest(self, vector: Tensor, most: int) -> list[str]:
        """Ids of the memories of largest cosine with a vector [d], at most so many."""
        cosine = {id: float(self._vectors[id] @ vector) for id in self.memories}
        return sorted(cosine, key=lambda id: -cosine[id])[:most]

    def known(self, ids: Sequence[str], passages: Sequence[Passage]) -> list[ToldFact]:
        """Memories as the change head compares them."""
        units = [as_unit(self.memories[id], passages, "atomic_fact") for id in ids]
        return [ToldFact(id, own.text, own) for id, own in zip(ids, units, strict=True)]

    def set(self, id: str, node: TextNode) -> None:
        """The memory with this id, whether or not there was one."""
        self.memories[id] = node
        self._vectors[id] = embed_beginnings(self._embedder, [node.text])[0]

    def insert(self, text: str, rows: tuple[int, ...]) -> None:
        """A new memory that rests on these rows."""
        self._made += 1
        self.set(str(self._made), TextNode(text, rows, written=True))

    def update(self, ids: Sequence[str], text: str, rows: tuple[int, ...]) -> None:
        """New content in the place of the first; the others of these go."""
        leaves = leaves_below([*(self.memories[id] for id in ids), TextNode("", rows)])
        for id in ids[1:]:
            self.delete(id)
        self.set(ids[0], TextNode(text, leaves, written=True))

    def delete(self, id: str) -> None:
        """One memory less, where it is still there."""
        self.memories.pop(id, None)
        self._vectors.pop(id, None)

    def find(
        self,
        query: Tensor,  # [d]
        passages: Sequence[Passage],
        said: Tensor,  # [n, d] vectors of the passages
        now: datetime,
        top_k: int,
    ) -> Found:
        """The nearest memories of what was said by now."""
        nodes = list(self.memories.values())
        known = said_by(nodes, passages, now)
        if not known:
            return Found((), ())
        vectors = torch.stack(list(self._vectors.values()))[known]
        order = [nodes[known[n]] for n in (vectors @ query).argsort(descending=True, stable=True).tolist()]
        leaves = ranked_leaves(order, said @ query)[:RANKED]
        return Found([as_passage(node, passages) for node in order[:top_k]], [passages[row] for row in leaves])

    @property
    def nbytes(self) -> int:
        """Of the memories and their vectors; messages are not kept."""
        texts = sum(len(node.text.encode()) for node in self.memories.values())
        return texts + sum(vector.nbytes for vector in self._vectors.values())


def unit_and_before(passages: Sequence[Passage], row: int) -> tuple[Unit, list[Unit]]:
    """A passage as the trained reader reads it, and the turns before it; a document stands alone."""
    *before, unit = units_of(passages[max(0, row - TURNS_BEFORE) : row + 1])
    return unit, [] if unit.role == "document" else before
