"""BM25, dense retrieval and their fusion in their plainest form: the baselines of the retrieval table.

Texts are words in lower case, without stemming or stop words; BM25 has k1 = 1.2 and b = 0.75 (Robertson and Zaragoza
2009, with the idf of Lucene, which is never negative); dense is the cosine; the fusion is reciprocal rank with c = 60.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

PLAIN = ("BM25", "dense", "RRF")
K1, B, C = 1.2, 0.75, 60
_WORD = re.compile(r"\w+")


class PlainSearch:
    """n texts with their vectors.

    Args:
        texts: of the units, n of them.
        vectors: unit vectors [n, d].
    """

    def __init__(self, texts: Sequence[str], vectors: Tensor) -> None:
        self._vectors = vectors
        words = [Counter(plain_words(text)) for text in texts]
        length = torch.tensor([sum(own.values()) for own in words], dtype=torch.float64)
        self._norm = K1 * (1 - B + B * length / length.mean())  # [n]
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for row, own in enumerate(words):
            for word, count in own.items():
                rows, counts = self._postings.setdefault(word, ([], []))
                rows.append(row)
                counts.append(count)

    def search(self, name: str, text: str, vector: Tensor) -> list[int]:
        """Rows ranked by the one of `PLAIN` with this name, for a question and its vector [d]."""
        if name == "RRF":
            return self.rrf(text, vector)
        return self.bm25(text) if name == "BM25" else self.dense(vector)

    def bm25(self, question: str) -> list[int]:
        """Rows that share a word with the question, best first."""
        n = len(self._norm)
        scores = torch.zeros(n, dtype=torch.float64)
        for word in dict.fromkeys(plain_words(question)):
            rows, counts = self._postings.get(word, ([], []))
            idf = math.log(1 + (n - len(rows) + 0.5) / (len(rows) + 0.5))
            tf = torch.tensor(counts, dtype=torch.float64)
            scores[rows] += idf * (K1 + 1) * tf / (tf + self._norm[rows])
        order = scores.argsort(descending=True, stable=True)
        return order[: int((scores > 0).sum())].tolist()

    def dense(self, question: Tensor, least: float = -math.inf) -> list[int]:
        """Rows whose cosine with the vector [d] of the question exceeds `least`, best first; all of them by default."""
        cosines = self._vectors @ question
        order = cosines.argsort(descending=True, stable=True)
        return order[: int((cosines > least).sum())].tolist()

    def rrf(self, text: str, vector: Tensor) -> list[int]:
        """Rows by the sum of 1 / (c + rank) over both rankings."""
        scores = torch.zeros(len(self._norm), dtype=torch.float64)
        for order in (self.bm25(text), self.dense(vector)):
            scores[order] += 1 / (C + torch.arange(1, len(order) + 1, dtype=torch.float64))
        return scores.argsort(descending=True, stable=True).tolist()


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _WORD.findall(text.lower())
