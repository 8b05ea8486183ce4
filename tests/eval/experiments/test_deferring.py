"""Deferring, end to end: who is deferred, and that the store does what it is told."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.gate.deferring import RankedStore, cells, heard, recalls, written
from eval.experiments.retrieval.retrieval_store import Asking, Ranked
from eval.tasks.corpus import Span
from eval.tasks.retrieval_sets import Asked, DataSet, World
from nscma_torch import Message
from nscma_torch.buffer.proxy import RecurrentProxy
from nscma_torch.buffer.salience_head import SalienceHead
from nscma_torch.text.hash_embedder import HashEmbedder

TEXTS = ["My sister Ana lives in Oslo.", "ok", "I play the cello in Porto.", "My dog is named Rex."]
ASKED = [
    Asked("Where does Ana live?", (Span(0, 0, 5),), "even"),
    Asked("What is the dog named?", (Span(3, 0, 5),), "odd"),
]
SET = DataSet("small", [World("u", [Message("user", text) for text in TEXTS], ASKED, datetime.now(UTC))], True, 10, [])


def test_the_lowest_scores_are_deferred_and_of_equal_ones_the_later() -> None:
    assert written([1.0, 0.0, 2.0, 0.0], 0.5) == [True, False, True, False]
    assert written([1.0] * 5, 0.4) == [True, True, True, False, False]
    assert written([3.0, 1.0], 0.0) == [True, True]


def test_the_store_does_as_it_is_told(tmp_path: Path, embedder: HashEmbedder) -> None:
    store = RankedStore(SET, tmp_path, CachedEmbedder(embedder), [True, False, True, False], embedded=False)
    with store._open({}) as memory:
        logged = memory.get_all(user_id="u")
        facts = memory.search("Ana Porto Rex", user_id="u", kinds=["atomic_fact", "triple"], top_k=50)
    assert [episode.decision.write for episode in logged] == [True, False, True, False]
    of = {episode.id: i for i, episode in enumerate(logged)}
    assert {of[source] for hit in facts for source in hit.unit.episode_ids} == {0, 2}
    assert recalls(store.ask(Asking("chunk", "single-step")))["all"] == 100.0, "the deferred one is found by its words"


def test_changes_are_in_points_of_each_half() -> None:
    ranked = [Ranked(ASKED[0], [1.0, 1.0], 0.0), Ranked(ASKED[1], [0.0, 0.5], 0.0)]
    assert recalls(ranked) == {"even": 100.0, "odd": 50.0, "all": 75.0}
    assert cells(recalls(ranked), {"even": 100.0, "odd": 60.0, "all": 70.0}) == [
        "100.0 (+0.0)",
        "50.0 (-10.0)",
        "75.0 (+5.0)",
    ]


def test_a_conversation_is_weighed_under_both_rules(proxy: RecurrentProxy, embedder: HashEmbedder) -> None:
    own = heard(SET.worlds[0], proxy, embedder, SalienceHead(embedder.dimension, embedder.fingerprint))
    assert {len(made) for made in own.decisions.values()} == {len(TEXTS)}
