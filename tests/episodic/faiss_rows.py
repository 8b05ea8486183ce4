"""Rows that a faiss index is searched for without a store, writes to them, and what must hold after each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import faiss
import pytest
import torch
from hypothesis import strategies as st

from nscma_torch.core.config import ScoreConfig
from nscma_torch.episodic.index.faiss_search import FaissSearch
from nscma_torch.episodic.index.faiss_store import FaissStore
from nscma_torch.episodic.index.vectors import TensorSearch

DAY = 86_400_000_000
FACTORIES = ("Flat", "IVF4", "HNSW8")
WEIGHTS = {
    "similarity": ScoreConfig(),
    "recency": ScoreConfig(beta=0.7, half_life=30),
    "importance": ScoreConfig(gamma=0.5, half_life=30),
    "all": ScoreConfig(alpha=0.5, beta=1.5, gamma=0.25, half_life=3),
    "time alone": ScoreConfig(alpha=0.0, beta=1.0, half_life=3),
}


class Rows:
    """What a search reads of a `UserIndex`, and writes that change it as they change that: contextual vectors are a
    vector with a share of the two before and after it.
    """

    def __init__(self, d: int, dtype: torch.dtype = torch.float32, *, lonely: bool = False) -> None:
        self.lonely = lonely  # whether none has neighbours
        self.device = torch.device("cpu")
        self.vectors = self.contextual = torch.empty(0, d, dtype=dtype)
        self.seqs = self.occurred_at = self.previous = torch.empty(0, dtype=torch.int64)
        self.embedded = torch.empty(0, dtype=torch.bool)
        self.importance = torch.empty(0)
        self.stamps = torch.empty(0, dtype=torch.int64)
        self.generation = self.layout = 0

    def __len__(self) -> int:
        return len(self.seqs)

    @property
    def alive(self) -> torch.Tensor:
        return torch.ones_like(self.embedded)

    def since(self, now: int) -> torch.Tensor:  # noqa: ARG002
        return self.occurred_at

    def recall_bound(self, now: int) -> None:  # noqa: ARG002
        return None

    def computed(self, name: str, key: Any, make: Callable[[], Any]) -> Any:  # noqa: ARG002
        return make()

    def add(self, vectors: torch.Tensor, days: torch.Tensor, importance: torch.Tensor, embedded: torch.Tensor) -> None:
        m = len(vectors)
        newest = int(self.seqs[-1]) if len(self) else 0
        unit = torch.nn.functional.normalize(vectors, dim=1) * embedded[:, None]
        self.vectors = torch.cat([self.vectors, unit.to(self.vectors.dtype)])
        self.seqs = torch.cat([self.seqs, newest + torch.arange(1, m + 1) * 3])
        self.occurred_at = torch.cat([self.occurred_at, (days.double() * DAY).long()])
        self.embedded, self.importance = torch.cat([self.embedded, embedded]), torch.cat([self.importance, importance])
        self.stamps = torch.cat([self.stamps, torch.zeros(m, dtype=torch.int64)])
        self._changed(slice(max(0, len(self) - m - 2), None))

    def keep(self, rows: torch.Tensor) -> None:
        for name in ("vectors", "seqs", "occurred_at", "embedded", "importance", "stamps"):
            setattr(self, name, getattr(self, name)[rows])
        self.layout += 1
        self._changed(slice(0, None))

    def edit(self, row: int, value: torch.Tensor | float | int) -> None:
        """Give a unit another vector, importance, or day."""
        names = {torch.Tensor: ("vectors", "embedded"), float: ("importance",), int: ("occurred_at",)}[type(value)]
        for name in names:
            setattr(self, name, getattr(self, name).clone())
        if isinstance(value, torch.Tensor):
            self.vectors[row] = torch.nn.functional.normalize(value, dim=0).to(self.vectors.dtype)
            self.embedded[row] = True
        elif isinstance(value, float):
            self.importance[row] = value
        else:
            self.occurred_at[row] = value * DAY
        self._changed(slice(max(0, row - 2), row + 3))

    def _changed(self, rows: slice) -> None:
        self.previous = torch.arange(-1, len(self) - 1) if not self.lonely else torch.full((len(self),), -1)
        mixed = self.vectors.float()
        for away, share in () if self.lonely else ((1, 0.3), (2, 0.15)):
            if len(self) > away:
                mixed = mixed.clone()
                mixed[away:] += share * self.vectors[:-away]
                mixed[:-away] += share * self.vectors[away:]
        contextual = torch.nn.functional.normalize(mixed, dim=1) * self.embedded[:, None]
        self.contextual = contextual.to(self.vectors.dtype)
        self.generation += 1
        self.stamps[rows] = self.generation


def random_rows(n: int, d: int, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """Vectors, days, importance and whether embedded; many vectors are alike, so that scores tie."""
    few = torch.randn(6, d, generator=torch.Generator().manual_seed(d))
    vectors = torch.where(
        torch.rand(n, 1, generator=generator) < 0.5,
        few[torch.randint(0, 6, (n,), generator=generator)],
        torch.randn(n, d, generator=generator),
    )
    days = torch.randint(0, 60, (n,), generator=generator)
    importance = torch.randint(0, 3, (n,), generator=generator) / 2
    return vectors, days, importance, torch.rand(n, generator=generator) < 0.9


def fill(rows: Rows, n: int, seed: int = 0) -> None:
    """Different vectors, a day apart, all embedded."""
    generator = torch.Generator().manual_seed(seed)
    d, first = rows.vectors.shape[1], len(rows)
    days, importance = first + torch.arange(n), torch.rand(n, generator=generator)
    rows.add(torch.randn(n, d, generator=generator), days, importance, torch.ones(n, dtype=torch.bool))


def faiss_search(rows: Any, weights: ScoreConfig, factory: str, **options: int) -> FaissSearch:
    """What searches rows of this width."""
    return FaissSearch(rows.vectors.shape[1], rows.device, weights, factory, **options)


def searches(rows: Any, weights: ScoreConfig, **options: int) -> dict[str, FaissSearch]:
    return {factory: faiss_search(rows, weights, factory, **options) for factory in FACTORIES}


def assert_found(
    rows: Any, tensors: TensorSearch, found: dict[str, FaissSearch], query: torch.Tensor, now: int, mask: Any, k: int
) -> None:
    """Flat equals tensors; the others find as many, of the allowed, with the right scores in the right order."""
    expected = tensors.search(rows, query, now=now, mask=mask, k=k)
    for search in found.values():
        search._catch_up(rows)
        assert_held(rows, search)
    scores, which = found["Flat"].search(rows, query, now=now, mask=mask, k=k)
    assert which.tolist() == expected[1].tolist()
    assert torch.equal(scores, expected[0])
    for factory in FACTORIES[1:]:
        scores, which = found[factory].search(rows, query, now=now, mask=mask, k=k)
        chosen = torch.zeros_like(mask)
        chosen[which] = True
        assert len(which) == len(expected[1]) == int(chosen.sum())
        assert bool((mask & rows.embedded)[which].all())
        again = tensors.search(rows, query, now=now, mask=chosen, k=k)
        assert which.tolist() == again[1].tolist() and torch.equal(scores, again[0]), factory


def assert_held(rows: Any, search: FaissSearch) -> None:
    """The index holds what is embedded, once, with its vector of now; IVF does not tell vectors by their numbers."""
    store = search._store
    embedded = torch.nonzero(rows.embedded)[:, 0]
    assert len(store) - store.stale == (len(embedded) if store.trained else 0)
    if not isinstance(store._index, (faiss.IndexIDMap, faiss.IndexHNSWFlat)) or not len(store):
        return
    mapped = isinstance(store._index, faiss.IndexIDMap)
    slots = faiss.vector_to_array(store._index.id_map) if mapped else torch.arange(len(store)).numpy()
    flat = store._index.index if mapped else store._index
    place = torch.from_numpy(search._rows[slots])
    assert place[place >= 0].sort().values.tolist() == embedded.tolist()
    vectors = torch.from_numpy(flat.reconstruct_n(0, len(store)))[place >= 0]
    assert torch.equal(vectors, torch.from_numpy(search._augmented(rows, place[place >= 0])))


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add", "add one", "drop", "edit", "drop all"]), st.integers(0, 2**20)),
    min_size=3,
    max_size=10,
)


def run_writes(rows: Any, steps: list[tuple[str, int]], weights: ScoreConfig) -> None:
    """Writes, and searches after most of them."""
    d = rows.vectors.shape[1]
    tensors, found = TensorSearch(weights), searches(rows, weights, nprobe=1, ef_search=8)
    for action, seed in steps:
        generator = torch.Generator().manual_seed(seed)
        n = len(rows)
        if action.startswith("add") or not n:
            rows.add(*random_rows(1 if action == "add one" else 60, d, generator))
        elif action == "edit":
            rows.edit(seed % n, (torch.randn(d, generator=generator), 0.25, seed % 90)[seed % 3])
        else:
            rows.keep(torch.nonzero(torch.rand(n, generator=generator) < (0 if action == "drop all" else 0.6))[:, 0])
        if seed % 4 == 0:
            continue  # several writes are followed at once
        for share, days, k in ((1.0, 61, 5), (0.6, 30 + seed % 9, 1 + seed % 70), (0.05, 400, 3)):
            now = days * DAY
            mask = (torch.rand(len(rows), generator=generator) < share) & (rows.occurred_at <= now)
            query = torch.nn.functional.normalize(torch.randn(d, generator=generator), dim=0)
            assert_found(rows, tensors, found, query, now, mask, k)


def ask(search: FaissSearch, rows: Any, k: int = 5, now: int = 10**6 * DAY, seed: int = 1) -> torch.Tensor:
    query = torch.randn(rows.vectors.shape[1], generator=torch.Generator().manual_seed(seed))
    mask = torch.ones(len(rows), dtype=torch.bool)
    return search.search(rows, torch.nn.functional.normalize(query, dim=0), now=now, mask=mask, k=k)[1]


@contextmanager
def counting_tensors(search: FaissSearch) -> Iterator[list[int]]:
    """Notes how many rows tensors score."""
    counts: list[int] = []
    exactly = search._exactly

    class Counting:
        def search(self, index: Any, query: Any, *, now: int, mask: torch.Tensor, k: int) -> Any:
            counts.append(int(mask.sum()))
            return exactly.search(index, query, now=now, mask=mask, k=k)

    search._exactly = Counting()  # type: ignore[assignment]
    yield counts
    search._exactly = exactly


class Builds:
    """Counts the faiss indexes that are built, and the vectors that go into them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.built = self.added = 0
        factory, add = faiss.index_factory, FaissStore.add

        def counted_factory(*arguments: Any) -> Any:
            self.built += 1
            return factory(*arguments)

        def counted_add(store: FaissStore, slots: Any, vectors: Any) -> None:
            self.added += len(slots)
            add(store, slots, vectors)

        monkeypatch.setattr(faiss, "index_factory", counted_factory)
        monkeypatch.setattr(FaissStore, "add", counted_add)
