"""MemGPT's external context: recall storage, which holds all messages, and archival storage (`memgpt`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch

from eval.harness.contract import Passage
from eval.systems.documents import beginnings, embed_beginnings, said
from eval.systems.plain_retrieval import PlainSearch
from eval.systems.text_nodes import TextNode
from nscma_torch.core.protocols import Embedder
from nscma_torch.search.lexical import idf
from nscma_torch.text.terms import query_terms, terms


class Storage:
    """Both storages on some passages; documents are in archival storage, what was said in the other.

    Attributes:
        texts: of the passages.
        archive: what archival storage holds.
    """

    def __init__(self, passages: Sequence[Passage], embedder: Embedder) -> None:
        self._embedder = embedder
        self.texts = [said(passage) for passage in passages]
        self.talk = [row for row, passage in enumerate(passages) if passage.message.role != "document"]
        self.archive: list[TextNode] = []
        self._recall = PlainSearch(self.texts, torch.empty(len(passages), 0))
        self._vectors = torch.empty(0, embedder.dimension)
        documents = sorted(set(range(len(passages))).difference(self.talk))
        self.insert([TextNode(self.texts[row], (row,)) for row in documents])

    def insert(self, nodes: Sequence[TextNode]) -> None:
        """Add to archival storage what it does not hold in the same words."""
        known = {node.text for node in self.archive if node.written}
        new = {node.text: node for node in nodes if node.text not in known}
        if new:
            self.archive += new.values()
            self._vectors = torch.cat([self._vectors, embed_beginnings(self._embedder, list(new))])

    def recalled(self, query: str, known: Collection[int]) -> list[TextNode]:
        """The messages in the rows known that have words of the query, best first."""
        talk = set(self.talk).intersection(known)
        return [TextNode(self.texts[row], (row,)) for row in self._recall.bm25(query) if row in talk]

    def archived(self, query: str, known: set[int]) -> list[TextNode]:
        """What archival storage holds of the rows known, the nearest to the query first."""
        (asked,) = beginnings(self._embedder, [query])
        order = (self._vectors @ self._embedder.embed_query(asked).cpu()).argsort(descending=True, stable=True)
        return [node for place in order.tolist() if known.issuperset((node := self.archive[place]).leaves)]

    def covered(self, question: str, nodes: Sequence[TextNode], known: Collection[int]) -> float:
        """The largest share of the question's words, weighed by their rarity in the rows known, that one node holds."""
        asked = set(query_terms(question))
        held = [asked.intersection(terms(self.texts[row])) for row in known]
        weight = {term: idf(len(held), sum(term in own for own in held)) for term in sorted(asked)}
        most = max((sum(weight[term] for term in asked.intersection(terms(node.text))) for node in nodes), default=0.0)
        return most / total if (total := sum(weight.values())) else 0.0

    @property
    def nbytes(self) -> int:
        """Of what was written to archival storage, and of vectors; texts of passages are not counted."""
        written = sum(len(node.text.encode()) for node in self.archive if node.written)
        return written + self._vectors.nbytes
