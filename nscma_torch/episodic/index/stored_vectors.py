"""Search a user's vectors that stay in PostgreSQL, and read the matches.

The database proposes candidates, and the usual code scores them: a `Selection` contains the index rows that may be
among the best, with their exact vectors. The candidates are

- the rows under a mask whose own vectors are nearest: an exact scan if there are few rows or no vector index
  (`vector_index`), otherwise an iterative HNSW scan that runs until it has found enough rows under the mask;
- the turns next to these, because a contextual vector includes its neighbours';
- the newest and the most important rows, if the score weighs these;
- rows that the caller adds, namely the best by their words.

Legend: n is the number of rows in the index, m that in a selection, d the embedding dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sqlalchemy import Connection, TextClause, text
from torch import Tensor

from nscma_torch.core.config import ScoreConfig
from nscma_torch.core.database import postgres_vectors as vector_index
from nscma_torch.episodic.index.contextual import REACH, around, contextual
from nscma_torch.episodic.index.index_rows import IndexRows
from nscma_torch.episodic.index.index_view import IndexView
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import recency

FEW = 16_384  # rows; among so few an exact scan takes no longer than the vector index
_VISITED = 20_000  # vectors that a walk of the vector index may look at, those of other users and out of bounds too
_FETCHED = 256  # row numbers that are fetched at once
_PROPOSED = 2  # as many units as are wanted, where the turns beside count too: these lift some from further down
_COLUMNS = ("seqs", "occurred_at", "importance", "embedded")
_VECTORS = ("vectors", "contextual")

_SETTINGS = text(
    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', :ef, true), "
    "set_config('hnsw.max_scan_tuples', :visited, true), set_config('hnsw.scan_mem_multiplier', '16', true), "
    "set_config('enable_sort', 'off', true)"
)
_SORTED = text("SELECT set_config('enable_sort', 'on', true)")


class Selection(IndexView):
    """Rows of an index with their vectors, which were read from the database.

    Attributes:
        rows: rows of the index, [m] int64 ascending.
    """

    def __init__(self, index: UserIndex, rows: Tensor, vectors: Tensor, mixed: Tensor) -> None:
        self.device, self.timed, self.rows = index.device, index.timed, rows
        self._computed, self._codebook = {}, {}
        own = {name: index.column(name)[rows] for name in _COLUMNS + (("since",) if index.timed else ())}
        self._rows = IndexRows(
            {name: column[:0] for name, column in own.items()} | dict.fromkeys(_VECTORS, vectors[:0])
        )
        self._rows.append(own | {"vectors": vectors, "contextual": mixed})

    def under(self, mask: Tensor) -> Tensor:
        return mask[self.rows]

    def whole(self, rows: Tensor) -> Tensor:
        return self.rows[rows]


def select(connection: Connection, index: UserIndex, rows: Tensor, *, mixed: bool) -> Selection:
    """Read rows [m] with their vectors from the database; with `mixed` also read their contextual vectors."""
    rows = torch.unique(rows)
    links = (index.previous, index.following)
    held = around(rows, links) if mixed else rows
    vectors = read(connection, index, held)
    places = torch.searchsorted(held, rows)
    if not mixed:
        return Selection(index, rows, vectors, torch.zeros_like(vectors))
    beside = [_placed(link[held], held) for link in links]
    share = index.shares(REACH)[held]
    return Selection(index, rows, vectors[places], contextual(places, vectors, index.embedded[held], beside, share))


def _placed(rows: Tensor, held: Tensor) -> Tensor:
    """Return the position [m] of each of `rows` [m] in ascending `held` [h]; -1 if absent."""
    if not len(held):
        return rows
    places = torch.searchsorted(held, rows).clamp_(max=len(held) - 1)
    return torch.where(held[places] == rows, places, -1)


def candidates(
    connection: Connection, index: UserIndex, query: Tensor, mask: Tensor, k: int, *, now: int, weights: ScoreConfig
) -> Tensor:
    """Return rows that may be among the k best by episodic score for query [d], under a mask [n]."""
    passing = mask & index.embedded
    mixed = weights.similarity == "contextual"
    rows = nearest(connection, index, query, passing, _PROPOSED * k if mixed else k)
    if mixed:
        rows = around(rows, (index.previous, index.following))
    if weights.beta or weights.gamma:
        other = weights.beta * recency(index.since(now), weights.decay, now) + weights.gamma * index.importance
        best = other.masked_fill(~passing, -torch.inf).topk(min(k, len(other))).indices
        rows = torch.cat([rows, best])
    return rows[passing[rows]]


def nearest(connection: Connection, index: UserIndex, query: Tensor, passing: Tensor, k: int) -> Tensor:
    """Return up to k rows under `passing` [n] with the largest inner product between their own vectors and query [d].

    Raises `StoreAccessError` if there is a vector index that pgvector can't scan iteratively.
    """
    count = int(passing.sum())
    if count <= k:
        return torch.nonzero(passing)[:, 0]
    if count > FEW and vector_index.usable(connection, len(query)):
        found = _walked(connection, index, query, passing, k)
        if len(found) == k:
            return found
    return scanned(connection, index, query, passing, k)[0]


def scanned(
    connection: Connection, index: UserIndex, query: Tensor, passing: Tensor, k: int | None
) -> tuple[Tensor, Tensor]:
    """Return the k rows under `passing` that exactly have the largest inner products with query, best first, and the
    products.

    If k is None, return all rows.
    """
    bound: dict[str, Any] = {"user_id": index.user_id, "query": _sent(query), "k": k}
    among = ""
    if not bool((passing == index.embedded).all()):
        among, bound["seqs"] = "AND unit_seq = ANY(CAST(:seqs AS bigint[]))", index.seqs[passing].tolist()
    found = connection.execute(_exactly(among), bound).all()
    seqs, scores = zip(*found, strict=True) if found else ((), ())
    return index.rows_of(seqs), query.new_tensor(scores)


def _exactly(among: str) -> TextClause:
    return text(
        "SELECT unit_seq, -(vector <#> CAST(:query AS vector)) FROM vectors "
        f"WHERE user_id = :user_id {among} ORDER BY vector <#> CAST(:query AS vector), unit_seq LIMIT :k"
    )


def _walked(connection: Connection, index: UserIndex, query: Tensor, passing: Tensor, k: int) -> Tensor:
    """Return rows like `nearest`, using the vector index: fewer than k if the scan gives up early."""
    connection.execute(_SETTINGS, {"ef": str(min(1000, max(40, 2 * k))), "visited": str(_VISITED)})
    bound = {"user_id": index.user_id, "query": _sent(query)}
    rows: list[Tensor] = [torch.empty(0, dtype=torch.int64, device=index.device)]
    missing = k
    walk = vector_index.walk(len(query)).execution_options(yield_per=_FETCHED)
    with connection.execute(walk, bound) as found:
        for some in found.scalars().partitions(_FETCHED):
            own = index.rows_of(some)
            own = own[passing[own]][:missing]
            rows.append(own)
            missing -= len(own)
            if not missing:
                break
    connection.execute(_SORTED)
    return torch.cat(rows)


def _sent(query: Tensor) -> str:
    """Format a vector for pgvector."""
    return str(query.double().tolist())


def read(connection: Connection, index: UserIndex, rows: Tensor) -> Tensor:
    """Read the vectors [m, d] float32 for rows [m], in any order, as stored; zeros for missing ones."""
    rows, places = torch.unique(rows, return_inverse=True)
    vectors = torch.zeros(len(rows), index.dimension, device=index.device)
    held = index.embedded[rows]
    seqs: Sequence[int] = index.seqs[rows[held]].tolist()
    if seqs:
        found = connection.execute(_VALUES, {"user_id": index.user_id, "seqs": seqs}).all()
        packed = np.frombuffer(b"".join(bytes(own[4:]) for (own,) in found), dtype=">f4").astype("<f4")
        vectors[held] = torch.from_numpy(packed.reshape(len(seqs), -1)).to(index.device)
    return vectors[places]


_VALUES = text(
    "SELECT vector_send(vector) FROM vectors WHERE user_id = :user_id AND unit_seq = ANY(CAST(:seqs AS bigint[])) "
    "ORDER BY unit_seq"
)
