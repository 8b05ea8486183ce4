"""NSCMA as a system: what it answers, what its ablations lack, and that a question leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Reply
from eval.systems.catalogue import make_system
from eval.systems.memories import USER, Remembered, remembered, setup_of
from eval.systems.nscma import NscmaOptions, NscmaSession
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message
from tests.eval.systems.rig import ASKED, SAID, conversation, places, reading, shared

HOME = "Where do I live?"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remembered]:
    run = shared()
    with remembered(setup_of(NscmaOptions(), run, {}), run, tmp_path_factory.mktemp("memory")) as own:
        own.read(conversation())
        yield own


def ask(memory: Remembered, question: str, *options: str, **own: Any) -> Reply:
    session = NscmaSession(memory, NscmaOptions(**own), shared(), LlmConfig())
    return session.ask(question, options=options, now=ASKED)


@pytest.mark.parametrize("answering", ["controller", "ask"])
def test_facts_answer_with_what_holds_now(memory: Remembered, answering: str) -> None:
    reply = ask(memory, HOME, answering=answering)
    assert "Porto" in reply.text and "Lisbon" not in reply.text
    assert places(reply)[0] == 4 and not reply.abstained
    assert reply.cost.seconds["ask"] > 0 and reply.cost.llm_calls == 0


def test_without_curator_the_old_fact_stands_beside_the_new_one(tmp_path: Path) -> None:
    full, without = (facts(tmp_path / name, curator=name == "full") for name in ("full", "without"))
    homes = {"Lisbon", "Porto"}
    assert {(fact.object, fact.status) for fact in full if fact.object in homes} == {
        (home, "archived") for home in homes
    }
    assert {fact.object for fact in without if fact.object in homes and fact.status == "active"} == homes
    assert all(fact.valid_to is None and fact.status == "active" for fact in without)


def test_without_graph_there_are_no_facts_and_passages_answer(tmp_path: Path) -> None:
    with reading({"kind": "nscma", "graph": False}, shared(), tmp_path, conversation()) as session:
        reply = session.ask("What is my dog called?", options=(), now=ASKED)
        assert isinstance(session, NscmaSession) and not session.own.memory.facts(user_id=USER, archived=True)
    assert "Biscuit" in reply.text and places(reply)[0] == 1


def test_the_one_who_asks_is_the_user(tmp_path: Path) -> None:
    with reading({"kind": "nscma", "user": "Rita"}, shared(), tmp_path, conversation()) as session:
        reply = session.ask(HOME, options=(), now=ASKED)
        assert isinstance(session, NscmaSession)
        assert len(session.own.memory.get_all(user_id="Rita", limit=None)) == len(SAID)
    assert places(reply)[0] == 4


def facts(folder: Path, **options: Any) -> list[Any]:
    folder.mkdir()
    run = shared()
    with remembered(setup_of(NscmaOptions(**options), run, {}), run, folder) as own:
        own.read(conversation((*SAID, "I no longer live in Porto.")))
        return own.memory.facts(user_id=USER, archived=True, now=ASKED)


@pytest.mark.parametrize("answering", ["controller", "ask", "reader"])
def test_no_question_changes_a_later_answer(memory: Remembered, answering: str) -> None:
    session = NscmaSession(memory, NscmaOptions.model_validate({"answering": answering}), shared(), LlmConfig())
    asked = [HOME, "What is my dog called?", "Summarize what I said about the kiln.", HOME]
    size, digest = session.store_bytes(), memory.memory.digest()
    first, again = (
        [session.ask(question, options=(), now=ASKED) for question in order] for order in (asked, asked[::-1])
    )
    said = [(reply.text, reply.evidence, reply.confidence) for reply in first]
    assert said == [(reply.text, reply.evidence, reply.confidence) for reply in again[::-1]] and said[0] == said[3]
    assert (session.store_bytes(), memory.memory.digest()) == (size, digest)


def test_what_is_not_worded_as_a_question_is_looked_up(memory: Remembered) -> None:
    reply = ask(memory, "Tell me my dog's name.", working_memory=True)
    assert "Biscuit" in reply.text and places(reply)[0] == 1


def test_options_are_chosen_by_the_reader_from_what_was_found(memory: Remembered) -> None:
    reply = ask(memory, "What is my dog called?", "Rex", "Biscuit", top_k=2)
    assert reply.text == "Biscuit" and places(reply)[0] == 1 and len(places(reply)) > 2
    assert reply.cost.llm_calls == 1 and set(reply.cost.seconds) == {"retrieve", "read"}


def test_evidence_goes_on_with_what_a_search_finds(memory: Remembered) -> None:
    assert len(places(ask(memory, HOME, retrieved=0))) < len(places(ask(memory, HOME)))


def test_documents_are_cut_and_keep_their_place(tmp_path: Path) -> None:
    hay = "It rained on the moor all day, and nobody came to the house. " * 40
    text = f"{hay}\n\nThe golden key lies in the pantry.\n\n{hay}"
    messages = [Message("document", "Nothing of interest.", source="a"), Message("document", text, source="b")]
    run = shared()
    with remembered(setup_of(NscmaOptions(section_chars=500), run, {}), run, tmp_path) as own:
        own.read(messages)
        episodes = own.memory.get_all(user_id=USER, limit=None)
        assert len(episodes) > 5 and max(len(episode.text) for episode in episodes) <= 500
        hits = own.memory.search("Where is the golden key?", user_id=USER, top_k=1)
        (passage,) = own.passages(hits)
        assert own.places(hits) == (1,) and passage.message is messages[1]
        assert abs(passage.start - text.index(passage.text)) < 20  # blanks between parts


def test_online_and_offline_hierarchies_hold_the_same_chunks(tmp_path: Path) -> None:
    said = [f"{word} {number}: {SAID[number % 6]}" for number, word in enumerate(["Monday", "Friday"] * 9)]
    leaves = []
    for name, options in (("online", {"flush_every": 6}), ("offline", {"rebuild": True})):
        run, folder = shared(), tmp_path / name
        folder.mkdir()
        with remembered(setup_of(NscmaOptions(**options), run, {}), run, folder) as own:
            own.read(conversation(said))
            nodes = own.memory.tree(user_id=USER)
        assert any(node.level > 0 and node.text and not node.stale for node in nodes)
        leaves.append({node.text for node in nodes if node.level == 0})
    assert leaves[0] == leaves[1] and len(leaves[0]) == len(said)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"kind": "nscmaa"}, "did you mean 'nscma'"),
        ({}, "Kinds: nscma"),
        ({"kind": "nscma", "grap": False}, "did you mean 'graph'"),
        ({"kind": "nscma", "config": {"gate": {"rul": "paper"}}}, "did you mean 'gate.rule'"),
        ({"kind": "nscma", "rebuild": True, "config": {"hierarchy": {"enabled": False}}}, "leave one of them out"),
        ({"kind": "nscma", "config": {"llm": {"engine": "http"}}}, "no engine"),
        ({"kind": "sliding-window", "tokens": 0}, "tokens"),
        ({"kind": "rag"}, "needs python"),
    ],
)
def test_bad_sections_are_one_clear_error(section: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_system(section, shared())
