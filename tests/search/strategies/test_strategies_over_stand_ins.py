"""What each strategy makes of a search and of a hierarchy, on a context whose answers are written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from nscma_torch.core.config import RetrievalConfig, override
from nscma_torch.core.errors import TextTooLongError
from nscma_torch.core.records import Hit, Scope, Unit, UnitKind
from nscma_torch.reading.relations import load_relations
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.ranking import Ranking
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.search.strategies import STRATEGIES
from nscma_torch.semantic.graph.fact_graph import FactGraph
from tests.helpers.fact_making import fact

NOW = datetime(2024, 5, 1, tzinfo=UTC)
SUMMARY = 100  # row numbers from here on are summaries
BOTH: tuple[UnitKind, ...] = ("chunk", "summary")
OF_BOTH = Bounds(Scope("ada"), NOW, kinds=BOTH)


@dataclass
class Written:
    """A context. `answers` gives the scores of each question; units of row number n say "n"."""

    answers: Mapping[str, Mapping[int, float]]
    questions: Sequence[str] = ()  # what refine gives, one after the other
    helps: frozenset[int] = frozenset()
    relevant: Mapping[int, float] = field(default_factory=dict)
    below: Mapping[int, list[int]] = field(default_factory=dict)
    beside: Mapping[int, list[int]] = field(default_factory=dict)
    top: Sequence[int] = ()
    titles: Mapping[str, Mapping[int, float]] = field(default_factory=dict)  # by text, the units that its titles name
    known: FactGraph | None = None
    sure: Mapping[str, float] = field(default_factory=dict)  # answerability of each question, 0.5 by default
    judged: list[list[int]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    bounds: Bounds = field(default_factory=lambda: Bounds(Scope("ada"), NOW))
    settings: RetrievalConfig = field(default_factory=RetrievalConfig)

    @property
    def tasks(self) -> Written:
        return self

    def rank(self, text: str, top_k: int, kinds: Sequence[UnitKind] | None = None) -> Ranking:
        if text not in self.answers:
            raise TextTooLongError("too long")
        self.asked.append(text)
        wanted = self.bounds.kinds if kinds is None else kinds
        known = {n: s for n, s in self.answers[text].items() if kind_of(n) in wanted}
        return Ranking(dict(sorted(known.items(), key=lambda item: -item[1])[:top_k]), self.sure.get(text, 0.5))

    def rank_nodes(self, question: str, top_k: int | None = None) -> Ranking:
        return self.rank(question, 1 << 30 if top_k is None else top_k, (*self.bounds.kinds, "summary"))

    def units(self, seqs: Iterable[int]) -> dict[int, Unit]:
        return {n: Unit(str(n), Scope("ada"), kind_of(n), str(n), (f"e{n}",), NOW) for n in seqs}

    def hits(self, scores: Mapping[int, float]) -> dict[int, Hit]:
        return {n: Hit(unit, scores[n]) for n, unit in self.units(scores).items()}

    def relevance(self, question: str, hits: Sequence[Hit]) -> list[float]:  # noqa: ARG002
        self.judged.append([int(hit.text) for hit in hits])
        return [self.relevant[int(hit.text)] for hit in hits]

    def refine(self, question: str, hits: Sequence[Hit]) -> str:  # noqa: ARG002
        self.judged.append([int(hit.text) for hit in hits])
        return self.questions[len(self.judged) - 1] if len(self.judged) <= len(self.questions) else ""

    def select(self, question: str, hits: Sequence[Hit]) -> list[bool]:  # noqa: ARG002
        self.judged.append([int(hit.text) for hit in hits])
        return [int(hit.text) in self.helps for hit in hits]

    def nearest(self, text: str) -> Ranking:
        return self.rank(text, 1 << 30)

    def imagine(self, question: str, hits: Sequence[Hit]) -> list[str]:  # noqa: ARG002
        self.judged.append([int(hit.text) for hit in hits])
        return list(self.questions)

    def divide(self, question: str) -> list[str]:  # noqa: ARG002
        return list(self.questions)

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[float]:
        return self.relevance(question, hits)

    def linked(self, texts: Sequence[str]) -> list[dict[int, float]]:
        return [dict(self.titles.get(text, {})) for text in texts]

    def facts(self) -> FactGraph | None:
        return self.known

    def roots(self) -> list[int]:
        return list(self.top)

    def children(self, seqs: Sequence[int]) -> dict[int, list[int]]:
        return {n: self.below[n] for n in seqs if n in self.below}

    def peers(self, seqs: Sequence[int]) -> dict[int, list[int]]:
        return {n: self.beside[n] for n in seqs if n in self.beside}


def kind_of(n: int) -> UnitKind:
    return "summary" if n >= SUMMARY else "chunk"


def run(name: str, written: Written, top_k: int) -> Ranking:
    return STRATEGIES[name](cast("RetrievalContext", cast("Any", written)), "q", top_k)


def test_rerank_orders_what_it_looked_at_and_lets_the_rest_follow() -> None:
    scores = {n: 1 - n / 100 for n in range(60)}
    written = Written({"q": scores}, relevant={n: 0.5 + n / 100 for n in range(50)})
    assert list(run("rerank", written, 3).scores) == [49, 48, 47]
    assert written.judged == [list(range(50))]
    found = run("rerank", written, 60)
    assert list(found.scores) == [*range(49, -1, -1), *range(50, 60)]
    assert list(found.scores.values()) == sorted(found.scores.values(), reverse=True)
    assert found.parts[49]["relevance"] == pytest.approx(0.99) and "relevance" not in found.parts[55]


def test_rerank_by_the_paper_keeps_r_of_k() -> None:
    """Structural Memory section 3.2: M_r = LLM(q, M_i, R, P) with M_i = Retriever(q, M_q, K)."""
    relevant = {n: 0.5 + n / 1000 for n in range(200)}
    written = Written({"q": {n: 1 - n / 300 for n in range(250)}}, relevant=relevant, bounds=OF_BOTH)
    written.settings = override(RetrievalConfig(), {"rerank": {"looked_at": 200, "kept": 75}})
    assert list(run("rerank", written, 200).scores) == list(range(199, 124, -1))
    assert written.judged == [list(range(200))]
    assert list(run("rerank", written, 2).scores) == [199, 198], "fewer where fewer are asked for"


def test_equal_relevance_leaves_the_order_of_the_search() -> None:
    written = Written({"q": {1: 0.9, 2: 0.8, 3: 0.7}}, relevant={1: 0.1, 2: 0.3, 3: 0.3})
    assert list(run("rerank", written, 3).scores) == [2, 3, 1]
    assert run("rerank", Written({"q": {}}), 3).scores == {}


def test_iterative_adds_later_rounds_for_less() -> None:
    answers = {"q": {1: 2.0, 2: 1.0}, "q a": {3: 0.5, 2: 0.25}, "q b": {4: 1.0}}
    written = Written(answers, questions=["q a", "q b", "q c"])
    found = run("iterative", written, 10)
    assert written.asked == ["q", "q a", "q b"] and written.judged == [[1, 2], [3, 2]]
    assert found.scores == pytest.approx({1: 1.0, 2: 0.5 + 0.5 * 0.5, 3: 0.5, 4: 0.25})
    assert list(found.scores) == [1, 2, 3, 4]
    assert found.parts[2] == {"round_1": 1.0, "round_2": 0.25}


def by_last_question(n: int, t: int) -> RetrievalConfig:
    return override(
        RetrievalConfig(), {"iterative": {"ranked_by": "last-question", "refinements": n, "refined_from": t}}
    )


def test_iterative_by_the_paper_ranks_by_the_last_question_alone() -> None:
    """Structural Memory section 3.2: q_j = LLM(M_j), M_j = Retriever(q_{j-1}, T); M_r = Retriever(q_N, K)."""
    several = {n: 1 - n / 300 for n in range(250)}
    answers = {"q": several, "q a": {3: 0.5, 2: 0.25}, "q b": {n + 1: s for n, s in several.items()}, "q c": {9: 1.0}}
    written = Written(answers, questions=["q a", "q b", "q c"], bounds=OF_BOTH)
    written.settings = by_last_question(2, 75)
    found = run("iterative", written, 200)
    assert written.asked == ["q", "q a", "q b"], "N = 2 refinements, then one search by q_2"
    assert written.judged == [list(range(75)), [3, 2]], "T = 75"
    assert found.scores == {n + 1: several[n] for n in range(200)}, "K = 200, and nothing of q_0 or q_1"


def test_iterative_by_the_paper_ends_where_nothing_is_refined() -> None:
    written = Written({"q": {1: 0.5}, "q a": {2: 1.0}}, questions=["q a", "q a"], settings=by_last_question(4, 5))
    assert run("iterative", written, 5).scores == {2: 1.0} and written.asked == ["q", "q a", "q a"]


@pytest.mark.parametrize("questions", [[], ["q"], ["longer than the embedder reads"]])
def test_iterative_is_single_step_where_nothing_can_be_added(questions: list[str]) -> None:
    written = Written({"q": {1: 0.5, 2: 0.25}}, questions=questions)
    found = run("iterative", written, 10)
    assert list(found.scores) == [1, 2] and found.trace == ("asked 'q'",)


def test_iterative_does_not_hide_that_the_question_itself_is_too_long() -> None:
    with pytest.raises(TextTooLongError):
        run("iterative", Written({}), 10)


def test_hyde_searches_with_the_mean_of_question_and_passages() -> None:
    """v = (f(q) + sum of f(d)) / (N + 1), as HyDE has it: the mean of the cosines; a passage too long is left out."""
    answers = {"q": {1: 0.9, 2: 0.5, 3: -0.2, 4: -0.3}, "a": {1: 0.1, 2: 0.8, 3: 0.0}, "b": {1: 0.2, 2: 0.2, 3: 0.9}}
    written = Written(answers, questions=["a", "b", "much too long"], sure={"q": 0.7})
    found = run("hyde", written, 2)
    assert found.scores == pytest.approx({2: (0.5 + 0.8 + 0.2) / 3, 1: (0.9 + 0.1 + 0.2) / 3})
    assert list(found.scores) == [2, 1] and written.judged == [[1, 2, 3]], "passages are made of the three best hits"
    assert found.answerability == 0.7, "that of the question itself"
    assert written.asked == ["q", "a", "b"] and "too long" in found.trace[-1]


def test_self_questioning_joins_what_the_parts_find() -> None:
    answers = {"q": {1: 0.8, 2: 0.4}, "a": {3: 0.5, 2: 0.5}, "b": {2: 0.2, 4: 0.1}}
    found = run("self-questioning", Written(answers, questions=["a", "b", "a"], sure={"q": 0.7}), 3)
    assert found.scores == pytest.approx({2: (0.5 + 1 + 1) / 3, 1: 1 / 3, 3: 1 / 3})
    assert found.trace == ("asked 'q'", "asked 'a'", "asked 'b'") and found.answerability == 0.7
    second = {"q": {1: 1.0, 2: 0.9}, "a": {3: 1.0, 2: 0.9}}
    assert list(run("self-questioning", Written(second, questions=["a"]), 1).scores) == [2], "the second of each"
    plain = run("self-questioning", Written(answers), 3)
    assert list(plain.scores) == [1, 2], "a plain question is one search"


def test_prune_and_grow_reaches_what_lies_beside_and_below_active_nodes() -> None:
    scores = {SUMMARY: 0.9, 1: 0.8, **{n: 0.5 - n / 1000 for n in range(2, 40)}}
    written = Written(
        {"q": scores},
        helps=frozenset({SUMMARY, 1, 30, 31, 33}),
        below={SUMMARY: [30, 32]},
        beside={1: [31], 31: [33], 32: [34]},
    )
    found = run("prune-and-grow", written, 10)
    assert [len(judged) for judged in written.judged] == [20, 4, 2]
    assert written.judged[1:] == [[SUMMARY, 30, 31, 32], [SUMMARY, 33]], "32 helps nothing, so 34 is not looked at"
    expected = {1: 0.8, 30: 0.47 + 0.2 * 0.9, 31: 0.469 + 0.2 * 0.8, 33: 0.467 + 0.2 * 0.469}
    assert found.scores == pytest.approx(expected)
    assert list(found.scores) == [1, 30, 31, 33], "summaries were not asked for"
    assert found.parts[1]["association"] == 0.0


def test_prune_and_grow_looks_at_a_bounded_number_of_nodes() -> None:
    chain = {n: [n + 1] for n in range(99)}
    written = Written({"q": {n: 1 - n / 100 for n in range(100)}}, helps=frozenset(range(100)), beside=chain)
    found = run("prune-and-grow", written, 100)
    assert len(written.judged) == 6 and max(map(len, written.judged)) <= 21
    assert found.scores.keys() == set(range(25)), "twenty at once, then one by one along the chain"


def test_prune_and_grow_by_the_paper_returns_the_whole_active_set() -> None:
    """CAM section 4.2: P grows by what helps beside and below all of P, and all of it reaches the reader."""
    near = {n: 0.4 - n / 1000 for n in range(2, 40)}
    scores = {SUMMARY: 0.9, 1: 0.8, SUMMARY + 1: 0.7, **near}
    helps = frozenset({SUMMARY, 30, 31, 33})
    written = Written({"q": scores}, helps=helps, below={SUMMARY: list(range(2, 40))}, bounds=OF_BOTH)
    own = {"candidates": 3, "grown": 0, "association": 0.0, "returned": "active"}
    written.settings = override(RetrievalConfig(), {"prune_and_grow": own})
    found = run("prune-and-grow", written, 1)
    assert written.judged == [[SUMMARY, 1, SUMMARY + 1], [SUMMARY, *range(2, 40)]], "s = 3, then all children at once"
    assert found.scores == {n: scores[n] for n in (SUMMARY, 30, 31, 33)}, "the own scores of all that is active"
    written.settings = override(RetrievalConfig(), {"prune_and_grow": {**own, "returned": "best"}})
    assert list(run("prune-and-grow", written, 2).scores) == [SUMMARY, 30]


@pytest.mark.parametrize(
    ("kinds", "found"),
    [(("chunk",), [1, 2]), (BOTH, [SUMMARY + 1, SUMMARY, 1, 2]), (("summary",), [SUMMARY + 1, SUMMARY])],
)
def test_traversal_returns_the_summaries_on_the_way_where_they_are_asked_for(
    kinds: tuple[UnitKind, ...], found: list[int]
) -> None:
    scores = {SUMMARY: 0.7, SUMMARY + 1: 0.8, SUMMARY + 2: 0.6, 1: 0.5, 2: 0.4, 3: 0.9}
    below = {SUMMARY: [1, 2], SUMMARY + 1: [SUMMARY, SUMMARY + 2], SUMMARY + 2: [3]}
    written = Written({"q": scores}, below=below, top=[SUMMARY + 1], bounds=Bounds(Scope("ada"), NOW, kinds=kinds))
    written.settings = override(RetrievalConfig(), {"traversal": {"width": 1}})
    assert list(run("traversal", written, 10).scores) == found


def test_traversal_opens_the_best_of_each_level_and_skips_nobody_at_the_bottom() -> None:
    tops = list(range(SUMMARY, SUMMARY + 25))
    scores = {n: 1 - n / 1000 for n in tops} | {n: 0.1 + n / 1000 for n in range(26)}
    written = Written({"q": scores}, below={n: [n - SUMMARY] for n in tops}, top=[25, *tops])
    found = run("traversal", written, 50)
    assert set(found.scores) == {*range(20), 25}, "the 20 best summaries are opened; a chunk without one is reached"
    assert next(iter(found.scores)) == 25


def test_global_puts_all_levels_side_by_side() -> None:
    written = Written({"q": {1: 0.5, SUMMARY: 0.9}})
    assert list(run("global", written, 10).scores) == [SUMMARY, 1]


def test_links_lifts_what_lies_under_a_title_of_the_question() -> None:
    written = Written({"q": {1: 1.0, 2: 0.7}}, titles={"q": {2: 1.0}})
    found = run("links", written, 2)
    assert list(found.scores) == [2, 1] and found.scores[2] == pytest.approx(0.7 + 0.4 * 1.0 * 1.0)


def test_the_graph_lifts_the_messages_of_the_entity_that_is_asked_about() -> None:
    """Without what the question names, the walk would end at the better hit, on Bob."""
    said = {"e3": ("Bob", "Bosch"), "e2": ("Mia", "Velmora")}
    facts = [fact(who, "works_at", where, episode_ids=(episode,)) for episode, (who, where) in said.items()]
    known = FactGraph(facts, load_relations())
    scores = {1: 0.5, 3: 0.49, 2: 0.47}
    written = Written({"Where does Mia work?": scores}, known=known)
    found = STRATEGIES["graph"](cast("RetrievalContext", cast("Any", written)), "Where does Mia work?", 3)
    assert next(iter(found.scores)) == 2 and found.scores[2] == pytest.approx(0.47 + 0.1 * 0.5)
    assert found.parts[2]["walk_score"] > found.parts[3]["walk_score"]
