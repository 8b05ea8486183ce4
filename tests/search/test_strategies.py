"""Every strategy by name, on documents with titles, on a conversation with facts, and on a hierarchy."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError, EngineError, InvalidInputError, NscmaError
from nscma_torch.core.records import Answer, AskedQuestion, Extraction, Hit, Message, Scope, Unit
from nscma_torch.search.ranking import Ranking
from nscma_torch.search.search import Searcher
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.search.strategies import STRATEGIES

NOW = datetime(2024, 9, 1, tzinfo=UTC)
PAGES = {
    "Velvet Dawn": "Velvet Dawn is a film of 1961. Its director was Ottoline Marsh.",
    "Ottoline Marsh": "Ottoline Marsh was born in the harbour town of Tornio.",
    "Silver Dusk": "Silver Dusk is a film of 1973. Its director was Karl Brandt.",
    "Karl Brandt": "Karl Brandt grew up on a farm near Kilkenny.",
    "Harbour towns": "Many harbour towns have a fish market and a lighthouse.",
}
HOSTILE = ("…", "🙂🙂", "'; DROP TABLE units; --", 'NEAR("a" b) OR *', "蓝色是什么？", "x " * 8_000)


HIERARCHY: dict[str, Any] = {"hierarchy": {"min_members": 2, "gamma": 0.0}}


@pytest.fixture(scope="module")
def pages_file(stored: Callable[..., Path], light_surprise: Any) -> Path:
    def fill(memory: Memory) -> None:
        said = [Message("document", f"{title}\n{text}", NOW, title) for title, text in PAGES.items()]
        list(memory.add_many(said, user_id="ada", now=NOW))
        memory.flush()

    return stored(fill, HIERARCHY, surprise_model=light_surprise)


@pytest.fixture
def pages(pages_file: Path, open_memory: Callable[..., Memory], light_surprise: Any, tmp_path: Path) -> Memory:
    return open_memory(shutil.copy(pages_file, tmp_path), HIERARCHY, surprise_model=light_surprise)


def titles(hits: Sequence[Hit]) -> list[str | None]:
    return [hit.unit.name for hit in hits]


def test_every_strategy_finds_what_was_asked_for_until_it_is_deleted(pages: Memory) -> None:
    pages.sleep(now=NOW)
    asked: dict[str, Any] = {"query": "Who directed Velvet Dawn?", "user_id": "ada", "top_k": 3, "now": NOW}
    for strategy in ("auto", *STRATEGIES):
        hits = pages.search(**asked, strategy=strategy)
        assert 0 < len(hits) <= 3 and any("Velvet Dawn" in hit.text for hit in hits), strategy
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True), strategy
        assert pages.search(**asked, strategy=strategy) == hits, strategy
    pages.delete_all(user_id="ada", now=NOW)
    for strategy in STRATEGIES:
        assert pages.search(**asked, strategy=strategy) == [], strategy


@pytest.mark.parametrize("strategy", ["auto", *STRATEGIES])
def test_no_question_breaks_a_strategy(strategy: str, pages: Memory) -> None:
    before = pages.digest()
    for text in HOSTILE:
        try:
            assert len(pages.search(text, user_id="ada", strategy=strategy, now=NOW)) <= 10
        except NscmaError as error:
            assert "token" in str(error), "only what the embedder cannot read is refused"
    assert pages.search("Tornio", user_id="nobody", strategy=strategy, now=NOW) == []
    assert pages.digest() == before


HIERARCHICAL = ("traversal", "global", "prune-and-grow")


@pytest.mark.parametrize("strategy", HIERARCHICAL)
def test_nodes_are_scored_by_their_cosine_alone(
    strategy: str, open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    """CAM section 4.2: f_emb(q) . f_emb(v) / (|f_emb(q)| |f_emb(v)|), for chunks and summaries."""
    retrieval = {"nodes": "cosine", "kinds": ["chunk", "summary"], "prune_and_grow": {"association": 0.0}}
    hierarchy = {"min_members": 2, "gamma": 0.0}
    memory = open_memory(
        f"{strategy}.db", surprise_model=light_surprise, config={"hierarchy": hierarchy, "retrieval": retrieval}
    )
    said = [Message("document", f"{title}\n{text}", NOW, title) for title, text in PAGES.items()]
    list(memory.add_many(said, user_id="ada", now=NOW))
    memory.sleep(now=NOW)
    question = "Who directed Velvet Dawn?"
    hits = memory.search(question, user_id="ada", strategy=strategy, top_k=50, now=NOW, explain=True)
    embedder = memory.components.embedder
    asked = embedder.embed_query(question)
    nodes = {hit.unit.id: float(embedder.embed([hit.text])[0] @ asked) for hit in hits}
    assert {hit.unit.kind for hit in hits} == {"chunk", "summary"}
    assert {hit.unit.id: hit.score for hit in hits} == pytest.approx(nodes, abs=1e-5)
    assert all(hit.parts["cosine"] == hit.score for hit in hits)


def test_nearest_units_are_all_of_the_bounds_below_zero_too(pages: Memory) -> None:
    searcher = pages.components.searcher
    bounds = Bounds(Scope("ada"), NOW, kinds=("chunk",))
    found = searcher.nearest("Who directed Velvet Dawn?", bounds)
    assert len(found.scores) == len(PAGES) and min(found.scores.values()) < 0.2
    assert list(found.scores.values()) == sorted(found.scores.values(), reverse=True)
    assert searcher.nearest("Who directed Velvet Dawn?", bounds, 2).scores == dict(list(found.scores.items())[:2])
    assert searcher.nearest("tea", Bounds(Scope("nobody"), NOW)).scores == {}


def test_links_reach_what_the_question_does_not_name(pages: Memory) -> None:
    asked = "Where was the director of Velvet Dawn born?"
    linked = pages.search(asked, user_id="ada", strategy="links", top_k=2, explain=True, now=NOW)
    parts = {hit.unit.name: hit.parts for hit in linked}
    assert parts.keys() == {"Velvet Dawn", "Ottoline Marsh"}
    assert parts["Velvet Dawn"]["named"] > 0 and parts["Ottoline Marsh"]["link_score"] > 0
    assert parts["Ottoline Marsh"]["second_score"] > 0, "the second question names her"
    assert titles(pages.search(asked, user_id="ada", top_k=2, now=NOW)) == titles(linked), "auto takes links"


def test_a_link_weighs_less_the_more_units_name_or_share_its_heading(pages: Memory) -> None:
    """ln(1 + N/(1 + m)) / ln(1 + N/2), over the root of the units under the heading; never more than 1."""
    pages.add(Message("document", "Velvet Dawn\nIt won a prize.", NOW, "Velvet Dawn"), user_id="ada", now=NOW)
    asked = ["The Karl Brandt affair", "Harbour towns, a book", "Velvet Dawn and Karl Brandt", "nothing"]
    one, two, three, none = pages.components.searcher.linked(asked, Bounds(Scope("ada"), NOW, kinds=("chunk",)))
    named_by_two = math.log(1 + 6 / (1 + 2)) / math.log(1 + 6 / 2)
    assert list(one.values()) == list(two.values()) == pytest.approx([named_by_two])
    assert sorted(three.values()) == pytest.approx([named_by_two / 2**0.5] * 2 + [named_by_two]) and none == {}


def test_links_stay_within_the_scope_and_the_time(pages: Memory) -> None:
    later = datetime(2024, 10, 1, tzinfo=UTC)
    pages.add(Message("document", "Tornio\nTornio has a bridge.", later, "Tornio"), user_id="ada", now=later)
    pages.add(Message("document", "Tornio\nTornio is cold.", NOW, "Tornio"), user_id="eve", now=NOW)
    asked = "Which town is Ottoline Marsh from?"
    assert "Tornio" not in titles(pages.search(asked, user_id="ada", strategy="links", as_of=NOW))
    found = pages.search(asked, user_id="ada", strategy="links", now=later)
    assert "Tornio\nTornio has a bridge." in [hit.text for hit in found]
    assert all(hit.unit.scope.user_id == "ada" for hit in found)


def test_without_titles_links_are_a_single_step(open_memory: Callable[..., Memory], conversation: Any) -> None:
    memory = open_memory("talk.db")
    list(memory.add_many(conversation(30, seed=11, long=False), user_id="ada", now=NOW))
    for asked in ("who moved to Kyoto?", "the bicycle", "what did Ana say?"):
        assert memory.search(asked, user_id="ada", strategy="links", now=NOW) == memory.search(
            asked, user_id="ada", strategy="single-step", now=NOW
        )


def test_the_graph_walks_from_the_person_who_is_asked_about(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    memory = open_memory("facts.db", surprise_model=light_surprise, config={"gate": {"rule": "everything"}})
    said = ["Mia works at Velmora.", "Velmora is located in Tornio.", "Karl likes tea.", "Lena lives in Rome."]
    list(memory.add_many([Message("user", text, NOW) for text in said], user_id="ada", now=NOW))
    memory.flush()
    hits = memory.search("Tell me about Mia", user_id="ada", strategy="graph", explain=True, now=NOW)
    walked = {hit.text: hit.parts["walk_score"] for hit in hits}
    assert max(walked, key=lambda text: walked[text]) == "Mia works at Velmora."


def test_strategies_and_budgets_that_there_are_not(pages: Memory) -> None:
    with pytest.raises(InvalidInputError, match=r"unknown strategy 'best'.*single-step"):
        pages.search("tea", user_id="ada", strategy="best")
    with pytest.raises(InvalidInputError, match="chunks and summaries"):
        pages.search("tea", user_id="ada", strategy="traversal", kinds=("skill",))
    with pytest.raises(InvalidInputError, match="budget is 0"):
        pages.search("tea", user_id="ada", budget=0)


def test_a_budget_is_kept_and_cuts_between_sentences(pages: Memory) -> None:
    asked = "Who directed Velvet Dawn?"
    count = pages.components.embedder.count_tokens
    whole = pages.search(asked, user_id="ada", now=NOW)
    for budget in (5, 12, 18, 25, 40, 400):
        hits = pages.search(asked, user_id="ada", now=NOW, budget=budget)
        assert sum(count([hit.text for hit in hits])) <= budget
        for hit, full in zip(hits, whole, strict=False):
            rest = full.text.removeprefix(hit.text)
            assert full.text == hit.text + rest and (hit.text[-1] == "." or rest.startswith("\n"))
    assert pages.search(asked, user_id="ada", now=NOW, budget=10**6) == whole


def test_answers_from_memory_or_from_the_messages_behind_it(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    said = "My sister Mia works at Velmora. Otherwise it was a quiet week, and the garden is green."
    texts = {}
    for answering in ("memory-only", "memory-doc"):
        retrieval = {"kinds": ["atomic_fact"], "answering": answering}
        config = {
            "gate": {"rule": "everything"},
            "retrieval": retrieval,
            "facts": {"answer": False, "units": ["atomic_fact"]},
        }
        memory = open_memory(f"{answering}.db", surprise_model=light_surprise, config=config)
        memory.add(said, user_id="ada", timestamp=NOW, now=NOW)
        memory.flush()
        assert {hit.unit.kind for hit in memory.search("Velmora", user_id="ada", now=NOW)} == {"atomic_fact"}
        answer = memory.ask("Who works at Velmora?", user_id="ada", now=NOW)
        texts[answering] = {evidence.hit.unit.kind for evidence in answer.evidence}
    assert texts == {"memory-only": {"atomic_fact"}, "memory-doc": {"chunk"}}


def test_a_message_behind_what_was_renewed_is_marked_so(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    memory = open_memory("renewed.db", surprise_model=light_surprise, config={"gate": {"rule": "everything"}})
    memory.add("My sister Mia works at Velmora.", user_id="ada", timestamp=NOW, now=NOW)
    memory.flush()
    (hit,) = memory.search("Velmora", user_id="ada", now=NOW, kinds=("atomic_fact",))
    for renewed in (True, False):
        (found,) = memory.components.retriever.behind(
            "Velmora", [replace(hit, renewed=renewed)], Bounds(Scope("ada"), NOW)
        )
        assert (found.unit.kind, found.score, found.renewed) == ("chunk", hit.score, renewed)


class Wordless:
    """`LanguageTasks` that cannot judge hits."""

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],  # noqa: ARG002
        before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
    ) -> list[Extraction]:
        return [Extraction((), ()) for _ in units]

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        return ["nothing" for _ in groups]

    def answer(self, question: AskedQuestion, hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        raise AssertionError


def test_tasks_that_cannot_judge_are_named(open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    memory = open_memory("store.db", surprise_model=light_surprise, tasks=Wordless())
    memory.add("I live in Rome.", user_id="ada", now=NOW)
    assert memory.search("Rome", user_id="ada", now=NOW)
    with pytest.raises(ConfigError, match="rerank, refine and select"):
        memory.search("Rome", user_id="ada", strategy="rerank", now=NOW)


class Silent(Wordless):
    """Judges no hit."""

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[float]:  # noqa: ARG002
        return []

    def select(self, question: str, hits: Sequence[Hit]) -> list[bool]:  # noqa: ARG002
        return []

    def refine(self, question: str, hits: Sequence[Hit]) -> str:  # noqa: ARG002
        return ""


@pytest.mark.parametrize(("strategy", "task"), [("rerank", "rerank"), ("prune-and-grow", "select")])
def test_judgements_that_do_not_fit_are_one_clear_error(
    open_memory: Callable[..., Memory], light_surprise: Any, strategy: str, task: str
) -> None:
    memory = open_memory("store.db", surprise_model=light_surprise, tasks=Silent())
    memory.add("I live in Rome.", user_id="ada", now=NOW)
    with pytest.raises(EngineError, match=rf"{task} must return one result per hit, but returned 0 for 1 hits"):
        memory.search("Rome", user_id="ada", strategy=strategy, now=NOW)


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "single-step"])
def test_what_is_erased_while_a_strategy_runs_is_left_out(
    strategy: str, pages: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = "nearest" if strategy == "hyde" else "rank"
    rank = getattr(Searcher, searched)
    gone = next(episode.id for episode in pages.log(user_id="ada") if episode.name == "Velvet Dawn")
    erased: list[object] = []

    def rank_and_erase(self: Searcher, *args: Any, **more: Any) -> Ranking:
        found = rank(self, *args, **more)
        if not erased:
            erased.append(pages.erase(user_id="ada", memory_id=gone))
        return found

    monkeypatch.setattr(Searcher, searched, rank_and_erase)
    hits = pages.search("Who directed Velvet Dawn?", user_id="ada", strategy=strategy, now=NOW)
    assert erased and all(hit.id != gone for hit in hits)
