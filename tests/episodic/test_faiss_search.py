"""A flat faiss index finds what tensors find, bit for bit, after any writes; IVF and HNSW only what may be found."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ScoreConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Message
from nscma_torch.episodic.index import faiss_search as module
from nscma_torch.episodic.index.faiss_store import FaissStore
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import TensorSearch
from tests.episodic.faiss_rows import (
    DAY,
    FACTORIES,
    STEPS,
    WEIGHTS,
    Rows,
    ask,
    assert_found,
    counting_tensors,
    faiss_search,
    fill,
    run_writes,
    searches,
)

Open = Callable[..., Memory]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    steps=STEPS,
    name=st.sampled_from(sorted(WEIGHTS)),
    half=st.booleans(),
    lonely=st.booleans(),
    d=st.sampled_from([3, 8, 17]),
    spare=st.sampled_from([1, 3, 32]),  # few leave more doubts
)
def test_any_writes(steps: list[tuple[str, int]], name: str, half: bool, lonely: bool, d: int, spare: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SPARE", spare)
        run_writes(Rows(d, torch.bfloat16 if half else torch.float32, lonely=lonely), steps, WEIGHTS[name])


def examples(n: int) -> settings:
    return settings(
        max_examples=n,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        phases=[Phase.explicit, Phase.generate],
    )


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add many", "update", "delete", "restore", "erase", "forget"]),
        st.integers(0, 2**16),
    ),
    min_size=4,
    max_size=9,
)


@pytest.mark.parametrize("count", [2, pytest.param(60, marks=pytest.mark.prove)])
def test_any_life_of_a_memory(count: int, open_memory: Open, light_surprise: Any, conversation: Any) -> None:
    @examples(count)
    @given(actions=ACTIONS, name=st.sampled_from(sorted(WEIGHTS)))
    def live(actions: list[tuple[str, int]], name: str) -> None:
        supply = iter(conversation(200, seed=len(actions), long=False))
        with tempfile.TemporaryDirectory() as folder:
            memory = open_memory(Path(folder) / "store.db", surprise_model=light_surprise)
            list(memory.add_many(list(itertools.islice(supply, 20)), user_id="ada"))
            index = UserIndex("ada", memory.components.embedder.dimension, torch.device("cpu"))
            tensors, found = TensorSearch(WEIGHTS[name]), searches(index, WEIGHTS[name], nprobe=1, ef_search=8)
            for action, number in actions:
                act(memory, action, number, supply)
                with memory.components.database.read(ALL_USERS) as connection:
                    index.catch_up(connection)
                query = memory.components.embedder.embed_query(next(supply).content)
                newest = int(index.occurred_at.max()) if len(index) else 0
                for now in (newest - DAY, newest, newest + 40 * DAY):
                    mask = (index.occurred_at <= now) & (torch.arange(len(index)) % 5 != number % 5)
                    assert_found(index, tensors, found, query, now, mask, 1 + number % 30)
            memory.components.database.close()

    live()


def act(memory: Memory, action: str, number: int, supply: Iterator[Message]) -> None:
    """One write; what it is done to is chosen by the number."""
    ids = [episode.id for episode in memory.log(user_id="ada")]
    chosen = ids[number % len(ids)] if ids else None
    if action.startswith("add") or chosen is None:
        list(memory.add_many(list(itertools.islice(supply, 7 if action == "add many" else 1)), user_id="ada"))
    elif action == "update":
        memory.update(chosen, f"Edited to {number} lanterns.", user_id="ada")
    elif action == "delete":
        memory.delete(chosen, user_id="ada")
    elif action == "restore":
        memory.restore(chosen, user_id="ada")
    elif action == "erase":
        memory.erase(user_id="ada", memory_id=chosen)
    else:
        memory.sleep(user_id="ada", now=datetime(2024, 3, 1, tzinfo=UTC) + timedelta(days=number % 2000))


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("factory", FACTORIES)
def test_faiss_proposes_and_tensors_score_what_it_proposes(factory: str, name: str) -> None:
    rows: Any = Rows(16)
    fill(rows, 1000)
    search = faiss_search(rows, WEIGHTS[name], factory)
    with counting_tensors(search) as counts:
        for seed in range(20):
            ask(search, rows, k=10, now=1000 * DAY, seed=seed)
    assert max(counts) <= 10 + 32 and len(counts) == 20


def test_where_all_scores_are_equal_tensors_search() -> None:
    rows: Any = Rows(4)
    same = torch.ones(300, 4)
    rows.add(same, torch.zeros(300), torch.zeros(300), torch.ones(300, dtype=torch.bool))
    search = faiss_search(rows, WEIGHTS["all"], "Flat")
    with counting_tensors(search) as counts:
        assert ask(search, rows, k=7).tolist() == list(range(7))
    assert counts == [7 + 32, 300]


@pytest.mark.parametrize("factory", ["IVF4", "HNSW8"])
def test_where_an_approximate_index_would_find_little_tensors_search(factory: str) -> None:
    weights = WEIGHTS["recency"]
    rows: Any = Rows(8)
    fill(rows, 1000)
    search, tensors = faiss_search(rows, weights, factory, nprobe=1, ef_search=8), TensorSearch(weights)
    query = rows.contextual[500]
    few = torch.arange(1000) % 11 == 0
    early = torch.arange(1000) < 600
    for now, mask, k in ((1000 * DAY, few, 5), (600 * DAY, early, 5), (1000 * DAY, early, 600)):
        found = search.search(rows, query, now=now, mask=mask, k=k)
        expected = tensors.search(rows, query, now=now, mask=mask, k=k)
        assert found[1].tolist() == expected[1].tolist() and torch.equal(found[0], expected[0])


def test_what_was_interrupted_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Any = Rows(8)
    tensors, found = TensorSearch(ScoreConfig()), searches(rows, ScoreConfig(), nprobe=4)
    fill(rows, 300)
    for search in found.values():
        ask(search, rows)
    fill(rows, 40, seed=1)
    add = FaissStore.add

    def interrupted(store: FaissStore, slots: Any, vectors: Any) -> None:
        add(store, slots, vectors)
        raise KeyboardInterrupt

    monkeypatch.setattr(FaissStore, "add", interrupted)
    for search in found.values():
        with pytest.raises(KeyboardInterrupt):
            ask(search, rows)
    monkeypatch.setattr(FaissStore, "add", add)
    mask = torch.arange(340) % 2 == 0
    for row in (3, 339):
        assert_found(rows, tensors, found, rows.contextual[row], 0, mask, 20)
    assert all(len(search._store) == 340 for search in found.values())


def clustered(n: int, d: int, seed: int) -> torch.Tensor:
    """Unit vectors [n, d] in clusters, most of their variance in few directions, as sentence embeddings are."""
    scale = torch.arange(1, d + 1).float() ** -0.6
    centres = torch.randn(200, d, generator=torch.Generator().manual_seed(d)) * scale
    generator = torch.Generator().manual_seed(seed)
    own = centres[torch.randint(0, 200, (n,), generator=generator)]
    return torch.nn.functional.normalize(own + 0.5 * torch.randn(n, d, generator=generator) * scale, dim=1)


@pytest.mark.parametrize(
    ("n", "d", "least"), [(1500, 32, 0.85), pytest.param(8000, 384, 0.95, marks=pytest.mark.prove)]
)
def test_what_approximate_indexes_find(n: int, d: int, least: float) -> None:
    """Recall@10 after the usual life of an index: filled at once, then by and by, then thinned out."""
    print(f"\nrecall@10 of {n} clustered vectors of {d} dimensions against exact search")
    for (name, weights), factory in itertools.product(list(WEIGHTS.items())[:3], ("IVF32", "HNSW32")):
        rows: Any = Rows(d)
        search, tensors = faiss_search(rows, weights, factory), TensorSearch(weights)
        vectors, importance = clustered(n, d, 1), torch.rand(n, generator=torch.Generator().manual_seed(0))
        days, embedded = torch.linspace(0, 40, n), torch.ones(n, dtype=torch.bool)
        first = n - 200
        for part in (slice(0, first), *(slice(i, i + 20) for i in range(first, n, 20))):
            rows.add(vectors[part], days[part], importance[part], embedded[part])
            ask(search, rows)
        rows.keep(torch.arange(n) % 10 > 0)
        found = {}
        for share in (1.0, 0.3):
            mask = torch.rand(len(rows), generator=torch.Generator().manual_seed(2)) < share
            hits = 0
            for query in clustered(100, d, 3):
                one, other = (each.search(rows, query, now=41 * DAY, mask=mask, k=10)[1] for each in (search, tensors))
                hits += len(set(one.tolist()) & set(other.tolist()))
            found[share] = hits / 1000
        print(f"{name:12} {factory:7} all rows {found[1.0]:.3f}, 30 % of them {found[0.3]:.3f}")
        assert min(found.values()) >= least, (name, factory)
