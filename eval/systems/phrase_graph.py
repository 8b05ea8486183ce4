"""Open triples as a graph of phrases with synonym edges, and personalised PageRank over it: HippoRAG and HippoRAG 2.

Gutiérrez et al. 2024, "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", section 2.3:
subjects and objects of triples are nodes, a triple joins its two, and two phrases whose cosine is above a threshold
are joined as synonyms. An edge weighs how many triples it stands for, that of synonyms their cosine, as in the authors'
code. Gutiérrez et al. 2025, "From RAG to Memory", adds a node for each passage, joined to the phrases that it holds.

Legend: P phrases, n passages, N nodes, phrases first: P, or P + n with the passages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from eval.systems.documents import embed_beginnings
from eval.systems.language import Triple
from nscma_kernels import personalized_pagerank
from nscma_torch.core.protocols import Embedder
from nscma_torch.text.names import name_key

_BLOCK = 1024  # rows of the cosines of phrases that are held at once
_TOLERANCE = 1e-9  # of shares: one that is smaller is nothing


class PhraseGraph:
    """The graph of a corpus.

    Args:
        stated: triples of each of n passages; one whose subject or object has no letter is left out.
        synonyms: cosine above which two phrases are joined.
        with_passages: whether passages are nodes.

    Attributes:
        phrases: as first written; two wordings with one key (`name_key`) are one phrase.
        vectors: of the phrases [P, d].
        holders: passages that hold each phrase, float64 [P].
        triples: what is said, each once.
        ends: rows of subject and object of each triple.
        said_in: rows of the passages that say each triple, ascending.
        weights: of edges, by the rows of their nodes, the lesser first.
    """

    def __init__(
        self,
        stated: Sequence[Sequence[Triple]],
        embedder: Embedder,
        *,
        synonyms: float = 0.8,
        with_passages: bool = False,
    ) -> None:
        self._rows: dict[str, int] = {}
        self.phrases: list[str] = []
        self.triples: list[Triple] = []
        self.ends: list[tuple[int, int]] = []
        self.said_in: list[list[int]] = []
        self.weights: defaultdict[tuple[int, int], float] = defaultdict(float)
        held: Counter[tuple[int, int]] = Counter()  # phrase and passage
        known: dict[tuple[int, str, int], int] = {}
        for passage, own in enumerate(stated):
            for triple in own:
                if not (name_key(triple.subject) and name_key(triple.object)):
                    continue
                ends = self._row(triple.subject), self._row(triple.object)
                held.update((end, passage) for end in ends)
                self._join(*ends, 1.0)
                place = known.setdefault((ends[0], name_key(triple.predicate), ends[1]), len(known))
                if place == len(self.triples):
                    self.triples.append(triple)
                    self.ends.append(ends)
                    self.said_in.append([])
                if passage not in self.said_in[place]:
                    self.said_in[place].append(passage)
        pairs = torch.tensor(list(held), dtype=torch.int64).reshape(-1, 2)
        self._phrase, self._passage = pairs.T
        self._times = torch.tensor(list(held.values()), dtype=torch.float64)
        self.holders = torch.bincount(self._phrase, minlength=len(self.phrases)).double()
        self.vectors = embed_beginnings(embedder, self.phrases)
        self._join_synonyms(synonyms)
        self._passages = len(stated)
        self.nodes = len(self.phrases) + (self._passages if with_passages else 0)
        if with_passages:
            for phrase, passage in held:
                self._join(phrase, len(self.phrases) + passage, 1.0)

    def _row(self, phrase: str) -> int:
        row = self._rows.setdefault(name_key(phrase), len(self._rows))
        if row == len(self.phrases):
            self.phrases.append(phrase)
        return row

    def _join(self, one: int, other: int, weight: float) -> None:
        if one != other:
            self.weights[min(one, other), max(one, other)] += weight

    def _join_synonyms(self, threshold: float) -> None:
        for start in range(0, len(self.phrases), _BLOCK):
            cosines = self.vectors[start : start + _BLOCK] @ self.vectors.T
            above = (cosines > threshold).triu(start + 1).nonzero()
            for row, other in above.tolist():
                self._join(start + row, other, float(cosines[row, other]))

    def walk(self, seeds: Tensor, damping: float) -> Tensor:
        """The share [N] of its visits that a walk from `seeds` [N], not all zero, pays to each node."""
        edges = torch.tensor(list(self.weights), dtype=torch.int64).reshape(-1, 2).T
        weights = torch.tensor(list(self.weights.values()), dtype=torch.float64)
        both = torch.cat([edges, edges.flip(0)], dim=1)
        shares = personalized_pagerank(
            both, seeds[None], edge_weight=weights.repeat(2), damping=damping, tol=_TOLERANCE
        )[0]
        return shares * (shares > _TOLERANCE)

    def of_passages(self, shares: Tensor) -> Tensor:
        """For each passage [n] the sum over its phrases of their share [P] times how often it holds them."""
        total = torch.zeros(self._passages, dtype=torch.float64)
        return total.index_add_(0, self._passage, self._times * shares[self._phrase])

    def store_bytes(self) -> int:
        """Of triples, vectors and edges."""
        texts = sum(len(triple.text.encode()) for triple in self.triples)
        return texts + self.vectors.nbytes + 3 * 8 * len(self.weights)
