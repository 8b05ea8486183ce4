"""Cost of a batch into the hierarchy, on small corpora."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.hierarchy.cam_cost import Bench, Cost, growth, table, write_csv
from nscma_torch import Message, load_config
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

_TOPICS = ("harbour ships sail anchor", "garden roses soil water", "engine piston fuel valve", "court judge law trial")


def sentence(topic: int, rng: random.Random) -> str:
    words = _TOPICS[topic].split()
    return f"The {rng.choice(words)} and the {rng.choice(words)} of the {rng.choice(words)} number {rng.randrange(99)}."


def test_costs_are_counted_for_every_way(tmp_path: Path) -> None:
    rng = random.Random(0)
    messages = [Message("document", sentence(i // 10 % 4, rng), source="book") for i in range(90)]
    config = load_config({"gate": {"rule": "everything"}, "hierarchy": {"batch_size": 1000}})
    bench = Bench(tmp_path, config, CachedEmbedder(HashEmbedder()), time.perf_counter)
    base, built = bench.build(messages[:40])
    online = bench.online(base, 40, messages[40:])
    rebuild = bench.rebuild(base, 40, messages[40:])
    (single,) = bench.one_by_one(base, 40, messages[40:])
    assert built.calls > 0
    assert 0 < online.calls <= rebuild.calls
    assert single.batch == 50 and single.calls > online.calls
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".db") == ["40.db"]
    costs = [online, rebuild, single]
    assert table(costs).row_count == 3
    write_csv(costs, tmp_path / "costs.csv")
    assert len((tmp_path / "costs.csv").read_text().splitlines()) == 4


def test_a_call_costs_a_second_in_place_of_the_embedded_summariser() -> None:
    cost = Cost("online", 1000, 50, calls=10, raw=3.0, language=1.0, embedding=0.5)
    assert cost.priced == pytest.approx(12.0)
    assert cost.outside == pytest.approx(1.5 / 12)


def test_growth_is_the_exponent_of_the_priced_seconds() -> None:
    costs = [Cost("online", 1000, batch, calls=batch, raw=0.0, language=0.0, embedding=0.0) for batch in (50, 200, 800)]
    assert growth(costs, 1000) == pytest.approx(1.0)
