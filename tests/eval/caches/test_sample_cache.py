"""Systems that would make the same memory of a sample share it: read once, at its full cost for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Cost, Shared
from eval.systems.catalogue import make_system
from eval.systems.memories import Remembered
from eval.systems.nscma import NscmaSession
from nscma_torch.core.errors import JobError, StoreClosedError
from nscma_torch.core.records import Message
from tests.eval.systems.rig import ASKED, SAID, conversation, shared

CONTROLLER = {"kind": "nscma"}
ASKING = {"kind": "nscma", "answering": "ask", "top_k": 3}
READING = {"kind": "nscma", "answering": "reader"}
QUESTIONS = ("Where do I live?", "How many degrees is the kiln set to?")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Remembered]:
    """Memories that messages were stored in, as often as they were."""
    memories: list[Remembered] = []
    add = Remembered._add

    def heard(self: Remembered, some: Sequence[Any]) -> None:
        memories.append(self)
        add(self, some)

    monkeypatch.setattr(Remembered, "_add", heard)
    return memories


def unit(section: Mapping[str, Any], run: Shared, folder: Path, messages: Sequence[Message]) -> tuple[Cost, list[Any]]:
    """What reading took, and what the system replies, costs aside."""
    folder.mkdir()
    with make_system({"name": "", **section}, run).open(folder) as session:
        cost = session.read(messages)
        replies = [session.ask(question, options=(), now=ASKED) for question in QUESTIONS]
    return cost, [{**asdict(reply), "cost": None} for reply in replies]


def test_equal_setups_share_a_memory_and_reply_as_alone(read: list[Remembered], tmp_path: Path) -> None:
    messages, run = conversation(), shared()
    with run.at_hand.sample():
        first, _ = unit(CONTROLLER, run, tmp_path / "1", messages)
        spared = run.time.spared
        again, other = unit(ASKING, run, tmp_path / "2", messages)
        assert len(read) == 1
        assert again == Cost(first.llm_calls, first.tokens_in, first.tokens_out)
        took = first.seconds["ingest"] + first.seconds["flush"]
        assert run.time.spared - spared == pytest.approx(took, rel=0.2)
        _, third = unit(READING, run, tmp_path / "3", messages)
        assert len(read) == 1
        unit({**CONTROLLER, "graph": False}, run, tmp_path / "4", messages)
        unit({**CONTROLLER, "config": {"chunker": {"max_tokens": 64}}}, run, tmp_path / "5", messages)
        assert len(set(map(id, read))) == 3
    for number, (section, shared_replies) in enumerate(((ASKING, other), (READING, third))):
        assert unit(section, shared(), tmp_path / f"alone-{number}", messages)[1] == shared_replies


def test_structures_share_by_what_is_extracted_and_cam_by_what_is_built(read: list[Remembered], tmp_path: Path) -> None:
    run = shared()
    structures = [
        {"kind": "structures", "structure": structure, "strategy": strategy}
        for structure in ("chunk", "triple", "atomic_fact", "mixed")
        for strategy in ("single-step", "iterative")
    ]
    variants: list[dict[str, Any]] = [{}, {"retrieval": "global"}, {"flexible": False}]
    cam = [{"kind": "cam", **variant} for variant in variants]
    messages = conversation()
    with run.at_hand.sample():
        for number, section in enumerate([*structures, *cam]):
            unit(section, run, tmp_path / str(number), messages)
    assert len(set(map(id, read))) == 3 + 2


def test_a_sample_ends_with_its_memories(read: list[Remembered], tmp_path: Path) -> None:
    run = shared()
    for name in ("1", "2"):
        with run.at_hand.sample():
            unit(CONTROLLER, run, tmp_path / name, conversation())
    for name in ("3", "4"):  # nothing is kept outside of a sample
        unit(CONTROLLER, run, tmp_path / name, conversation())
    assert len(set(map(id, read))) == 4
    for memory in read:
        with pytest.raises(StoreClosedError):
            memory.memory.stats()


def test_how_a_system_asks_leaves_nothing_to_the_next(read: list[Remembered], tmp_path: Path) -> None:
    """Each pays for its own index of the store, is told of the store as it was read, and makes its own summary."""
    messages, run, sizes, held = conversation(SAID * 4), shared(), [], []
    sections: list[dict[str, Any]] = [ASKING, {**ASKING, "config": {"retrieval": {"strategy": "links"}}}, READING]
    with run.at_hand.sample():
        for number, section in enumerate(sections):
            (tmp_path / str(number)).mkdir()
            with make_system({"name": "", **section}, run).open(tmp_path / str(number)) as session:
                session.read(messages)
                assert isinstance(session, NscmaSession)
                held.append(len(session.own.memory.components.searcher.indexes.users()))
                session.ask(QUESTIONS[0], options=(), now=ASKED)
                sizes.append(session.store_bytes())
        assert len(set(map(id, read))) == 1 and len(set(sizes)) == 1
        assert held[1:] == [0, 0]
        unit({**CONTROLLER, "working_memory": True}, run, tmp_path / "own", messages)
        assert len(set(map(id, read))) == 2


def test_a_memory_that_failed_is_not_shared(
    read: list[Remembered], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise JobError("background work failed: poison")

    run, messages = shared(), conversation()
    with run.at_hand.sample():
        with monkeypatch.context() as patch, pytest.raises(JobError):
            patch.setattr(Remembered, "_flush", broken)
            unit(CONTROLLER, run, tmp_path / "1", messages)
        with pytest.raises(ZeroDivisionError), make_system({"name": "", **CONTROLLER}, run).open(tmp_path) as session:
            session.read(messages)
            raise ZeroDivisionError
        unit(CONTROLLER, run, tmp_path / "2", messages)
        unit(ASKING, run, tmp_path / "3", messages)
    assert len(set(map(id, read))) == 3
