"""Structural memory and CAM as systems: what the reader is handed, and that the papers' letters do something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval.contract import Passage, Reply
from eval.systems.structures import KINDS
from tests.eval.systems.rig import ASKED, SAID, ShowingReader, conversation, reading, shared

QUESTION = "How many degrees is the kiln set to?"
LONGER = conversation([f"{text} That was on day {day}." for day, text in enumerate(SAID * 4)])


def asked(folder: Path, kind: str, question: str = QUESTION, **section: Any) -> tuple[Reply, list[Passage]]:
    run = shared()
    with reading({"kind": kind, **section}, run, folder, LONGER) as session:
        reply = session.ask(question, options=(), now=ASKED)
        assert session.store_bytes() > 0
    assert isinstance(run.reader, ShowingReader)
    return reply, run.reader.handed[0]


@pytest.mark.parametrize("structure", KINDS)
def test_every_structure_is_read_as_it_is(tmp_path: Path, structure: str) -> None:
    reply, passages = asked(tmp_path, "structures", structure=structure, k=4)
    assert 0 < len(passages) <= 4 and reply.evidence
    derived = [passage for passage in passages if passage.text not in passage.message.content]
    assert not derived if structure in ("chunk", "summary") else True
    assert all(passage.message.name is None for passage in passages) == (structure == "summary")


def test_memory_doc_hands_over_the_messages_behind(tmp_path: Path) -> None:
    section: dict[str, Any] = {"structure": "summary", "answering": "memory-doc", "k": 3}
    _, passages = asked(tmp_path, "structures", **section)
    assert len(passages) == 3 and all(passage.text == passage.message.content for passage in passages)


@pytest.mark.parametrize(
    ("section", "most"),
    [({"k": 3}, 3), ({"strategy": "rerank", "k": 8, "r": 2}, 2), ({"strategy": "iterative", "k": 4}, 4)],
)
def test_strategies_keep_as_many_as_they_say(tmp_path: Path, section: dict[str, Any], most: int) -> None:
    _, passages = asked(tmp_path, "structures", **section)
    assert len(passages) == most and "kiln" in passages[0].text


def test_reranking_looks_no_further_than_k(tmp_path: Path) -> None:
    wide, _ = asked(tmp_path / "wide", "structures", strategy="rerank", k=20, r=5)
    narrow, _ = asked(tmp_path / "narrow", "structures", strategy="rerank", k=5, r=5)
    plain, _ = asked(tmp_path / "plain", "structures", k=5)
    assert set(narrow.evidence) == set(plain.evidence) and set(wide.evidence) != set(plain.evidence)


def test_one_round_is_a_single_step(tmp_path: Path) -> None:
    question = "Where do I live with my sister?"
    one, _ = asked(tmp_path / "one", "structures", question, strategy="iterative", n=1)
    plain, _ = asked(tmp_path / "plain", "structures", question)
    more, _ = asked(tmp_path / "more", "structures", question, strategy="iterative", n=3, t=2)
    assert one.evidence == plain.evidence and more.evidence != plain.evidence


@pytest.mark.parametrize("retrieval", ["prune-and-grow", "traversal", "global"])
def test_cam_is_read_by_each_of_its_retrievals(tmp_path: Path, retrieval: str) -> None:
    reply, passages = asked(tmp_path, "cam", retrieval=retrieval, batch=10, top_k=5)
    assert 0 < len(passages) <= 5 and "kiln" in " ".join(passage.text for passage in passages) and reply.evidence


@pytest.mark.parametrize("section", [{"development": "offline"}, {"flexible": False}, {"hierarchical": False}])
def test_cam_without_something_still_answers(tmp_path: Path, section: dict[str, Any]) -> None:
    _, passages = asked(tmp_path, "cam", top_k=3, **section)
    assert "kiln" in passages[0].text
