"""The retrieval table: how hits become places, what is asked of a store, and the rows, on small sets."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.retrieval import retrieval_table
from eval.experiments.retrieval.retrieval_store import (
    _WITH_SUMMARIES,
    CHROMA,
    KINDS,
    LANES,
    Asking,
    Ranked,
    Store,
)
from eval.experiments.retrieval.retrieval_table import Row, askings, measure, summarised
from eval.metrics.evidence_places import Places, read
from eval.systems.plain_retrieval import PLAIN, PlainSearch
from eval.tasks.corpus import Corpus, Document, Question, Span
from eval.tasks.retrieval_sets import Asked, DataSet, World, of_corpora, sampled
from nscma_torch import Memory, Message, load_config
from nscma_torch.core.records import Hit, Scope, Unit, UnitKind
from nscma_torch.search.strategies import STRATEGIES
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

_NOW = datetime(2024, 5, 1, tzinfo=UTC)


def hit(kind: UnitKind, messages: Sequence[str], *, unit: str = "", start: int = 0, end: int = 0) -> Hit:
    text = unit or kind
    return Hit(Unit(unit, Scope("u"), kind, text, tuple(messages), _NOW, start=start, end=end), 1.0)


def unneeded(text: str) -> torch.Tensor:
    raise AssertionError(f"{text!r} needs no vector")


def places(*, whole: bool) -> Places:
    """Three messages: m0 of two chunks, m1 and m2 of one; summary s lies over chunks 0, 2, 3 and t over 1 and 3."""
    chunks = [Span(0, 0, 10), Span(0, 10, 20), Span(1, 0, 5), Span(2, 0, 5)]
    return Places(
        whole,
        chunks,
        torch.eye(4),
        ["a", "b", "c", "d"],
        {"m0": [0, 1], "m1": [2], "m2": [3]},
        {"s": [0, 2, 3], "t": [1, 3]},
    )


def test_evidence_is_messages_or_the_chunks_that_it_overlaps() -> None:
    evidence = [Span(0, 9, 11), Span(2, 4, 9)]
    assert places(whole=True).relevant(evidence) == {0, 2}
    assert places(whole=False).relevant(evidence) == {0, 1, 3}
    assert places(whole=False).relevant([Span(0, 10, 12), Span(1, 5, 9)]) == {1}


def test_a_chunk_stands_for_its_place_and_each_place_counts_once() -> None:
    hits = [hit("chunk", ["m1"], end=5), hit("chunk", ["m0"], start=10, end=20), hit("chunk", ["m0"], end=10)]
    assert places(whole=True).ranked(hits, torch.ones(4), unneeded) == [1, 0]
    assert places(whole=False).ranked(hits, torch.ones(4), unneeded) == [2, 1, 0]


@pytest.mark.parametrize("kind", ["triple", "atomic_fact"])
def test_a_fact_stands_for_its_message_or_for_the_chunk_nearest_to_it(kind: UnitKind) -> None:
    hits = [hit(kind, ["m2"], end=99), hit(kind, ["m0"], end=99)]
    assert places(whole=True).ranked(hits, torch.ones(4), unneeded) == [2, 0]
    near_b = torch.tensor([0.1, 0.9, 0.0, 0.0])
    assert places(whole=False).ranked(hits, torch.ones(4), lambda _: near_b) == [3, 1]


def test_summaries_in_a_row_are_opened_together_and_take_one_place_each() -> None:
    question = torch.tensor([0.2, 0.9, 0.4, 0.3])  # nearness of the four chunks
    s, t = hit("summary", [], unit="s"), hit("summary", [], unit="t")
    own = places(whole=False)
    assert own.ranked([s], question, unneeded) == [2]
    assert own.ranked([s, t], question, unneeded) == [1, 2]
    chunk = hit("chunk", ["m0"], start=10, end=20)
    assert own.ranked([s, chunk, t], question, unneeded) == [2, 1, 3]
    assert places(whole=True).ranked([s, chunk, t], question, unneeded) == [1, 0, 2]
    assert own.ranked([s] * 10 + [t], question, unneeded) == [2, 3, 0, 1]


def test_plain_rankings() -> None:
    texts = ["The red kiln.", "A kiln, a kiln and a wheel", "Nothing here", "kilns"]
    vectors = torch.eye(4)
    plain = PlainSearch(texts, vectors)
    assert plain.bm25("Which KILN is red?") == [0, 1]
    assert plain.bm25("kiln") == [1, 0]
    assert plain.bm25("¿?") == []
    vector = torch.tensor([0.1, 0.4, 0.3, 0.9])
    assert plain.dense(vector) == [3, 1, 2, 0]
    # 1: 1/61 + 1/62, 0: 1/62 + 1/64, 3: 1/61, 2: 1/63
    assert plain.rrf("kiln", vector) == [1, 0, 3, 2]
    assert [plain.search(name, "kiln", vector) for name in PLAIN] == [[1, 0], [3, 1, 2, 0], [1, 0, 3, 2]]


def asked(category: str, half: Any) -> Asked:
    return Asked("?", (Span(0, 0, 1),), half, category)


def test_rows_are_means_by_half_and_by_category() -> None:
    ranked = [
        Ranked(asked("x", "even"), [0.0, 1.0], 1.0),
        Ranked(asked("x", "odd"), [1.0, 1.0], 9.0),
        Ranked(asked("y", "odd"), [0.0, 0.5], 2.0),
    ]
    every, x, y = summarised("set", Asking("chunk", "dense"), ranked)
    assert every == Row(
        "set",
        "chunk",
        "dense",
        3,
        {"even": [0.0, 1.0], "odd": [0.5, 0.75], "all": [pytest.approx(1 / 3), pytest.approx(2.5 / 3)]},
        2.0,
        every.odd,
    )
    assert (every.odd.value, every.odd.n) == (0.75, 2) and 0 <= every.odd.low < 0.75 < every.odd.high <= 1
    assert (x.data_set, x.questions, x.recall["odd"]) == ("set x", 2, [1.0, 1.0])
    assert (y.data_set, y.questions, y.recall["odd"]) == ("set y", 1, [0.0, 0.5])
    (only,) = summarised("set", Asking("chunk", "dense"), ranked[:2])
    assert only.data_set == "set"


def corpus(*, whole: bool) -> Corpus:
    topics = (
        "The harbour has an anchor.",
        "Roses grow in the garden.",
        "The engine needs fuel.",
        "The judge sat down.",
    )
    documents = tuple(Document(f"d{i}", " ".join([text, f"It is number {i}."] * 3)) for i, text in enumerate(topics))
    questions = tuple(
        Question(text, (Span(i, 0, len(documents[i].text) if whole else 5),))
        for i, text in enumerate(("Where is the anchor?", "What grows in the garden?", "What does the engine need?"))
    )
    return Corpus("small", documents, questions, whole, ("gone",))


def talks() -> DataSet:
    """Two users; what one said is no evidence for the other."""
    worlds = []
    for user, colour in (("one", "blue"), ("two", "green")):
        said = ["Hello there.", f"My kiln is {colour}.", "It rains today."]
        messages = [Message("user", text, _NOW + timedelta(minutes=i), name="Ada") for i, text in enumerate(said)]
        question = Asked("Which colour has the kiln?", (Span(1, 0, len(said[1])),), "odd" if worlds else "even")
        worlds.append(World(user, messages, [question], _NOW + timedelta(days=1)))
    return DataSet("talks", worlds, True, 10, [])


def test_a_sample_is_spread_over_users_and_halves() -> None:
    def world(user: str, halves: Sequence[Any]) -> World:
        return World(
            user, [Message("user", "?")], [replace(asked("x", half), text=f"{user}{i}") for i, half in halves], _NOW
        )

    even = [world(user, [(i, "even") for i in range(8)]) for user in "ab"]
    odd = world("c", [(i, "odd") for i in range(8)])
    data_set = DataSet("three", [*even, odd], True, 10, [])
    chosen = {world.user: [q.text for q in world.questions] for world in sampled(data_set, 8).worlds}
    assert chosen == {"a": ["a2", "a6"], "b": ["b2", "b6"], "c": ["c1", "c3", "c5", "c7"]}
    assert {w.user for w in sampled(data_set, 2).worlds} == {"b", "c"}, "users who are asked nothing are left out"
    assert [len(w.questions) for w in sampled(data_set, 7).worlds] == [2, 2, 3]
    assert sampled(data_set, 1000) == data_set


def test_baselines_read_the_name_of_who_speaks_but_not_that_of_a_document(tmp_path: Path) -> None:
    said = [Message("user", "It is blue.", _NOW, name="Ada"), Message("document", "Kiln\nIt is hot.", name="Kiln")]
    with Memory(tmp_path / "store.db", embedder=HashEmbedder()) as memory:
        place = {added.id: i for i, added in enumerate(memory.add(said, user_id="u"))}
        own = read(memory, "u", place, whole=True)
    assert own.texts == ["Ada: It is blue.", "Kiln\nIt is hot."]
    assert own.chunks == [Span(0, 0, 11), Span(1, 0, 15)]


@pytest.mark.parametrize("strategy", [*PLAIN, *LANES, "single-step"])
def test_each_user_is_asked_about_what_they_said(tmp_path: Path, strategy: str) -> None:
    embedder = CachedEmbedder(HashEmbedder())
    store = Store(talks(), tmp_path, embedder, extraction=False, summaries=False)
    ranked = store.ask(Asking("chunk", strategy))
    assert [own.asked.half for own in ranked] == ["even", "odd"]
    assert [own.recalls for own in ranked] == [[1.0, 1.0], [1.0, 1.0]]
    assert all(own.ms >= 0 for own in ranked)


@pytest.mark.parametrize("whole", [True, False])
def test_every_structure_is_asked_of_one_store(whole: bool) -> None:
    data_set = of_corpora("small", [corpus(whole=whole)], 20)
    rows = askings(["dense", "single-step"], list(KINDS))
    found = {
        (row.structure, row.strategy): row
        for row in measure(data_set, rows, CachedEmbedder(HashEmbedder()), peer_python=None)
    }
    assert list(found) == [("chunk", "dense"), *((kind, "single-step") for kind in KINDS)]
    for structure in ("chunk", "mixed"):
        assert found[structure, "single-step"].recall["all"][1] == 1.0
    assert all(row.questions == 3 for row in found.values())


def test_chroma_is_given_the_vectors_of_every_user_and_left_out_without_its_interpreter(tmp_path: Path) -> None:
    """A stand-in for the peer's interpreter ranks by cosine what the real program would be given."""
    stand_in = tmp_path / "python"
    stand_in.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\nimport numpy as np\n"
        "program, _, source, _, target, _, top_k = sys.argv[1:]\n"
        "assert program.endswith('systems/chroma.py')\n"
        "given = np.load(source)\n"
        "ranked = [np.argsort(-given[f'queries_{i}'] @ given[f'units_{i}'].T)[:, :int(top_k)].tolist() "
        "for i in range(len(given.files) // 2)]\n"
        "took = [1.5 for user in ranked for _ in user]\n"
        "json.dump({'ranked': ranked, 'search_ms': took}, open(target, 'w'))\n"
    )
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    embedder = CachedEmbedder(HashEmbedder())
    rows = askings([CHROMA, "dense"], ["chunk"])
    chroma, dense = measure(talks(), rows, embedder, stand_in)
    assert (chroma.strategy, chroma.search_ms) == (CHROMA, 1.5)
    assert chroma.recall == dense.recall
    (alone,) = measure(talks(), rows, embedder, None)
    assert alone.strategy == "dense"


def test_main_prints_the_table_and_writes_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "multihop").mkdir()
    context = [["Anchor", ["The anchor is in the harbour."]], ["Rose", ["A rose is a flower."]]]
    rows = [
        {"_id": str(i), "question": "Where is the anchor?", "context": context, "supporting_facts": [["Anchor", 0]]}
        for i in range(3)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "multihop" / "hotpot.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(retrieval_table, "load_config", lambda _: load_config({"embedder": {"model": "hash"}}))
    out = tmp_path / "rows.json"
    arguments = ["--data", str(tmp_path), "--sets", "hotpot", "--strategies", "BM25", CHROMA, "single-step"]
    options = ["--kinds", "chunk", "--limit", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["retrieval", *arguments, *options])
    retrieval_table.main()
    printed = capsys.readouterr().out
    assert "ChromaDB is left out: name its interpreter with --peer-python" in printed
    assert "hotpot: 1 users, 2 messages, 2 questions" in printed
    written = json.loads(out.read_text())
    assert [(row["strategy"], row["questions"]) for row in written["rows"]] == [("BM25", 2), ("single-step", 2)]
    assert written["rows"][0]["recall"]["all"] == [1.0, 1.0]
    assert written["config"]["embedder"]["model"] == "hash"


def test_strategies_over_summaries_exist() -> None:
    assert set(_WITH_SUMMARIES) <= set(STRATEGIES)
