"""Single-step hybrid search: a lexical and a vector lane over one user's units, fused into one score.

Legend: n units of the user.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.protocols import Embedder
from nscma_torch.records import Hit, Unit
from nscma_torch.retrieval.bounds import Bounds
from nscma_torch.retrieval.confidence import support
from nscma_torch.retrieval.fusion import FUSIONS
from nscma_torch.retrieval.lexical import BM25Settings, bm25, idf
from nscma_torch.retrieval.query import Query, parse
from nscma_torch.storage import episodes, fingerprint, units
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.database import Database
from nscma_torch.storage.faiss_search import FaissSearch
from nscma_torch.storage.speakers import word_of_id
from nscma_torch.storage.user_index import Posting, UserIndex
from nscma_torch.storage.vectors import EpisodicWeights, TensorSearch, VectorSearch
from nscma_torch.text.mentions import mentions
from nscma_torch.text.query_vector import query_vector
from nscma_torch.text.terms import terms

Lane = Literal["lexical", "vector"]
# advice is not in the memory; the wishes that bear on it share its meaning more than its words (of .5-1 on even BEAM)
_ADVICE: Mapping[Lane, float] = MappingProxyType({"lexical": 0.4, "vector": 1.6})
_KEPT = 1_000_000  # units of the indexes in memory together: 3 GB of float32 vectors at 384 dimensions


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
    faiss_nprobe: int = 16
    faiss_ef_search: int = 128
    dtype: torch.dtype = torch.float32


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a search found, and how far the memory seems to hold an answer at all (`confidence.support`)."""

    hits: list[Hit]
    support: float
    trace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """Scores by the row number of the unit, best first, and the support; what made each score, if asked for."""

    scores: dict[int, float]
    support: float
    parts: dict[int, dict[str, float]] = field(default_factory=dict)


class _Scored(NamedTuple):
    lanes: Mapping[Lane, Tensor]  # each [n]
    boost: Tensor  # [n]
    fused: Tensor  # [n]
    support: float


class Searcher:
    """Searches users' memories. Keeps an index of each user asked for last, and brings it up to date on each read."""

    def __init__(self, database: Database, embedder: Embedder, settings: SearchSettings, device: torch.device) -> None:
        self._database = database
        self._embedder = embedder
        self._settings = settings
        self._device = device
        self._indexes: dict[str, tuple[UserIndex, VectorSearch]] = {}
        self._lock = threading.Lock()

    def rank(self, text: str, bounds: Bounds, top_k: int, *, explain: bool = False) -> Ranked:
        """The row numbers of the `top_k` best units within bounds, without reading the units.

        Scores of relative fusion are relative to the best unit of each lane, at most 1 + `speaker_boost`; none compare
        between questions. Equal scores are in the order in which they were stored.
        """
        with self._reading(bounds) as (connection, index, vectors):
            scored = self._scored(connection, index, vectors, text, bounds)
            rows = best(scored.fused, top_k)
            seqs = index.seqs[rows].tolist()
            parts = dict(zip(seqs, self._parts(index, scored, rows), strict=True)) if explain else {}
            return Ranked(dict(zip(seqs, scored.fused[rows].tolist(), strict=True)), scored.support, parts)

    def linked(self, texts: Sequence[str], bounds: Bounds) -> list[dict[int, float]]:
        """For each text, the units under the headings that it mentions, by row number, with the weight of the link.

        The weight of a heading is that of a rare name, ln(1 + N/(1 + m)) relative to one that m = 1 of N units
        mentions, over the root of the number of units under it.
        """
        with self._reading(bounds) as (connection, index, _):
            if not index.headings:
                return [{} for _ in texts]
            mask = self._mask(connection, index, bounds)
            held = [[(name, index.headings[name]) for name in mentions(text, index.headings)] for text in texts]
            weights = self._rarity(connection, index, mask, {name for own in held for name, _ in own})
            found = []
            for own in held:
                links: dict[int, float] = {}
                for name, rows in own:
                    under = torch.tensor(rows, device=self._device)
                    seqs = index.seqs[under[mask[under]]].tolist()
                    for seq in seqs:
                        links[seq] = max(links.get(seq, 0.0), weights[name] / len(seqs) ** 0.5)
                found.append(links)
            return found

    def cosines(self, seqs: Sequence[int], bounds: Bounds) -> Tensor:
        """Cosine of each two of these units, [m] to [m, m]; 0 for one that has no vector, or is gone."""
        with self._reading(bounds) as (_, index, _):
            found = index.rows_of(seqs)
            vectors = torch.zeros(len(seqs), index.vectors.shape[1], device=self._device)
            held = torch.isin(torch.tensor(seqs, device=self._device), index.seqs[found])
            vectors[held] = index.vectors[found].float()
            return vectors @ vectors.T

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as the embedder counts."""
        return self._embedder.count_tokens(texts)

    def load(self, seqs: Sequence[int], user_id: str) -> dict[int, Unit]:
        """The user's units with these row numbers."""
        with self._database.read() as connection:
            return units.load(connection, user_id, seqs)

    @contextmanager
    def _reading(self, bounds: Bounds) -> Iterator[tuple[Connection, UserIndex, VectorSearch]]:
        with self._lock, self._database.read() as connection:
            fingerprint.check(connection, self._embedder.fingerprint)
            index, vectors = self._index(connection, bounds.scope.user_id)
            yield connection, index, vectors

    def _mask(self, connection: Connection, index: UserIndex, bounds: Bounds) -> Tensor:
        scope, at = bounds.scope, to_micros(bounds.now)
        until = to_micros(bounds.now + bounds.skew)
        mask = index.where(kinds=bounds.kinds, agent_id=scope.agent_id, run_id=scope.run_id, at=at, until=until)
        if bounds.metadata:
            wanted = torch.zeros_like(mask)
            matching = episodes.units_with_metadata(connection, scope.user_id, bounds.metadata)
            wanted[index.rows_of(matching)] = True
            mask &= wanted
        if bounds.without:
            mask[index.rows_of(episodes.units_with_metadata(connection, scope.user_id, bounds.without))] = False
        return mask

    def _scored(
        self, connection: Connection, index: UserIndex, vectors: VectorSearch, text: str, bounds: Bounds
    ) -> _Scored:
        query = parse(text, names=index.names, now=bounds.now, user=_unnamed_user(connection, index))
        mask = self._mask(connection, index, bounds)
        if not bool(mask.any()):
            nothing = torch.zeros(len(mask), device=self._device)
            return _Scored(dict.fromkeys(self._settings.lanes, nothing), nothing + 1, nothing, 0.0)
        postings = index.postings(connection, query.terms)
        meaning = query_vector(self._embedder, query.meaning).to(self._device)
        lanes = {
            lane: self._lexical(index, postings, query, mask)
            if lane == "lexical"
            else self._vector(vectors, meaning, to_micros(bounds.now), mask)
            for lane in self._settings.lanes
        }
        author = index.said_by(query.speakers, query.roles)
        boost = 1 + self._settings.speaker_boost * author.float()
        weights = [_ADVICE[lane] if query.intent == "advice" else 1.0 for lane in lanes]
        fused = FUSIONS[self._settings.fusion](torch.stack(list(lanes.values())), weights) * boost
        known = support(index, postings, query, meaning, mask, index.said_by(query.speakers))
        return _Scored(lanes, boost, fused, known)

    def _rarity(
        self, connection: Connection, index: UserIndex, mask: Tensor, names: Set[tuple[str, ...]]
    ) -> dict[tuple[str, ...], float]:
        """What each name weighs by the number of units that hold all its words, relative to a name that one holds."""
        words = {name: set(terms(" ".join(name))) for name in names}
        postings = index.postings(connection, sorted({term for own in words.values() for term in own}))
        total = max(2, int(mask.sum()))
        found = {}
        for name, own in words.items():
            counts = torch.zeros(len(index), dtype=torch.int32, device=self._device)
            for term in own & set(postings):
                counts[postings[term].rows] += 1
            holders = int((mask & (counts == len(own))).sum()) if own else total
            found[name] = min(1.0, math.log(1 + total / (1 + holders)) / math.log(1 + total / 2))
        return found

    def forget(self, user_id: str) -> None:
        """Let go of a user's index, which holds names and words that were said."""
        with self._lock:
            self._indexes.pop(user_id, None)

    def _index(self, connection: Connection, user_id: str) -> tuple[UserIndex, VectorSearch]:
        """The user's index as the store is now; those that were not asked for longest are let go of, see `_KEPT`."""
        known = self._indexes.pop(user_id, None)
        if known is None:
            new = UserIndex(user_id, self._embedder.dimension, self._device, self._settings.dtype)
            known = new, self._vectors(new)
        known[0].catch_up(connection)
        self._indexes[user_id] = known  # the newest last
        while len(self._indexes) > 1 and sum(len(index) for index, _ in self._indexes.values()) > _KEPT:
            del self._indexes[next(iter(self._indexes))]
        return known

    def _vectors(self, index: UserIndex) -> VectorSearch:
        own = self._settings
        if own.backend == "torch":
            return TensorSearch(index, own.episodic)
        nprobe, ef_search = own.faiss_nprobe, own.faiss_ef_search
        return FaissSearch(index, own.episodic, own.faiss_factory, nprobe=nprobe, ef_search=ef_search)

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

    def _parts(self, index: UserIndex, scored: _Scored, rows: Tensor) -> list[dict[str, float]]:
        lanes = scored.lanes
        columns = {f"{name}_score": scores[rows] for name, scores in lanes.items()}
        for name, scores in lanes.items():
            not_above = torch.searchsorted(scores.sort().values, scores[rows], right=True)
            columns[f"{name}_rank"] = 1 + len(scores) - not_above
        columns |= {"speaker_boost": scored.boost[rows], "importance": index.importance[rows]}
        values = {name: column.tolist() for name, column in columns.items()}
        return [{name: column[i] for name, column in values.items()} for i in range(len(rows))]


def _unnamed_user(connection: Connection, index: UserIndex) -> str:
    """The user's id as a name, where it is a word, their messages carry no name, and nobody speaks of one called so."""
    word = word_of_id(index.user_id)
    if not word or bool((index.said_by(index.names) & index.said_by((), ("user",))).any()):
        return ""
    return "" if index.postings(connection, terms(word)) else word


def best(scores: Tensor, k: int) -> Tensor:
    """Rows of the k largest scores [n] that are positive; ties by the smaller row."""
    k = min(k, len(scores))
    if not k:
        return torch.empty(0, dtype=torch.int64, device=scores.device)
    least = scores.topk(k).values[-1]
    # topk leaves open which of several equal scores it takes: all that tie for the last place are ordered
    rows = torch.nonzero((scores >= least) & (scores > 0))[:, 0]
    return rows[scores[rows].sort(descending=True, stable=True).indices[:k]]
