"""EM-LLM's events: where they begin, by given surprise and similarity, and which are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.harness.contract import Shared
from eval.systems.em_llm import EmLlm, beside
from eval.systems.event_boundaries import fitness, refined
from nscma_torch.core.records import Message
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, ShowingReader, conversation, places, reading, shared

SAID = (
    "The kiln is hot.",
    "The kiln is old.",
    "The kiln is red.",
    "Suddenly the boat sailed.",
    "The boat is fast.",
    "The boat is blue.",
)


@dataclass
class Startled:
    """A surprise model that expects every byte but those of some sentences; a token for each, or two bytes each.

    Attributes:
        streams: what it has read.
    """

    surprising: str = "Suddenly"
    wide: bool = False
    fingerprint = "startled"

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[Any]:
        (texts,), _ = streams, states
        return [
            _Score([self._nats(text) for text in texts], [self._ends(text) for text in texts] if self.wide else None)
        ]

    def _nats(self, text: str) -> torch.Tensor:
        nats = torch.ones(len(text.encode()) + 1)
        place = text.find(self.surprising)
        if place >= 0:
            nats[place : place + len(self.surprising)] = 9.0
        return nats[: len(self._ends(text))] if self.wide else nats

    @staticmethod
    def _ends(text: str) -> torch.Tensor:
        size = len(text.encode()) + 1
        return torch.tensor([*range(2, size, 2), size])


@dataclass
class _Score:
    nll: list[torch.Tensor]
    ends: list[torch.Tensor] | None
    state: bytes = b""


def startled(**how: Any) -> Shared:
    """A run whose surprise model is startled."""
    return replace(shared(), surprise_model=Startled(**how))


def similar(sizes: Sequence[int]) -> torch.Tensor:
    """Vectors of sentences in runs: alike in a run, and .1 alike across."""
    rows = [run for run, size in enumerate(sizes) for _ in range(size)]
    across = torch.full((len(rows), len(rows)), 0.1)
    same = torch.tensor([[float(one == other) for other in rows] for one in rows])
    return across + 0.8 * same + 0.1 * torch.eye(len(rows))


def test_fitness_of_two_events_by_hand() -> None:
    similarity = torch.tensor([[1.0, 0.8, 0.2], [0.8, 1.0, 0.2], [0.2, 0.2, 1.0]], dtype=torch.float64)
    # all 5.4; degrees 2, 2, 1.4. Cut behind 1: inside 1 and 3 - .6 = 2.4, behind 2: 3.6 and 1
    first = (1 - 2**2 / 5.4 + 2.4 - 3.4**2 / 5.4) / (2 * 5.4)
    second = (3.6 - 4**2 / 5.4 + 1 - 1.4**2 / 5.4) / (2 * 5.4)
    assert fitness(similarity, "modularity").tolist() == pytest.approx([first, second]) and second > first
    # cut 1 between 1 and 2.4, cut .4 between 3.6 and 1
    assert fitness(similarity, "conductance").tolist() == pytest.approx([-1.0, -0.4])


@pytest.mark.parametrize("metric", ["modularity", "conductance"])
def test_a_boundary_goes_back_to_where_the_topic_changed(metric: Any) -> None:
    vectors = torch.linalg.cholesky(similar([4, 6]).double())  # whose products are these similarities
    assert refined([6], vectors, metric) == [4], "peaks come late"
    assert refined([4], vectors, metric) == [4] and refined([1], vectors, metric) == [1]
    assert refined([], vectors, metric) == []


def test_a_boundary_stays_behind_the_one_before() -> None:
    vectors = torch.linalg.cholesky(similar([3, 4, 5]).double())
    assert refined([5, 9], vectors, "modularity") == [3, 7]


@pytest.mark.parametrize("wide", [False, True])
def test_an_event_begins_where_the_surprise_model_is_surprised(tmp_path: Path, wide: bool) -> None:
    run = startled(wide=wide)
    section = {"kind": "em-llm", "top_k": 1, "contiguous": 0}
    with reading(section, run, tmp_path, conversation(SAID)) as session:
        reply = session.ask("How fast did the boat sail?", options=(), now=ASKED)
        finder = session._finder  # type: ignore[attr-defined]
        assert session.store_bytes() > 0
    assert isinstance(finder, EmLlm) and isinstance(run.reader, ShowingReader)
    assert [[passage.place for passage in event] for event in finder.events] == [[0, 1, 2], [3, 4, 5]]
    assert [passage.text for passage in run.reader.handed[0]] == list(SAID[3:])
    assert places(reply) == (3, 4, 5, 0, 1, 2)


def test_events_begin_inside_a_message_too(tmp_path: Path) -> None:
    run = startled()
    text = " ".join(SAID)
    with reading({"kind": "em-llm"}, run, tmp_path, [Message("document", text, BEGUN)]) as session:
        finder = session._finder  # type: ignore[attr-defined]
    assert isinstance(finder, EmLlm)
    pieces = [(own.start, own.text) for (own,) in finder.events]
    assert [piece for _, piece in pieces] == [" ".join(SAID[:3]), " ".join(SAID[3:])]
    assert all(text[start : start + len(piece)] == piece for start, piece in pieces)


def test_what_no_embedder_reads_at_once_is_divided(tmp_path: Path) -> None:
    run = shared()
    with reading({"kind": "em-llm"}, run, tmp_path, conversation(["The kiln is hot and red."] * 60)) as session:
        finder = session._finder  # type: ignore[attr-defined]
    assert isinstance(finder, EmLlm) and len(finder.events) > 1
    assert sum(len(event) for event in finder.events) == 60


def test_what_is_next_to_the_nearest_is_read_too(tmp_path: Path) -> None:
    assert beside([7, 3], range(10), reach=1, most=4) == [6, 8, 2, 4]
    assert beside([7, 3], range(10), reach=2, most=5) == [6, 8, 5, 9, 2]
    assert beside([0, 1], range(3), reach=1, most=9) == [2] and beside([1], [1], reach=1, most=2) == []
    run = startled()
    with reading({"kind": "em-llm", "top_k": 1}, run, tmp_path, conversation(SAID)) as session:
        session.ask("How fast did the boat sail?", options=(), now=ASKED)
    assert isinstance(run.reader, ShowingReader)
    assert [passage.place for passage in run.reader.handed[0]] == [3, 4, 5, 0, 1, 2]


def test_nothing_is_found_of_nothing_and_of_the_future(tmp_path: Path) -> None:
    section = {"kind": "em-llm"}
    with reading(section, startled(), tmp_path, []) as session:
        assert session.ask("Where?", options=(), now=ASKED).abstained
    with reading(section, startled(), tmp_path / "later", conversation(SAID)) as session:
        reply = session.ask("Is the boat blue?", options=(), now=BEGUN + timedelta(days=4))
    assert set(places(reply)) == {0, 1, 2, 3, 4}, "the second event goes on later"


def test_no_engine_is_asked(tmp_path: Path) -> None:
    engine = Scripted(lambda _: "")
    with reading({"kind": "em-llm"}, replace(startled(), engine=engine), tmp_path, conversation(SAID)) as session:
        assert places(session.ask("Is the boat blue?", options=(), now=ASKED))
    assert not engine.asked
