"""MemTree: where a passage goes, by given cosines, and what is written on its way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
import torch

from eval.harness.contract import Passage
from eval.systems.language import Language
from eval.systems.mem_tree import MemTree, MemTreeOptions
from nscma_torch.core.records import Message
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, ShowingReader, conversation, places, reading, shared


class Angles(HashEmbedder):
    """A text is a number of degrees; one that was written of several is where its first line is."""

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        angles = [math.radians(float(text.split("\n")[0])) for text in texts]
        return torch.tensor([[math.cos(angle), math.sin(angle)] for angle in angles])


def tree(degrees: Sequence[int], **options: float) -> MemTree:
    """Of passages at these angles; extraction keeps the first line of what a node says."""
    messages = [Message("document", str(angle), BEGUN) for angle in degrees]
    found = MemTree(Language(shared(), None), Angles(), MemTreeOptions().model_copy(update=options))
    found.keep([Passage(place, message, message.content) for place, message in enumerate(messages)])
    return found


def drawn(found: MemTree, at: int = 0) -> object:
    """A node as the rows of the passages below it: a leaf as its row, another as the list of its children."""
    node = found.nodes[at]
    return [drawn(found, child) for child in node.children] if node.children or not at else node.leaves[0]


def test_a_passage_goes_down_while_the_threshold_is_reached() -> None:
    """theta: cos 60 at the root, and e times that, cos 24.5, one below, with base .5 and rate .6 (.5 e^.6 = .91)."""
    found = tree([0, 50, 120], base=0.5, rate=0.6)
    assert found.threshold(0) == 0.5 and found.threshold(1) == pytest.approx(0.911, abs=1e-3)
    assert drawn(found) == [[0, 1], 2], "50 is within 60 of 0, which becomes the parent of both; 120 is of neither"
    # 20 is nearest to the parent (at 0), and within 24.5 of its child 0
    assert drawn(tree([0, 50, 120, 20], base=0.5, rate=0.6)) == [[[0, 3], 1], 2]
    # 30 is within 60 of the parent, but not within 24.5 of 0, nor of 50 (20 away would be)
    assert drawn(tree([0, 58, 120, 30], base=0.5, rate=0.6)) == [[0, 1, 3], 2]


def test_depth_may_be_a_share_of_the_greatest() -> None:
    found = tree([0, 50, 120], base=0.5, rate=0.6, relative=True)
    assert found.threshold(2) == pytest.approx(0.5 * math.exp(0.6)) and found.threshold(1) == pytest.approx(
        0.5 * math.exp(0.3)
    )


def test_nodes_on_the_way_stand_for_what_is_below() -> None:
    found = tree([0, 50, 120, 20], base=0.5, rate=0.6)
    below = {tuple(node.leaves): node.written for node in found.nodes[1:] if node.children}
    assert below == {(0, 1, 3): True, (0, 3): True}
    assert [node.depth for node in found.nodes] == [0, 1, 2, 2, 1, 3, 3]


def test_a_question_finds_summaries_and_passages(tmp_path: Path) -> None:
    said = ["The kiln is set to 900 degrees.", "My dog is called Biscuit.", "The kiln is now set to 1100 degrees."]
    run = shared()
    with reading({"kind": "mem-tree", "top_k": 3}, run, tmp_path, conversation(said)) as session:
        reply = session.ask("How many degrees is the kiln set to?", options=(), now=ASKED)
        assert session.store_bytes() > 0 and set(places(reply)[:2]) == {0, 2}
        early = session.ask("How many degrees is the kiln set to?", options=(), now=BEGUN + timedelta(days=1))
        silent = session.ask("Zeppelins over Potsdam?", options=(), now=ASKED)
    assert isinstance(run.reader, ShowingReader)
    first, second, _ = run.reader.handed
    assert {passage.message.role for passage in first} == {"user", "document"} and len(first) == 3
    assert silent.abstained, "no node is near enough"
    assert [passage.place for passage in second] == [0] and set(places(early)) == {0, 1}


def test_an_engine_merges_what_a_node_says(tmp_path: Path) -> None:
    engine = Scripted(lambda _: "The kiln gets hotter.")
    said = ["The kiln is set to 900 degrees.", "The kiln is set to 1000 degrees.", "The kiln is set to 1100 degrees."]
    run = shared(engine=engine)
    with reading({"kind": "mem-tree", "base": 0.1, "rate": 5}, run, tmp_path, conversation(said)) as session:
        session.ask("Does the kiln get hotter?", options=(), now=ASKED)
    asked = [request.turns[-1].content for request in engine.asked]
    assert ['"entries": 1' in text for text in asked] == [True, False] and '"entries": 2' in asked[1]
    assert "The kiln gets hotter." in asked[1] and "1100" in asked[1]
    assert isinstance(run.reader, ShowingReader)
    assert run.reader.handed[0][0].text == "The kiln gets hotter."


def test_nothing_read_is_nothing_found(tmp_path: Path) -> None:
    with reading({"kind": "mem-tree"}, shared(), tmp_path, []) as session:
        assert session.ask("Where?", options=(), now=ASKED).abstained


def test_passages_may_arrive_in_batches() -> None:
    whole = tree([0, 50, 120, 20, 58, 30], base=0.5, rate=0.6)
    messages = [Message("document", str(angle), BEGUN) for angle in (0, 50, 120, 20, 58, 30)]
    passages = [Passage(place, message, message.content) for place, message in enumerate(messages)]
    options = MemTreeOptions().model_copy(update={"base": 0.5, "rate": 0.6})
    found = MemTree(Language(shared(), None), Angles(), options)
    for batch in (passages[:1], (), passages[1:4], passages[4:]):
        found.keep(batch)
    assert found.nodes == whole.nodes and found.store_bytes() == whole.store_bytes()
