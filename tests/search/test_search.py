"""Hybrid search through `Memory`: order, thresholds, parts, lanes, time and ties."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EmptyTextError
from nscma_torch.core.records import Message, Scope
from nscma_torch.search import search
from nscma_torch.search.search_bounds import Bounds

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def filled_file(stored: Callable[..., Path], conversation: Any) -> Path:
    said = conversation(30, seed=11, long=False)
    return stored(lambda memory: list(memory.add_many(said, user_id="ada", now=NOW)))


@pytest.fixture
def filled(filled_file: Path, open_memory: Open, tmp_path: Path) -> Memory:
    return open_memory(shutil.copy(filled_file, tmp_path))


def test_scores_fall_and_parts_explain_them(filled: Memory) -> None:
    hits = filled.search("who moved to Kyoto?", user_id="ada", explain=True, now=NOW, top_k=30)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True) and min(scores) > 0
    lanes = ("lexical", "vector")
    top = {lane: max(hit.parts[f"{lane}_score"] for hit in hits) for lane in lanes}
    for hit in hits:
        fused = sum(hit.parts[f"{lane}_score"] / top[lane] for lane in lanes) / 2
        assert hit.score == pytest.approx(fused * hit.parts["speaker_boost"], rel=1e-5)
        better = sum(other.parts["lexical_score"] > hit.parts["lexical_score"] for other in hits)
        assert hit.parts["lexical_rank"] == 1 + better
    assert filled.search("who moved to Kyoto?", user_id="ada", now=NOW)[0].parts == {}


def test_a_search_makes_what_it_needs(filled: Memory, open_memory: Open) -> None:
    """Relations and patterns of statements take a fifth of a processor second, which most searches have no use for."""
    memory = open_memory()
    memory.search("Kyoto", user_id="ada", now=NOW)
    assert vars(memory.components).keys().isdisjoint({"tasks", "embedded_tasks", "relations", "fact_graphs"})


def test_fewer_hits_are_the_first_ones(filled: Memory) -> None:
    everything = filled.search("Kyoto bicycle", user_id="ada", now=NOW, top_k=30)
    for k in (1, 3, 7):
        assert filled.search("Kyoto bicycle", user_id="ada", now=NOW, top_k=k) == everything[:k]
    threshold = everything[4].score
    above = filled.search("Kyoto bicycle", user_id="ada", now=NOW, top_k=30, threshold=threshold)
    assert above == [hit for hit in everything if hit.score >= threshold]
    assert filled.search("Kyoto", user_id="ada", now=NOW, top_k=10**6)


def test_the_number_of_hits_is_configured(open_memory: Open, light_surprise: Any) -> None:
    """K of Structural Memory section 3.2, for what names no number itself."""
    config = {"retrieval": {"top_k": 2, "strategy": "single-step"}}
    memory = open_memory("k.db", config, surprise_model=light_surprise)
    list(memory.add_many([Message("user", f"the kettle note {i}") for i in range(5)], user_id="ada", now=NOW))
    assert len(memory.search("kettle", user_id="ada", now=NOW)) == 2
    assert len(memory.search("kettle", user_id="ada", now=NOW, top_k=4)) == 4
    assert len(memory.components.retriever.retrieve("kettle", Bounds(Scope("ada"), NOW)).hits) == 2


def test_a_repeated_search_is_the_same(filled: Memory, open_memory: Open) -> None:
    queries = ("Kyoto", "what did Kim sign in 1999?", "颜色", "ok")
    first = [filled.search(query, user_id="ada", now=NOW) for query in queries]
    assert [filled.search(query, user_id="ada", now=NOW) for query in queries] == first
    assert [open_memory().search(query, user_id="ada", now=NOW) for query in queries] == first


def test_equal_scores_come_in_the_order_of_storing(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    messages = [Message("user", "the very same words", session=f"s{i}") for i in range(200)]
    ids = [added.id for added in memory.add_many(messages, user_id="ada")]
    assert [hit.id for hit in memory.search("same words", user_id="ada", top_k=20)] == ids[:20]


@pytest.mark.parametrize(("lane", "other"), [("lexical", "vector"), ("vector", "lexical")])
def test_one_lane_alone(lane: str, other: str, filled: Memory, open_memory: Open) -> None:
    memory = open_memory(config={"retrieval": {"lanes": [lane]}})
    hits = memory.search("bicycle in Kyoto", user_id="ada", explain=True, now=NOW)
    assert hits and all(f"{lane}_score" in hit.parts and f"{other}_score" not in hit.parts for hit in hits)


def test_reciprocal_rank_fusion(filled: Memory, open_memory: Open) -> None:
    memory = open_memory(config={"retrieval": {"fusion": "rrf"}})
    hits = memory.search("bicycle in Kyoto", user_id="ada", explain=True, now=NOW)
    assert hits[0].score == pytest.approx(
        sum(1 / (60 + hits[0].parts[f"{lane}_rank"]) for lane in ("lexical", "vector")) * hits[0].parts["speaker_boost"]
    )


def test_who_is_asked_about_comes_first(memory: Memory) -> None:
    for name in ("Kim", "Robin"):
        memory.add(Message("user", "I bought a bicycle.", NOW, name, name), user_id="ada", now=NOW)
    for name in ("Kim", "Robin"):
        hits = memory.search(f"What did {name} buy, a bicycle?", user_id="ada", now=NOW)
        assert hits[0].unit.name == name
        plain = memory.search(f"What did {name} buy, a bicycle?", user_id="ada", now=NOW, explain=True)
        assert [hit.parts["speaker_boost"] for hit in plain] == [1.5, 1.0]


def test_a_user_without_a_name_is_called_by_the_id(memory: Memory) -> None:
    memory.add(Message("user", "I bought a bicycle.", NOW), user_id="robin", now=NOW)
    memory.add(Message("user", "I bought a bicycle.", NOW, name="Kim"), user_id="mira", now=NOW)
    for user, boost in (("robin", 1.5), ("mira", 1.0)):
        (hit,) = memory.search(f"What did {user} buy, a bicycle?", user_id=user, now=NOW, explain=True)
        assert hit.parts["speaker_boost"] == boost


def test_a_search_keeps_to_messages_with_some_metadata(memory: Memory) -> None:
    for place in ("work", "home"):
        memory.add(f"A kettle at {place}.", user_id="ada", now=NOW, metadata={"place": place})
    memory.add("A kettle anywhere.", user_id="ada", now=NOW)
    hits = memory.search("kettle", user_id="ada", now=NOW, filters={"place": "work"})
    assert [hit.text for hit in hits] == ["A kettle at work."]
    bounds = Bounds(Scope("ada"), NOW, without={"place": "work"})
    assert len(memory.components.searcher.rank("kettle", bounds, 9).scores) == 2


def test_a_day_in_the_question_finds_what_was_said_then(memory: Memory) -> None:
    for i in range(6):
        memory.add(
            f"Line {i} about the kettle.", user_id="ada", timestamp=NOW + timedelta(days=i), now=NOW + timedelta(9)
        )
    hits = memory.search("what about the kettle on 4 September 2024?", user_id="ada", now=NOW + timedelta(days=9))
    assert hits[0].text == "Line 3 about the kettle."
    asked = "what about the kettle on 4 September 2024?"
    explained = memory.search(asked, user_id="ada", now=NOW + timedelta(days=9), explain=True)
    lexical = {hit.text[:6]: hit.parts["lexical_score"] for hit in explained}
    assert lexical["Line 3"] > lexical["Line 0"] == pytest.approx(lexical["Line 5"]), "neither before nor after"


def test_recency_and_importance_count_when_configured(open_memory: Open) -> None:
    recent = open_memory(config={"score": {"beta": 2.0, "half_life": 5.0}, "retrieval": {"lanes": ["vector"]}})
    for i, text in enumerate(("I live in Porto.", "I live in Kyoto.", "I live in Faro.")):
        at = NOW + timedelta(days=30 * i)
        recent.add(Message("user", text, at, session=f"s{i}"), user_id="ada", now=at)
    order = [hit.text for hit in recent.search("I live", user_id="ada", now=NOW + timedelta(days=61))]
    assert order == ["I live in Faro.", "I live in Kyoto.", "I live in Porto."]
    earlier = recent.search("I live", user_id="ada", now=NOW + timedelta(days=31))
    assert [hit.text for hit in earlier] == ["I live in Kyoto.", "I live in Porto."]


def test_chinese_is_found_by_its_words(memory: Memory) -> None:
    for text in ("她最喜欢的颜色从红色变成了蓝色。", "我上个月搬到了成都。", "The lantern is red."):
        memory.add(text, user_id="ada", now=NOW)
    assert memory.search("蓝色", user_id="ada", now=NOW, top_k=1)[0].text.startswith("她")
    assert memory.search("成都在哪里？", user_id="ada", now=NOW, top_k=1)[0].text.startswith("我")


def test_kinds(open_memory: Open) -> None:
    memory = open_memory(config={"gate": {"rule": "everything"}})
    memory.add("My sister Ana was born in Kyoto in 1984.", user_id="ada", now=NOW)
    memory.flush()
    for kinds in (("chunk",), ("atomic_fact",), ("chunk", "atomic_fact"), ("summary",)):
        hits = memory.search("Ana Kyoto", user_id="ada", now=NOW, kinds=kinds)
        assert {hit.unit.kind for hit in hits} == {*kinds} - {"summary"}
        assert len({hit.id for hit in hits}) == (0 if kinds == ("summary",) else 1), "provenance leads to one message"


def test_an_empty_question(filled: Memory) -> None:
    with pytest.raises(EmptyTextError):
        filled.search(" ", user_id="ada")
    with pytest.raises(EmptyTextError):
        filled.search("", user_id="nobody")


def test_odd_questions_are_no_errors(filled: Memory) -> None:
    for query in ("!!!", "the", "?", "'\"; DROP TABLE units", "a" * 3000, "\u200b", "💥" * 50):
        filled.search(query, user_id="ada", now=NOW)
        filled.ask(query, user_id="ada", now=NOW)


def test_the_indexes_of_those_who_asked_last_are_kept(open_memory: Open) -> None:
    memory = open_memory()
    for user, count in (("ada", 8), ("bob", 8), ("eve", 90)):
        list(memory.add_many([Message("user", f"Kettle {i}.") for i in range(count)], user_id=user))
    everything = memory.components.searcher.indexes
    sizes = []
    for user in ("ada", "bob", "eve"):
        before = everything.nbytes
        assert memory.search("kettle", user_id=user)
        sizes.append(everything.nbytes - before)
    index = everything._users["eve"].index
    assert sizes[2] > index._rows.nbytes > 90 * 2 * 4 * memory.components.embedder.dimension
    turns = sum(tensor.nbytes for tensor in index.turns(len(memory.config.retrieval.hops)))
    assert index.nbytes == index._rows.nbytes + index._postings.nbytes + turns
    assert index._postings.nbytes == 90 * 12 and turns > 90 * 8
    bound = sizes[0] + sizes[1]
    assert sizes[2] > bound
    bounded = open_memory(config={"index": {"max_bytes": bound}})
    kept = bounded.components.searcher.indexes
    for user, expected in (
        *(("ada", ["ada"]), ("bob", ["ada", "bob"]), ("ada", ["bob", "ada"]), ("eve", ["eve"]), ("eve", ["eve"])),
        *(("bob", ["bob"]), ("ada", ["bob", "ada"])),
    ):
        found = bounded.search("kettle", user_id=user)
        assert [hit.text for hit in found] == [hit.text for hit in memory.search("kettle", user_id=user)]
        assert kept.users() == expected
        assert kept.nbytes == sum(kept._users[name].nbytes for name in expected)
        assert kept.nbytes <= bound or expected == ["eve"]
    for user in ("bob", "ada"):
        bounded.erase(user_id=user)
    assert (kept.users(), kept.nbytes) == ([], 0)


def test_erasing_empties_what_searching_keeps(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for user in ("ada", "bob"):
        memory.add("I live in Porto.", user_id=user)
        memory.flush()
        assert memory.ask("Where do I live?", user_id=user).text == "Porto" and memory.search("Porto", user_id=user)
    assert memory.components.searcher.indexes.users() == ["ada", "bob"]
    eraser = memory.components.eraser
    erase = eraser.user
    monkeypatch.setattr(eraser, "user", lambda user: (memory.search("Porto", user_id=user), erase(user))[1])
    memory.erase(user_id="ada")  # a search in its midst reads the index once more
    assert memory.components.searcher.indexes.users() == ["bob"]
    assert {scope.user_id for scope in memory.components.fact_graphs._graphs} == {"bob"}


def test_advice_is_sought_by_meaning_more_than_by_words(filled: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[float]] = []

    def fuse(scores: Tensor, weights: Sequence[float]) -> Tensor:
        seen.append(list(weights))
        return scores.sum(0)

    monkeypatch.setitem(search.FUSIONS, "relative", fuse)
    for question in ("How should I prepare for Kyoto?", "Who moved to Kyoto?"):
        filled.search(question, user_id="ada", now=NOW, strategy="single-step")
    (words, meaning), plain = seen
    assert words < 1 < meaning and plain == [1.0, 1.0]
