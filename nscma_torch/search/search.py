"""Single-step hybrid search: a lexical lane and a vector lane over one user's units, fused into one score.

Legend: n units of the user.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import NamedTuple

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.core.capabilities import capability
from nscma_torch.core.config import Config
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.optional_parts import RecordRows
from nscma_torch.core.protocols import Embedder
from nscma_torch.core.records import Hit, Unit
from nscma_torch.episodic.index import stored_vectors, units
from nscma_torch.episodic.index.faiss_search import FaissSearch
from nscma_torch.episodic.index.index_postings import Posting
from nscma_torch.episodic.index.index_view import IndexView
from nscma_torch.episodic.index.scaled_search import ScaledSearch
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import TensorSearch, VectorSearch, compared
from nscma_torch.episodic.log import episodes
from nscma_torch.episodic.log.speakers import asker_among
from nscma_torch.search.answerability import Answerability, answerability
from nscma_torch.search.fusion import FUSIONS, Lane, lane_weights
from nscma_torch.search.indexes import Indexes, IndexSnapshot
from nscma_torch.search.lexical import bm25, idf
from nscma_torch.search.query import Query, parse
from nscma_torch.search.ranking import Ranking
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.embedders.query_vector import query_vector
from nscma_torch.text.known_names import mentions
from nscma_torch.text.names import name_key
from nscma_torch.text.terms import terms

_SPEAKERS = 16  # units of the speakers named in a question, read to measure the nearest one's similarity


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The result of a search. Calling `answerability()` estimates whether the memory contains an answer."""

    hits: list[Hit]
    answerability: Answerability
    trace: tuple[str, ...] = ()

    def bears(self, floor: float) -> bool:
        """Return True if the answerability is at least `floor`, so the memory is relevant to the query.

        A floor of -1 skips the check.
        """
        return floor <= -1 or self.answerability() >= floor


class _People(NamedTuple):
    """Speakers' names: all names, the user's own name ("" if unknown), and other names used in the user role."""

    names: tuple[str, ...]
    user: str
    others: tuple[str, ...]


class Nearest(NamedTuple):
    """The k nearest units for each of q vectors; empty places have row number -1 and zeros."""

    seqs: Tensor  # [q, k] int64
    scores: Tensor  # [q, k]
    keys: Tensor  # [q, k, d] the compared vectors
    values: Tensor  # [q, k, d] the units' own vectors


class _Asked(NamedTuple):
    """A question parsed for a search in one memory."""

    query: Query
    meaning: Tensor  # [d]
    at: int  # microseconds
    mask: Tensor  # [n], the units within bounds
    author: Tensor  # [n], units said by the speakers it names
    postings: Mapping[str, Posting]
    lexical: Callable[[], Tensor]  # [n], the scores of the lexical lane, computed at the first call


class _Scored(NamedTuple):
    lanes: Mapping[Lane, Tensor]  # each [n]
    boost: Tensor  # [n]
    fused: Tensor  # [n]
    answerability: Answerability


class Searcher:
    """Searches users' memories. It is thread-safe; questions are embedded without holding a lock.

    Args:
        embedder: the embedder for the store's vectors.
        questions: another embedder for the questions of hybrid search. Searches by cosine alone, as papers define them,
            and the answerability use `embedder`.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        config: Config,
        device: torch.device,
        questions: Embedder | None = None,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._questions = questions or embedder
        self._config = config
        self._settings = config.retrieval
        self._device = device
        limit = config.index.max_bytes
        self.indexes = Indexes(database, embedder, self._new_index, self._new_search, limit)

    def rank(self, text: str, bounds: Bounds, top_k: int, *, explain: bool = False) -> Ranking:
        """Return the row numbers of the `top_k` best units within the bounds, without reading the units.

        With relative fusion, scores are relative to each lane's best unit, are at most 1 + `speaker_boost`, and can't
        be compared between questions. Ties are in storage order.
        """
        user_id = bounds.scope.user_id
        with self.indexes.reading(user_id) as reading:
            people = _people(reading)
            if not len(reading.index):
                parse(text, names=(), now=bounds.now)
                return Ranking({}, lambda: 0.0)
        while True:
            query = parse(text, names=people.names, now=bounds.now, user=people.user)
            whole = self._config.score.similarity == "cosine"
            embedder = self._embedder if whole else self._questions
            meaning = query_vector(embedder, text if whole else query.meaning).to(self._device)
            with self.indexes.reading(user_id) as reading:
                index = reading.index
                mask = self._mask(reading.connection, index, bounds)
                postings = index.postings(reading.connection, query.terms)
                last, people = people, _people(reading)
                if people != last:  # a new speaker appeared meanwhile, whom the question may name
                    continue
                own = self._own(index, people)
                author = index.said_by(query.speakers) | (own & (people.user in query.speakers))
                lexical = cache(partial(self._lexical, index, postings, query, mask))
                asked = _Asked(query, meaning, to_micros(bounds.now), mask, author, postings, lexical)
                view = self._near(reading, asked)
            break
        scored = self._scored(reading, view, asked, own)
        rows = best(scored.fused, top_k)
        seqs = index.seqs[rows].tolist()
        parts = dict(zip(seqs, self._parts(index, scored, rows), strict=True)) if explain else {}
        return Ranking(dict(zip(seqs, scored.fused[rows].tolist(), strict=True)), scored.answerability, parts)

    def nearest(self, text: str, bounds: Bounds, top_k: int | None = None) -> Ranking:
        """Return the `top_k` units with the largest cosines to the whole text, even negative ones.

        Returns all units if `top_k` is None.

        f_emb(q) . f_emb(v) / (|f_emb(q)| |f_emb(v)|), CAM section 4.2. Ties are in storage order; units without a
        vector are skipped.
        """
        parse(text, names=(), now=bounds.now)
        meaning = query_vector(self._embedder, text).to(self._device)
        with self.indexes.reading(bounds.scope.user_id) as reading:
            index = reading.index
            passing = self._mask(reading.connection, index, bounds) & index.embedded
            if index.apart:
                rows, cosines = self._nearest_stored(reading, meaning, passing, top_k)
        if not index.apart:
            rows = torch.nonzero(passing)[:, 0]
            cosines = index.vectors[rows].float() @ meaning
        cosines, order = cosines.sort(descending=True, stable=True)
        seqs, values = index.seqs[rows][order][:top_k].tolist(), cosines[:top_k].tolist()
        parts = {seq: {"cosine": value} for seq, value in zip(seqs, values, strict=True)}
        known = cache(lambda: self.rank(text, bounds, 1).answerability())
        return Ranking(dict(zip(seqs, values, strict=True)), known, parts)

    def linked(self, texts: Sequence[str], bounds: Bounds) -> list[dict[int, float]]:
        """Return for each text the units under the headings it mentions, by row number, with link weights.

        A heading mentioned by m of N units has the weight ln(1 + N/(1 + m)), relative to the weight for m = 1, divided
        by the square root of the number of units under it.
        """
        with self.indexes.reading(bounds.scope.user_id) as reading:
            index = reading.index
            if not index.headings:
                return [{} for _ in texts]
            mask = self._mask(reading.connection, index, bounds)
            held = [[(name, index.headings[name]) for name in mentions(text, index.headings)] for text in texts]
            weights = self._rarity(reading.connection, index, mask, {name for own in held for name, _ in own})
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
        """Return the pairwise cosines of m units, [m, m]; 0 for units that are erased or have no vector."""
        with self.indexes.reading(bounds.scope.user_id) as reading:
            index = reading.index
            found = index.rows_of(seqs)
            own = stored_vectors.read(reading.connection, index, found) if index.apart else index.vectors[found]
        vectors = torch.zeros(len(seqs), self.dimension, device=self._device)
        held = torch.isin(torch.tensor(seqs, device=self._device), index.seqs[found])
        vectors[held] = own.float()
        return vectors @ vectors.T

    @property
    def dimension(self) -> int:
        """Return the embedder's dimension."""
        return self._embedder.dimension

    def recall(self, queries: Tensor, bounds: Bounds, k: int) -> Nearest:  # queries: [q, d]
        """Return for each vector the k units within the bounds with the best episodic scores, using only the vector
        lane.
        """
        at, q = to_micros(bounds.now), len(queries)
        with self.indexes.reading(bounds.scope.user_id) as reading:
            index = reading.index
            mask = self._mask(reading.connection, index, bounds)
            numbers = torch.full((q, k), -1, dtype=torch.int64, device=self._device)
            scores = torch.zeros(q, k, device=self._device)
            keys, values = torch.zeros(2, q, k, self.dimension, device=self._device)
            for place, query in enumerate(queries.to(self._device).float() if len(index) else ()):
                view = self._candidates(reading, query, [(mask, max(k, self._settings.candidates))], at)
                own, rows = self._compared(reading, view, query, at, mask, k)
                numbers[place, : len(rows)], scores[place, : len(rows)] = index.seqs[view.whole(rows)], own
                keys[place, : len(rows)] = compared(view, self._config.score)[rows].float()
                values[place, : len(rows)] = view.vectors[rows].float()
        return Nearest(numbers, scores, keys, values)

    def visible(self, seqs: Sequence[int], bounds: Bounds) -> set[int]:
        """Return the units that are visible within the bounds."""
        with self.indexes.reading(bounds.scope.user_id) as reading:
            mask = self._mask(reading.connection, reading.index, bounds)
            rows = reading.index.rows_of(sorted(set(seqs)))
            return set(reading.index.seqs[rows[mask[rows]]].tolist())

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens in each text with the embedder's tokenizer."""
        return self._embedder.count_tokens(texts)

    def load(self, seqs: Sequence[int], user_id: str) -> dict[int, Unit]:
        """Return the user's units with these row numbers."""
        with self._database.read(user_id) as connection:
            return units.load(connection, user_id, seqs)

    def forget(self, user_id: str) -> None:
        """Drop the cached data for a user."""
        self.indexes.forget(user_id)

    def _mask(self, connection: Connection, index: UserIndex, bounds: Bounds) -> Tensor:
        scope, at = bounds.scope, to_micros(bounds.now)
        until = to_micros(bounds.now) + bounds.skew // timedelta(microseconds=1)  # their sum may be no datetime
        ids = {"agent_id": scope.agent_id, "run_id": scope.run_id}
        mask = index.where(kinds=bounds.kinds, **ids, at=at, until=until, expired=bounds.expired)
        if bounds.metadata:
            wanted = torch.zeros_like(mask)
            matching = episodes.units_with_metadata(connection, scope.user_id, bounds.metadata)
            wanted[index.rows_of(matching)] = True
            mask &= wanted
        if bounds.among is not None:
            wanted = torch.zeros_like(mask)
            wanted[index.rows_of(bounds.among)] = True
            mask &= wanted
        if bounds.record is not None:
            wanted = torch.zeros_like(mask)
            rows: RecordRows = capability("records").rows
            wanted[index.rows_of(rows.units_fitting(connection, scope, bounds.record, at))] = True
            mask &= wanted
        if bounds.without:
            mask[index.rows_of(episodes.units_with_metadata(connection, scope.user_id, bounds.without))] = False
        return mask

    def _near(self, reading: IndexSnapshot, asked: _Asked) -> IndexView:
        """Return a view with the vectors needed by the vector lane and, for questions naming speakers, by
        answerability.
        """
        k = self._settings.candidates
        wanted = [(asked.mask, k)]
        if asked.query.speakers:
            wanted.append((asked.mask & asked.author, _SPEAKERS))
        by_words = []
        if reading.index.apart and "lexical" in self._settings.lanes:
            scores = asked.lexical()
            by_words.append(best(scores.masked_fill(scores <= 0, -torch.inf), k))
        return self._candidates(reading, asked.meaning, wanted, asked.at, by_words)

    def _candidates(
        self,
        reading: IndexSnapshot,
        query: Tensor,
        wanted: Sequence[tuple[Tensor, int]],
        at: int,
        more: Sequence[Tensor] = (),
    ) -> IndexView:
        """Return the index or, if vectors are in the database, a view of the candidates for each mask's k best units.

        The rows in `more` are added: the best lexical matches, whose vectors also count if they are similar enough.
        """
        index, weights = reading.index, self._config.score
        if not index.apart:
            return index
        found = [
            stored_vectors.candidates(reading.connection, index, query, mask, k, now=at, weights=weights)
            for mask, k in wanted
        ]
        mixed = weights.similarity == "contextual"
        return stored_vectors.select(reading.connection, index, torch.cat([*found, *more]), mixed=mixed)

    def _nearest_stored(
        self, reading: IndexSnapshot, query: Tensor, passing: Tensor, k: int | None
    ) -> tuple[Tensor, Tensor]:
        """Return the k rows under `passing` with the largest cosines in the database, and the cosines.

        Returns all rows if `k` is None.
        """
        if k is None:
            return stored_vectors.scanned(reading.connection, reading.index, query, passing, None)
        rows = stored_vectors.nearest(reading.connection, reading.index, query, passing, k)
        view = stored_vectors.select(reading.connection, reading.index, rows, mixed=False)
        return view.rows, view.vectors @ query

    def _compared(
        self, reading: IndexSnapshot, view: IndexView, query: Tensor, at: int, mask: Tensor, k: int
    ) -> tuple[Tensor, Tensor]:
        """Return the best scores and rows, [m] each with m <= k, in a view from `_candidates` under a mask [n]."""
        if isinstance(view, UserIndex):
            return reading.vectors.search(view, query, now=at, mask=mask, k=k)
        return TensorSearch(self._config.score).search(view, query, now=at, mask=view.under(mask), k=k)

    def _own(self, index: UserIndex, people: _People) -> Tensor:
        """Return a mask [n] for the user's own messages."""
        return index.said_by((), ("user",)) & ~index.said_by(people.others)

    def _scored(self, reading: IndexSnapshot, view: IndexView, asked: _Asked, own: Tensor) -> _Scored:
        index, query, mask, postings = reading.index, asked.query, asked.mask, asked.postings
        if not bool(mask.any()):
            nothing = torch.zeros(len(mask), device=self._device)
            return _Scored(dict.fromkeys(self._settings.lanes, nothing), nothing, nothing - torch.inf, lambda: 0.0)
        lanes: dict[Lane, Tensor] = {}
        found = torch.zeros_like(mask)
        for lane in self._settings.lanes:
            if lane == "lexical":
                lanes[lane] = asked.lexical()
                found |= lanes[lane] > 0
            else:
                lanes[lane], rows = self._vector(reading, view, asked)
                found[rows] = True
        author = asked.author | own if query.roles else asked.author
        boost = 1 + self._settings.speaker_boost * author.float()
        weights = lane_weights(lanes, query.intent)
        fused = FUSIONS[self._settings.fusion](torch.stack(list(lanes.values())), weights) * boost
        fused = fused.masked_fill(~found, -torch.inf)

        @cache
        def known() -> float:
            meaning = asked.meaning
            if self._questions is not self._embedder:  # the estimate was fitted with the store's embedder
                meaning = query_vector(self._embedder, query.meaning).to(self._device)
            return answerability(index, view, postings, query, meaning, mask, asked.author)

        return _Scored(lanes, boost, fused, known)

    def _rarity(
        self, connection: Connection, index: UserIndex, mask: Tensor, names: Set[tuple[str, ...]]
    ) -> dict[tuple[str, ...], float]:
        """Weight each name by the rarity of units containing all its words, relative to a name found in one unit."""
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

    def _new_index(self, user_id: str) -> UserIndex:
        dtype, timed = getattr(torch, self._config.index.dtype), self._config.score.recency_since == "recalled"
        # where each score depends on those of all units, the vectors of all are needed
        large = self._config.index.database_from if self._config.score.scaling == "none" else 0
        dimension = self._embedder.dimension
        return UserIndex(user_id, dimension, self._device, dtype, timed=timed, database_from=large)

    def _new_search(self) -> VectorSearch:
        index, weights = self._config.index, self._config.score
        if weights.scaling == "min-max":
            return ScaledSearch(weights)
        if index.backend == "torch":
            return TensorSearch(weights)
        limits = {"nprobe": index.faiss_nprobe, "ef_search": index.faiss_ef_search}
        return FaissSearch(self._embedder.dimension, self._device, weights, index.faiss_factory, **limits)

    def _lexical(self, index: UserIndex, postings: Mapping[str, Posting], query: Query, mask: Tensor) -> Tensor:
        """Return scores [n]: BM25, plus for each named period its inverse document frequency for units from that
        period.
        """
        scores = bm25(index, postings, query.terms, self._settings, mask)
        for first, after in query.periods:
            inside = mask & (index.occurred_at >= to_micros(first)) & (index.occurred_at < to_micros(after))
            scores += inside * idf(int(mask.sum()), int(inside.sum()))
        return scores

    def _vector(self, reading: IndexSnapshot, view: IndexView, asked: _Asked) -> tuple[Tensor, Tensor]:
        """Return the episodic scores of the nearest units (0 for all others), [n], and their rows. With relative or
        rank fusion, units with negative scores count as not found.
        """
        scores = torch.zeros(len(asked.mask), device=self._device)
        k = self._settings.candidates
        values, near = self._compared(reading, view, asked.meaning, asked.at, asked.mask, k)
        rows = view.whole(near)
        if self._settings.fusion != "sum":
            values, rows = values[values > 0], rows[values > 0]
        scores[rows] = values
        return scores, rows

    def _parts(self, index: UserIndex, scored: _Scored, rows: Tensor) -> list[dict[str, float]]:
        lanes = scored.lanes
        columns = {f"{name}_score": scores[rows] for name, scores in lanes.items()}
        for name, scores in lanes.items():
            not_above = torch.searchsorted(scores.sort().values, scores[rows], right=True)
            columns[f"{name}_rank"] = 1 + len(scores) - not_above
        columns |= {"speaker_boost": scored.boost[rows], "importance": index.importance[rows]}
        values = {name: column.tolist() for name, column in columns.items()}
        return [{name: column[i] for name, column in values.items()} for i in range(len(rows))]


def _people(reading: IndexSnapshot) -> _People:
    """Collect the speakers' names. The user's id counts as their name if it is a word, their messages give no other
    name, and no message contains it.

    If no message is known to be the user's own, `others` is empty.
    """
    index = reading.index
    spoken = index.names_in("user")
    asker = asker_among(spoken, index.user_id)
    others = [name for name in spoken if name and name_key(name) != name_key(asker.named)]
    known = asker.named or (asker.by_id if "" in spoken else "")
    user = known if asker.named or not index.postings(reading.connection, terms(known)) else ""
    return _People(index.names, user, tuple(others) if asker.named or "" in spoken else ())


def best(scores: Tensor, k: int) -> Tensor:
    """Return the rows of the k largest scores [n] above -inf; ties go to the smaller row."""
    k = min(k, len(scores))
    if not k:
        return torch.empty(0, dtype=torch.int64, device=scores.device)
    least = scores.topk(k).values[-1]
    # topk leaves open which of several equal scores it takes: all that tie for the last place are ordered
    rows = torch.nonzero((scores >= least) & (scores > -torch.inf))[:, 0]
    return rows[scores[rows].sort(descending=True, stable=True).indices[:k]]
