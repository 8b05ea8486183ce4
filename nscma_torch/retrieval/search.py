"""Single-step hybrid search: a lexical and a vector lane over one user's units, fused into one score.

Legend: n units of the user.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.protocols import Embedder
from nscma_torch.records import Hit, Scope, UnitKind
from nscma_torch.retrieval.confidence import support
from nscma_torch.retrieval.fusion import FUSIONS
from nscma_torch.retrieval.lexical import BM25Settings, bm25, idf
from nscma_torch.retrieval.query import Query, parse
from nscma_torch.storage import episodes, fingerprint, units
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.database import Database
from nscma_torch.storage.user_index import Posting, UserIndex
from nscma_torch.storage.vectors import EpisodicWeights, FaissSearch, TensorSearch, VectorSearch

Lane = Literal["lexical", "vector"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a search scores. `candidates` is the length of the vector lane; `speaker_boost` is added to a factor of 1."""

    lanes: tuple[Lane, ...] = ("lexical", "vector")
    fusion: str = "relative"
    candidates: int = 256
    speaker_boost: float = 0.5
    bm25: BM25Settings = field(default_factory=BM25Settings)
    episodic: EpisodicWeights = field(default_factory=EpisodicWeights)
    backend: Literal["torch", "faiss"] = "torch"
    faiss_factory: str = "Flat"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a search found, and how far the memory seems to hold an answer at all (`confidence.support`)."""

    hits: list[Hit]
    support: float


class Searcher:
    """Searches users' memories. Keeps one derived index per user asked for, and brings it up to date on each read."""

    def __init__(self, database: Database, embedder: Embedder, settings: SearchSettings, device: torch.device) -> None:
        self._database = database
        self._embedder = embedder
        self._settings = settings
        self._device = device
        self._indexes: dict[str, tuple[UserIndex, VectorSearch]] = {}
        self._lock = threading.Lock()

    def search(
        self,
        text: str,
        scope: Scope,
        *,
        now: datetime,
        skew: timedelta = timedelta(0),
        top_k: int = 10,
        threshold: float = 0.0,
        kinds: Sequence[UnitKind] = ("chunk",),
        metadata: Mapping[str, Any] | None = None,
        explain: bool = False,
    ) -> Retrieved:
        """The `top_k` best units that had been said at `now`, best first; their clock may be `skew` ahead.

        Scores are relative to the best unit of each lane, at most 1 + `speaker_boost`; they do not compare between
        questions. `threshold` drops hits with a lower score. Equal scores are in the order in which they were stored.
        """
        with self._lock, self._database.read() as connection:
            fingerprint.check(connection, self._embedder.fingerprint)
            index, vectors = self._index(connection, scope.user_id)
            query = parse(text, names=index.names, now=now)
            at = to_micros(now)
            until = to_micros(now + skew)
            mask = index.where(kinds=kinds, agent_id=scope.agent_id, run_id=scope.run_id, at=at, until=until)
            if metadata:
                wanted = torch.zeros_like(mask)
                wanted[index.rows_of(episodes.units_with_metadata(connection, scope.user_id, metadata))] = True
                mask &= wanted
            if not bool(mask.any()):
                return Retrieved([], 0.0)
            postings = index.postings(connection, query.terms)
            meaning = self._embedder.embed_query(query.meaning).to(self._device)
            lanes = {
                lane: self._lexical(index, postings, query, mask)
                if lane == "lexical"
                else self._vector(vectors, meaning, at, mask)
                for lane in self._settings.lanes
            }
            author = index.said_by(query.speakers, query.roles)
            boost = 1 + self._settings.speaker_boost * author.float()
            fused = FUSIONS[self._settings.fusion](torch.stack(list(lanes.values()))) * boost
            rows = best(fused, top_k, threshold)
            seqs = index.seqs[rows].tolist()
            found = units.load(connection, scope.user_id, seqs)
            parts = self._parts(index, lanes, boost, rows) if explain else [{} for _ in seqs]
            scores = fused[rows].tolist()
            known = support(index, postings, query, meaning, mask, index.said_by(query.speakers))
        return Retrieved([Hit(found[s], v, p) for s, v, p in zip(seqs, scores, parts, strict=True)], known)

    def _index(self, connection: Connection, user_id: str) -> tuple[UserIndex, VectorSearch]:
        if user_id not in self._indexes:
            index = UserIndex(user_id, self._embedder.dimension, self._device)
            settings = self._settings
            self._indexes[user_id] = (
                index,
                FaissSearch(index, settings.episodic, settings.faiss_factory)
                if settings.backend == "faiss"
                else TensorSearch(index, settings.episodic),
            )
        index, vectors = self._indexes[user_id]
        index.catch_up(connection)
        return index, vectors

    def _lexical(self, index: UserIndex, postings: Mapping[str, Posting], query: Query, mask: Tensor) -> Tensor:
        """BM25 of the words, plus the inverse document frequency of each period named, for what was said in it. [n]"""
        scores = bm25(index, postings, query.terms, self._settings.bm25, mask)
        for first, after in query.periods:
            inside = mask & (index.occurred_at >= to_micros(first)) & (index.occurred_at < to_micros(after))
            scores += inside * idf(int(mask.sum()), int(inside.sum()))
        return scores

    def _vector(self, vectors: VectorSearch, meaning: Tensor, at: int, mask: Tensor) -> Tensor:
        """Episodic score of the nearest units, 0 for others. [n]"""
        scores = torch.zeros(len(mask), device=self._device)
        values, rows = vectors.search(meaning, now=at, mask=mask, k=self._settings.candidates)
        scores[rows] = values.clamp(min=0)
        return scores

    def _parts(
        self, index: UserIndex, lanes: Mapping[Lane, Tensor], boost: Tensor, rows: Tensor
    ) -> list[dict[str, float]]:
        columns = {f"{name}_score": scores[rows] for name, scores in lanes.items()}
        for name, scores in lanes.items():
            columns[f"{name}_rank"] = 1 + (scores[None, :] > scores[rows][:, None]).sum(dim=1)
        columns |= {"speaker_boost": boost[rows], "importance": index.importance[rows]}
        values = {name: column.tolist() for name, column in columns.items()}
        return [{name: column[i] for name, column in values.items()} for i in range(len(rows))]


def best(scores: Tensor, k: int, threshold: float) -> Tensor:
    """Rows of the k largest scores [n] that are positive and not below the threshold; ties by the smaller row."""
    k = min(k, len(scores))
    if not k:
        return torch.empty(0, dtype=torch.int64, device=scores.device)
    least = scores.topk(k).values[-1]
    # topk leaves open which of several equal scores it takes: all that tie for the last place are ordered
    rows = torch.nonzero((scores >= least) & (scores > 0) & (scores >= threshold))[:, 0]
    return rows[scores[rows].sort(descending=True, stable=True).indices[:k]]
