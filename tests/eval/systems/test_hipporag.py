"""HippoRAG and HippoRAG 2: a graph of phrases, and walks over it whose shares are known by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.harness.contract import Passage, Shared
from eval.systems.hipporag import HippoRag, named_in
from eval.systems.hipporag2 import HippoRag2, HippoRag2Options, scaled
from eval.systems.language import Language, Triple
from eval.systems.phrase_graph import PhraseGraph
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, ShowingReader, conversation, places, reading, shared

SAID = (
    "Rita works with Ana at the harbour.",
    "Ana lives in Lisbon.",
    "The kiln is old.",
    "Lisbon is sunny.",
)
STATED: Sequence[Sequence[Triple]] = (
    [Triple("Rita", "works with", "Ana")],
    [Triple("Ana", "lives in", "Lisbon")],
    [Triple("kiln", "is", "old")],
    [],
)
KINDS = ("hipporag", "hipporag2")
FEW: Mapping[str, Mapping[str, Any]] = {
    "hipporag": {"kind": "hipporag", "top_k": 2},
    "hipporag2": {"kind": "hipporag2", "top_k": 2, "triples": 2},
}


class Chosen(HashEmbedder):
    """An embedder whose vectors a test names."""

    def __init__(self, **vectors: Sequence[float]) -> None:
        super().__init__()
        self._named = vectors

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.nn.functional.normalize(torch.tensor([list(self._named[text]) for text in texts]), dim=1)


def handed(run: Shared) -> list[str]:
    """What the reader was handed last."""
    assert isinstance(run.reader, ShowingReader)
    return [passage.text for passage in run.reader.handed[-1]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triples as the trained reader would find them."""
    known = dict(zip(SAID, STATED, strict=True))

    def triples(language: Language, passages: Sequence[Passage]) -> list[list[Triple]]:
        return [list(known.get(passage.text, [])) for passage in passages]

    monkeypatch.setattr(Language, "_read", triples)


def test_shares_of_a_walk_over_four_phrases() -> None:
    """A path a - b - c and d alone, from a at damping 1/2: a = 1/2 + b/4, b = a/2 + c/2, c = b/4."""
    stated = [
        [Triple("a1", "is", "b2"), Triple("b2", "is", "c3")],
        [Triple("c3", "is", "c3"), Triple("d4", "is", "d4")],
    ]
    graph = PhraseGraph(stated, HashEmbedder(), synonyms=1)
    shares = graph.walk(torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64), 0.5)
    # b = (a + c) / 2 with c = b / 4: b = 4a / 7; a = 1/2 + a/7 = 7/12, b = 1/3, c = 1/12
    assert shares.tolist() == pytest.approx([7 / 12, 1 / 3, 1 / 12, 0])
    assert graph.holders.tolist() == [1, 1, 2, 1]
    # the first passage holds a and c once and b twice, the second c twice
    assert graph.of_passages(shares).tolist() == pytest.approx([7 / 12 + 2 / 3 + 1 / 12, 2 / 12])


def test_synonyms_are_joined_by_their_cosine() -> None:
    embedder = Chosen(dog=[1, 0], hound=[0.9, 0.435889894], cat=[0, 1], tree=[-1, 0])
    stated = [[Triple("dog", "is", "dog"), Triple("tree", "is", "tree")], [Triple("hound", "hunts", "cat")]]
    graph = PhraseGraph(stated, embedder, synonyms=0.8)
    assert graph.phrases == ["dog", "tree", "hound", "cat"]
    shares = graph.walk(torch.tensor([1.0, 0, 0, 0], dtype=torch.float64), 0.5)
    # dog - hound weighs .9, hound - cat 1: dog = 1/2 + h (.9 / 1.9) / 2, h = (dog + cat) / 2, cat = h (1 / 1.9) / 2
    assert float(shares[3] / shares[2]) == pytest.approx(0.5 / 1.9)
    assert float(shares[2]) == pytest.approx(float(shares[0] + shares[3]) / 2) and float(shares[1]) == 0


def test_a_passage_node_is_walked_to() -> None:
    graph = PhraseGraph([[Triple("a1", "is", "b2")], []], HashEmbedder(), synonyms=1, with_passages=True)
    shares = graph.walk(torch.tensor([1.0, 0, 0, 0], dtype=torch.float64), 0.5)
    assert graph.weights == {(0, 1): 1, (0, 2): 1, (1, 2): 1}
    # a triangle of a, b and the passage: b = p = (a + b) / 4, a = 1/2 + b / 2
    assert shares.tolist() == pytest.approx([3 / 5, 1 / 5, 1 / 5, 0])


def test_a_statement_is_one_however_often_it_is_made() -> None:
    stated = [[Triple("Ana", "likes", "tea"), Triple("the Ana", "Likes", "Tea")], [Triple("Ana", "likes", "tea")]]
    stated[1].append(Triple("...", "likes", "tea"))
    graph = PhraseGraph(stated, HashEmbedder())
    assert [triple.text for triple in graph.triples] == ["Ana likes tea"] and graph.said_in == [[0, 1]]
    assert graph.phrases == ["Ana", "tea"] and graph.holders.tolist() == [2, 2]


def test_what_a_question_names() -> None:
    phrases = ["Ana", "Ana Reyes", "kiln", "it", "Porto"]
    assert named_in("What does Ana Reyes's kiln make of it?", phrases) == ["Ana Reyes", "kiln"]
    assert named_in("Which city did Bento see?", phrases) == ["Bento"] and not named_in("Who did it?", phrases)


def test_scores_are_brought_to_one_scale() -> None:
    assert scaled(torch.tensor([0.2, 0.6, 0.4])).tolist() == pytest.approx([0, 1, 0.5])
    assert scaled(torch.tensor([0.3])).tolist() == [1]


def test_rare_phrases_are_started_from_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Node specificity: three passages hold Tea and one Figs, so that a walk starts at Figs three times out of four."""
    said = ["Tea is hot.", "Tea is wet.", "Tea is old.", "Figs are sweet."]
    of = {text: [Triple(text.split()[0], "is", text.split()[-1])] for text in said}
    monkeypatch.setattr(Language, "_read", lambda _, passages: [of[passage.text] for passage in passages])
    with reading({"kind": "hipporag", "synonyms": 1}, shared(), tmp_path, conversation(said)) as session:
        finder = session._finder  # type: ignore[attr-defined]
        assert isinstance(finder, HippoRag)
        shares = finder._shares(["Tea", "Figs"]).tolist()
    # tea = 1/8 + tea / 4 = 1/6, hot = tea / 6; figs = 3/8 + figs / 4 = 1/2, sweet = figs / 2
    assert shares == pytest.approx([1 / 6 + 1 / 36] * 3 + [3 / 4])


def test_a_walk_starts_at_phrases_of_triples_and_at_all_passages() -> None:
    finder = HippoRag2(Language(shared(), None), HashEmbedder(), HippoRag2Options(phrases=2))
    finder.graph = PhraseGraph(
        [[Triple("a1", "is", "b2")], [Triple("a1", "is", "c3")]], HashEmbedder(), with_passages=True
    )
    seeds = finder._seeds([(0, 1.0), (1, 0.5)], torch.tensor([1.0, 0.2], dtype=torch.float64))
    # a1 is of both triples, .75 in the mean, and in two passages; c3 has the least mean of the three
    assert seeds.tolist() == pytest.approx([0.375, 1.0, 0.0, 0.05, 0.01])


@pytest.mark.usefixtures("read")
@pytest.mark.parametrize("kind", KINDS)
def test_a_passage_is_found_over_what_joins_it(tmp_path: Path, kind: str) -> None:
    run = shared()
    with reading(FEW[kind], run, tmp_path, conversation(SAID)) as session:
        reply = session.ask("What is Rita's place at the harbour?", options=(), now=ASKED)
        assert session.store_bytes() > 0
    assert places(reply)[:2] == (0, 1) and sorted(places(reply)) == [0, 1, 2, 3], "the second shares no word with it"


@pytest.mark.usefixtures("read")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_of_nothing_and_of_the_future(tmp_path: Path, kind: str) -> None:
    run = shared()
    with reading({"kind": kind}, run, tmp_path, []) as session:
        assert session.ask("Where is Ana?", options=(), now=ASKED).abstained
    with reading({"kind": kind}, run, tmp_path / "later", conversation(SAID)) as session:
        assert set(places(session.ask("Where does Ana live?", options=(), now=BEGUN))) == {0}
    with reading({"kind": kind}, run, tmp_path / "plain", conversation(["Hello there.", "Good day."])) as session:
        assert len(places(session.ask("Hello there?", options=(), now=ASKED))) == 2


def scripted(kept: Sequence[int]) -> Scripted:
    """An engine that reads the triples of `STATED`, names Rita, and recognises some of what it is shown."""

    def write(request: Request) -> str:
        asked = request.turns[-1].content
        title = "" if request.schema is None else request.schema["title"]
        row = next((row for row, text in enumerate(SAID) if text in asked), 0)
        if title == "EntitiesForm":
            return json.dumps({"entities": ["Rita"]})
        if title == "TriplesForm":
            own = [{"subject": one.subject, "predicate": one.predicate, "object": one.object} for one in STATED[row]]
            return json.dumps({"triples": own})
        return json.dumps({"numbers": list(kept)})

    return Scripted(write)


def test_an_engine_names_and_recognises(tmp_path: Path) -> None:
    for kind in KINDS:
        engine = scripted([1])
        run = shared(engine=engine)
        with reading(FEW[kind], run, tmp_path / kind, conversation(SAID)) as session:
            assert places(session.ask("Rita works with whom?", options=(), now=ASKED))[:2] == (0, 1)
        forms = [request.schema["title"] for request in engine.asked if request.schema is not None]
        assert forms[-1] == ("EntitiesForm" if kind == "hipporag" else "Numbers") and len(forms) == 9


def test_where_no_triple_is_recognised_cosine_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shared(engine=scripted([]))
    monkeypatch.delattr(PhraseGraph, "walk")
    with reading({"kind": "hipporag2", "top_k": 1}, run, tmp_path, conversation(SAID)) as session:
        session.ask("Is Lisbon sunny?", options=(), now=ASKED)
    assert handed(run) == ["Lisbon is sunny."]
