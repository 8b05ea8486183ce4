"""A faiss index is built once, learns once, follows the times, and lies on a GPU as far as faiss lets it."""

from __future__ import annotations

from typing import Any

import faiss
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.config import ScoreConfig, load_config
from nscma_torch.core.errors import ConfigError
from nscma_torch.episodic.index.faiss_store import FaissStore
from nscma_torch.episodic.index.vectors import TensorSearch
from tests.episodic.faiss_rows import (
    DAY,
    FACTORIES,
    STEPS,
    WEIGHTS,
    Builds,
    Rows,
    ask,
    counting_tensors,
    faiss_search,
    fill,
    run_writes,
)


@pytest.mark.parametrize("factory", ["Flat", "IVF4"])
def test_flat_and_ivf_are_built_once(factory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Any = Rows(8)
    builds = Builds(monkeypatch)
    search = faiss_search(rows, ScoreConfig(gamma=0.5), factory)
    fill(rows, 200)
    ask(search, rows)
    for step in range(60):
        fill(rows, 1, seed=step)
        ask(search, rows)
        if step % 3 == 0:
            rows.keep(torch.arange(len(rows)) != step)
            ask(search, rows)
        if step % 7 == 0:
            rows.edit(step, torch.randn(8, generator=torch.Generator().manual_seed(step)))
            ask(search, rows)
    assert builds.built == 1
    assert builds.added <= 200 + 3 * 60 + 4 * 20 + 5 * 9, "a write adds what is new, and the two beside it each way"
    assert len(search._store) == len(rows) and search._store.stale == 0


def test_hnsw_is_built_again_when_half_is_stale_and_only_then(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Any = Rows(8)
    builds = Builds(monkeypatch)
    search = faiss_search(rows, ScoreConfig(), "HNSW8")
    fill(rows, 100)
    ask(search, rows)
    built = []
    for step in range(150):  # each adds itself, and two that are stale now
        fill(rows, 1, seed=step)
        ask(search, rows)
        store, before = search._store, (builds.built, builds.added)
        assert store.stale <= len(store) / 2 and len(store) - store.stale == len(rows)
        ask(search, rows, seed=step)
        assert (builds.built, builds.added) == before, "a search that follows no write builds nothing"
        built.append(builds.built)
    assert built[99] == 1 and built[-1] == 2


@pytest.mark.parametrize("factory", FACTORIES)
def test_an_index_follows_the_times(factory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is built again where a column would be too large, by writes alone."""
    weights = WEIGHTS["recency"]
    rows: Any = Rows(8)
    builds = Builds(monkeypatch)
    search, tensors = faiss_search(rows, weights, factory), TensorSearch(weights)
    fill(rows, 200)
    farthest = 30 if factory == "Flat" else 1
    for gap in (0, 40, 50, 1000, 1200, 4000):
        days = torch.tensor([float(rows.occurred_at.max()) / DAY + gap])
        rows.add(torch.randn(1, 8), days, torch.zeros(1), torch.ones(1, dtype=torch.bool))
        for now in (int(rows.occurred_at.max()), 10**6 * DAY, 90 * DAY):
            mask = rows.occurred_at <= now
            query = rows.contextual[-1]
            asked: Any = {"now": now, "mask": mask, "k": 5}
            found, expected = (one.search(rows, query, **asked)[1].tolist() for one in (search, tensors))
            assert factory != "Flat" or found == expected
        assert weights.decay * abs(int(rows.occurred_at.max()) - search._t0) / DAY <= farthest
    assert builds.built == {"Flat": 3, "IVF4": 5, "HNSW8": 5}[factory]
    rows.keep(torch.arange(200))
    ask(search, rows)
    assert search._t0 == int(rows.occurred_at.max()), "when the newest are gone, what is left is near the present again"


def test_ivf_learns_its_lists_once_from_39_vectors_each(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = []
    train = FaissStore.train
    monkeypatch.setattr(FaissStore, "train", lambda store, x: (trained.append(len(x)), train(store, x))[1])
    rows: Any = Rows(8)
    search = faiss_search(rows, ScoreConfig(), "IVF4,Flat")
    for n in (1, 100, 54, 1, 500, 5000):
        fill(rows, n, seed=n)
        with counting_tensors(search) as counts:
            assert len(ask(search, rows)) == min(5, len(rows))
        enough = len(rows) >= 4 * 39
        assert len(search._store) == (len(rows) if enough else 0)
        assert trained == ([156] if enough else [])
        assert counts == ([5] if enough else [len(rows)])
    big: Any = Rows(8)
    fill(big, 3000)
    ask(faiss_search(big, ScoreConfig(), "IVF4"), big)
    assert trained[1:] == [4 * 256], "as many as help"


@pytest.mark.parametrize("factory", ["IVF16", "HNSW8"])
def test_the_same_writes_give_the_same_answers(factory: str) -> None:
    def answers() -> list[list[int]]:
        rows: Any = Rows(16)
        search = faiss_search(rows, WEIGHTS["recency"], factory, nprobe=2, ef_search=8)
        found = []
        for step in range(6):
            fill(rows, 400, seed=step)
            rows.keep(torch.arange(len(rows)) % 9 != step)
            found += [ask(search, rows, k=20, now=2000 * DAY, seed=seed).tolist() for seed in range(10)]
        return found

    assert answers() == answers()


def test_a_graph_grows_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FaissStore(faiss, "HNSW8", 4, torch.device("cpu"), nprobe=1, ef_search=8)
    before, within, add = faiss.omp_get_max_threads(), [], store._index.add
    faiss.omp_set_num_threads(3)
    monkeypatch.setattr(store._index, "add", lambda x: (within.append(faiss.omp_get_max_threads()), add(x)))
    store.add(torch.arange(5).numpy(), torch.randn(5, 4).numpy())
    assert (within, faiss.omp_get_max_threads(), len(store)) == ([1], 3, 5)
    faiss.omp_set_num_threads(before)


class Gpu:
    """What faiss on a GPU offers of an index: no selectors, no removal, no numbers of one's own, 2048 results."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @property
    def ntotal(self) -> int:
        return int(self._index.ntotal)

    @property
    def is_trained(self) -> bool:
        return bool(self._index.is_trained)

    def add(self, vectors: Any) -> None:
        self._index.add(vectors)

    def search(self, queries: Any, k: int) -> Any:
        assert 0 < k <= 2048
        return self._index.search(queries, k)


class FaissOfGpus:
    """The faiss module as it is where it is built for GPUs."""

    class StandardGpuResources:
        pass

    def __init__(self) -> None:
        self.moved = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(faiss, name)

    def index_cpu_to_gpu(self, resources: Any, number: int, index: Any) -> Gpu:
        assert isinstance(resources, self.StandardGpuResources) and number == 1 and index.is_trained
        self.moved += 1
        return Gpu(index)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(steps=STEPS, name=st.sampled_from(sorted(WEIGHTS)))
def test_any_writes_where_indexes_lie_on_a_gpu(steps: list[tuple[str, int]], name: str) -> None:
    module = FaissOfGpus()

    def on_gpu(_: Any, factory: str, dimension: int, __: torch.device, **options: int) -> FaissStore:
        return FaissStore(module, factory, dimension, torch.device("cuda", 1), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nscma_torch.episodic.index.faiss_search.FaissStore", on_gpu)
        run_writes(Rows(8), steps, WEIGHTS[name])
    assert module.moved


def test_more_than_a_gpu_returns() -> None:
    """Where the best 2048 of all hold fewer than k that pass, tensors search."""
    rows: Any = Rows(8)
    fill(rows, 5000)
    weights = WEIGHTS["importance"]
    search, tensors = faiss_search(rows, weights, "Flat"), TensorSearch(weights)
    search._store = FaissStore(FaissOfGpus(), "Flat", 10, torch.device("cuda", 1), nprobe=1, ef_search=1)
    query = rows.contextual[0]
    order = tensors.search(rows, query, now=0, mask=torch.ones(5000, dtype=torch.bool), k=5000)[1]
    for best, passing in ((0, 2048), (2040, 500), (3000, 1000)):
        mask = torch.zeros(5000, dtype=torch.bool)
        mask[order[best : best + passing]] = True
        with counting_tensors(search) as counts:
            assert torch.equal(search.search(rows, query, now=0, mask=mask, k=20)[1], order[best : best + 20])
        assert counts[-1] == passing


@pytest.mark.parametrize("factory", ["", "Banana", "IVF0", "HNSW1", "HNSW", "IVF4,PQ8", "PCA4,Flat", "flat", "Flat\n"])
def test_a_factory_that_is_none(factory: str) -> None:
    rows: Any = Rows(8)
    with pytest.raises(ConfigError, match=r"faiss_factory.*'IVF256'"):
        faiss_search(rows, ScoreConfig(), factory)
    with pytest.raises(ConfigError, match=r"index\.faiss_factory"):
        load_config({"index": {"faiss_factory": factory}})
