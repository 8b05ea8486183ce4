"""What is compared in CAM's tables, what is measured, and the differences, on a small set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.hierarchy.cam_reading import SHORT_ANSWERS, SUMMARIES, Outcome, Store, of_answer
from eval.experiments.hierarchy.cam_variants import DIFFERENCES, PAPER, VARIANTS
from eval.experiments.hierarchy.cam_worth import (
    by_store,
    difference,
    fewer_documents,
    fewer_memories,
    keep,
    kept,
    score,
    tables,
    with_answers,
)
from eval.tasks.corpus import Span
from eval.tasks.retrieval_sets import Asked, DataSet, World, sampled
from nscma_torch import Message, load_config
from nscma_torch.records import Answer
from nscma_torch.text.hash_embedder import HashEmbedder

_NOW = datetime(2024, 5, 1, tzinfo=UTC)
_TOPICS = ("harbour ships sail anchor", "garden roses soil water", "engine piston fuel valve", "court judge law trial")


def differing(one: Mapping[str, Any], other: Mapping[str, Any], under: str = "") -> Iterator[str]:
    for key in one:
        if isinstance(one[key], Mapping):
            yield from differing(one[key], other[key], f"{under}{key}.")
        elif one[key] != other[key]:
            yield under + key


@pytest.mark.parametrize(
    ("part", "keys"),
    [
        ("summaries read", {"retrieval.kinds"}),
        ("hierarchy", {"hierarchy.max_levels"}),
        ("overlap", {"hierarchy.overlapping"}),
        ("CAM, beside flat chunks", {"retrieval.kinds", "retrieval.strategy"}),
        ("summaries read, default", {"retrieval.kinds"}),
        ("overlap, default", {"hierarchy.overlapping"}),
    ],
)
def test_two_variants_differ_in_what_their_difference_is_named_after(part: str, keys: set[str]) -> None:
    one, other = (VARIANTS[name].config({}).model_dump() for name in DIFFERENCES[part])
    assert set(differing(one, other)) == keys


def test_the_families_are_the_paper_and_the_defaults() -> None:
    assert VARIANTS["CAM"].config({}) == load_config(PAPER)
    assert VARIANTS["default"].config({}) == load_config(None)
    assert VARIANTS["CAM"].config({"facts": {"answer": True}}).facts != load_config(PAPER).facts


def test_variants_that_store_alike_share_a_store() -> None:
    groups = [[variant.name for variant in group] for group in by_store(list(VARIANTS.values()))]
    assert groups == [
        ["CAM", "CAM, chunks alone read", "flat chunks"],
        ["CAM without overlap"],
        ["CAM without hierarchy"],
        ["default", "default and summaries"],
        ["default and summaries, no overlap"],
    ]


def data_set() -> DataSet:
    """A user with forty messages on four topics, in two of which an answer stands; another user with one message."""
    said = [f"The {word} and the {word} number {i} of {topic}." for i, topic in enumerate(_TOPICS * 10) for word in "a"]
    said[6] = "The engine of the boat was built by Marta Oliveira in Porto."
    messages = [Message("document", text, source=f"d{i}") for i, text in enumerate(said)]
    asked = [
        Asked("Who built the engine of the boat?", (Span(6, 0, 9),), "odd", answers=("Marta Oliveira",)),
        Asked("Was the engine built in Porto?", (Span(6, 0, 9),), "even", answers=("yes",)),
        Asked("What is said of gardens?", (), "odd", answers=("roses and soil",)),
    ]
    other = World("other", [Message("document", "A lone lighthouse.")], [asked[2]], _NOW)
    return DataSet("small", [World("reader", messages, asked, _NOW), other], True, 100, [])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    own = data_set()
    variants = [VARIANTS["CAM"], VARIANTS["CAM, chunks alone read"], VARIANTS["flat chunks"]]
    store = Store(own, variants, tmp_path_factory.mktemp("store"), CachedEmbedder(HashEmbedder()))
    chunks, summaries = store.sizes
    assert chunks == 41 and summaries > 4
    return list(store.outcomes([64, 256], SHORT_ANSWERS, sampled(own, 2)))


def test_every_question_is_measured_under_every_variant_by_what_applies_to_it(found: list[Outcome]) -> None:
    assert [one.variant for one in found[::4]] == ["CAM", "CAM, chunks alone read", "flat chunks"]
    who, yes, what, other = found[:4]
    stands = {"answer stands, 64 tokens", "answer stands, 256 tokens"}
    said = {"EM", "F1", "silent", "filled, 64 tokens", "filled, 256 tokens"}
    assert 0.5 < who.scores["filled, 64 tokens"] <= 1.0
    assert set(who.scores) - said == {"R@10", *stands}
    assert set(yes.scores) - said == {"R@10"}, "yes stands in any text"
    assert set(what.scores) - said == stands, "no evidence is given"
    assert (other.user, other.half) == ("other", "odd")
    assert sum("EM" in one.scores for one in found[:4]) == 2, "two are sampled for the reader"


def test_the_answer_is_found_where_it_stands(found: list[Outcome]) -> None:
    for one in found:
        if one.question.startswith("Who built"):
            assert one.scores["answer stands, 64 tokens"] == 1.0
            assert one.scores["R@10"] == 1.0


def test_contexts_are_summaries_or_chunks_up_to_the_budget(tmp_path: Path) -> None:
    read: dict[str, list[str]] = {}

    class Kept:
        """`Measured` that keeps the contexts."""

        def __init__(self, name: str) -> None:
            self.name = name

        def context(self, text: str, _: object) -> dict[str, float]:
            read.setdefault(self.name, []).append(text)
            return {}

        answer = context

    own = data_set()
    everything = {message.content for world in own.worlds for message in world.messages}
    embedder = CachedEmbedder(HashEmbedder())
    for variant in ("CAM", "CAM, chunks alone read"):
        store = Store(own, [VARIANTS[variant]], tmp_path, embedder)
        list(store.outcomes([40, 400], Kept(variant), DataSet("none", [], True, 1, [])))  # type: ignore[arg-type]
        (tmp_path / "store.db").unlink()
    assert len(read["CAM"]) == 8, "four questions, two budgets"
    assert all(embedder.count_tokens([text])[0] <= 40 for text in read["CAM"][::2])
    assert max(len(text) for text in read["CAM"]) > 400
    chunks = [text.splitlines() for text in read["CAM, chunks alone read"]]
    assert all(set(lines) <= everything and len(set(lines)) == len(lines) for lines in chunks)
    both = [text.splitlines() for text in read["CAM"]]
    assert any(len(set(lines)) < len(lines) for lines in both), "a summary repeats sentences of its members"


def outcome(variant: str, user: str, half: Any, value: float | None) -> Outcome:
    return Outcome(variant, user, half, "", "?", {} if value is None else {"F1": value})


def test_differences_are_of_the_first_less_the_second_over_the_same_questions() -> None:
    first = [outcome("a", f"u{i}", "odd" if i % 2 else "even", 0.8) for i in range(20)]
    second = [outcome("b", f"u{i}", "odd" if i % 2 else "even", 0.8 if i % 2 else 0.2) for i in range(20)]
    every = [*first, *second, outcome("a", "u0", "odd", None), outcome("b", "u0", "odd", None)]
    apart = difference(every, ("a", "b"), "F1", "all")
    assert apart.value == pytest.approx(0.3)
    assert (apart.questions, apart.of_questions) == (20, False)
    assert apart.low > 0
    assert difference(every, ("a", "b"), "F1", "odd").value == pytest.approx(0.0)
    assert score(every, "b", "F1", "odd").value == pytest.approx(0.8)
    assert not difference(every, ("a", "c"), "F1", "all").drawn


def test_tables_have_a_row_for_each_variant_and_for_each_difference_between_them(found: list[Outcome]) -> None:
    shown = list(tables("small", found))
    assert {str(table.title) for table in shown} >= {"small: R@10", "small: EM"}
    assert all(table.row_count == 3 + 2 for table in shown)
    assert list(shown[0].columns[0].cells)[3:] == ["+ summaries read", "+ CAM, beside flat chunks"]


def test_categories_have_tables_of_their_own_and_what_is_kept_is_read_back(tmp_path: Path) -> None:
    one = replace(outcome("a", "u", "odd", 0.5), category="specific")
    several = [one, replace(one, category="general", scores={"F1": 1.0})]
    assert [str(table.title) for table in tables("s", several)] == ["s: F1", "s, general: F1", "s, specific: F1"]
    for name in ("s", "t", "s"):
        keep(tmp_path / "outcomes.gz", name, several)
    assert kept(tmp_path / "outcomes.gz") == {"s": several * 2, "t": several}


def test_fewer_memories_are_spread_evenly() -> None:
    own = DataSet("many", [World(f"u{i}", [], [], _NOW) for i in range(10)], True, 1, [])
    assert [world.user for world in fewer_memories(own, 3).worlds] == ["u1", "u5", "u8"]
    assert fewer_memories(own, 20) == own


def test_fewer_documents_are_those_that_are_needed_and_some_others() -> None:
    (world, _) = data_set().worlds
    some = DataSet("some", [world], True, 1, [])
    (four,) = fewer_documents(some, 4).worlds
    assert [message.source for message in four.messages] == ["d6", *(f"d{i}" for i in (7, 20, 33))]
    assert [asked.evidence for asked in four.questions] == [(Span(0, 0, 9),), (Span(0, 0, 9),), ()]
    (needed,) = fewer_documents(some, 0).worlds
    assert [message.source for message in needed.messages] == ["d6"]
    assert fewer_documents(some, 100) == some


def test_questions_without_an_answer_are_left_out() -> None:
    own = DataSet(
        "one", [World("u", [], [Asked("?", (), "odd"), Asked("?", (), "odd", "", ("a",))], _NOW)], True, 1, []
    )
    assert [q.answers for q in with_answers(own).worlds[0].questions] == [("a",)]


def test_summaries_are_scored_by_what_a_reader_could_say_and_by_what_it_says() -> None:
    assert SUMMARIES.context("red fox and dog", ["red fox"]) == {"context ROUGE-1": 1.0, "context ROUGE-2": 1.0}
    assert SUMMARIES.answer("red fox", ["red fox"])["answer ROUGE-L"] == 1.0
    asked = Asked("?", (), "odd", "", ("Porto",))
    quoting = Answer("Porto\nMarta, 1 May: built in Porto", False, 0.9, (), quotes=1)
    assert of_answer(quoting, asked, SHORT_ANSWERS) == {"EM": 1.0, "F1": 1.0, "silent": 0.0}
    wrong = Answer("Rome\nMarta, 1 May: built in Porto", False, 0.9, (), quotes=1)
    assert of_answer(wrong, asked, SHORT_ANSWERS)["F1"] == 0.0, "evidence is not scored as an answer"
