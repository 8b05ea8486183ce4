"""Structural memory and CAM as systems: what the reader is handed, and that the papers' letters do something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Passage, Reply
from eval.systems.catalogue import make_system
from eval.systems.memories import MemoryOptions, MemorySystem, Remembered, remembered, setup_of
from eval.systems.structural_memory import KINDS, StructureOptions, StructureSession
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Hit
from tests.eval.systems.rig import ASKED, SAID, ShowingReader, conversation, reading, shared

QUESTION = "How many degrees is the kiln set to?"
LONGER = conversation([f"{text} That was on day {day}." for day, text in enumerate(SAID * 3)])


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remembered]:
    """One with all structures."""
    run = shared()
    made = {"facts": {"units": ["triple", "atomic_fact"]}}
    with remembered(setup_of(MemoryOptions(), run, made), run, tmp_path_factory.mktemp("memory")) as own:
        own.read(LONGER)
        yield own


def read(memory: Remembered, question: str = QUESTION, **options: Any) -> tuple[Reply, list[Passage]]:
    run = shared()
    session = StructureSession(memory, StructureOptions(**options), run)
    reply = session.ask(question, options=(), now=ASKED)
    assert isinstance(run.reader, ShowingReader)
    return reply, run.reader.handed[0]


@pytest.mark.parametrize("structure", KINDS)
def test_every_structure_is_read_as_it_is(memory: Remembered, structure: str) -> None:
    reply, passages = read(memory, structure=structure, k=4)
    assert 0 < len(passages) <= 4 and reply.evidence
    said = [passage.text in passage.message.content for passage in passages]
    assert all(said) == (structure in ("chunk", "summary", "mixed"))
    assert all(passage.message.name is None for passage in passages) == (structure == "summary")


def test_a_structure_that_is_not_made_is_refused() -> None:
    section = {"kind": "structures", "name": "x", "structure": "mixed", "config": {"facts": {"units": ["triple"]}}}
    with pytest.raises(ConfigError, match=r"structure 'mixed' needs 'atomic_fact': add it to facts\.units"):
        make_system(section, shared())


def test_only_what_a_structure_needs_is_made(tmp_path: Path) -> None:
    for structure, facts, summaries in (("chunk", False, False), ("summary", False, True), ("triple", True, False)):
        system = make_system({"kind": "structures", "structure": structure}, shared())
        assert isinstance(system, MemorySystem)
        assert (system.setup.options.graph, system.setup.config.hierarchy.enabled) == (facts, summaries)
    with reading({"kind": "structures", "structure": "triple"}, shared(), tmp_path, conversation()) as session:
        assert session.ask("Where do I live?", options=(), now=ASKED).evidence and session.store_bytes() > 0


def test_memory_doc_hands_over_the_messages_behind(memory: Remembered) -> None:
    _, passages = read(memory, structure="summary", answering="memory-doc", k=3)
    assert passages and all(passage.text == passage.message.content for passage in passages)


@pytest.mark.parametrize(
    ("options", "most"),
    [({"k": 3}, 3), ({"strategy": "rerank", "k": 8, "r": 2}, 2), ({"strategy": "iterative", "k": 4}, 4)],
)
def test_strategies_keep_as_many_as_they_say(memory: Remembered, options: dict[str, Any], most: int) -> None:
    _, passages = read(memory, **options)
    assert len(passages) == most and "kiln" in passages[0].text


@pytest.mark.parametrize(("n", "t", "shown"), [(1, 4, []), (2, 3, [3]), (3, 2, [2, 2])])
def test_rounds_and_what_their_questions_are_made_of(
    memory: Remembered, monkeypatch: pytest.MonkeyPatch, n: int, t: int, shown: list[int]
) -> None:
    seen: list[int] = []

    def refine(question: str, hits: Sequence[Hit]) -> str:
        seen.append(len(hits))
        return f"{question} On day {len(seen)}?"

    monkeypatch.setattr(memory.memory.components.tasks, "refine", refine)
    reply, _ = read(memory, strategy="iterative", n=n, t=t)
    assert seen == shown and (n > 1 or reply.evidence == read(memory)[0].evidence)


def cam(folder: Path, **section: Any) -> list[Passage]:
    run = shared()
    with reading({"kind": "cam", **section}, run, folder, LONGER) as session:
        assert session.ask(QUESTION, options=(), now=ASKED).evidence
    assert isinstance(run.reader, ShowingReader)
    return run.reader.handed[0]


@pytest.mark.parametrize(
    "section",
    [
        {"retrieval": "traversal", "batch": 10},
        {"retrieval": "global", "development": "offline"},
        {"retrieval": "prune-and-grow", "hierarchical": False, "flexible": False},
    ],
)
def test_cam_is_read_in_every_variant(tmp_path: Path, section: dict[str, Any]) -> None:
    passages = cam(tmp_path, top_k=5, **section)
    assert 0 < len(passages) <= 5 and "kiln" in " ".join(passage.text for passage in passages)
