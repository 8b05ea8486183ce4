"""Baselines: each hands the reader what its name says, with what it cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Cost, Passage, Reply, Shared
from eval.systems.documents import parts
from nscma_torch.core.records import Message
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, SAID, ShowingReader, conversation, reading, shared


def asked(folder: Path, question: str, messages: Sequence[Message], **section: Any) -> tuple[Reply, list[Passage]]:
    run = shared()
    with reading(section, run, folder, messages) as session:
        reply = session.ask(question, options=(), now=ASKED)
        assert session.ask(question, options=(), now=ASKED).text == reply.text
        assert session.store_bytes() > 0
    return reply, handed(run)[0]


def handed(run: Shared) -> list[list[Passage]]:
    assert isinstance(run.reader, ShowingReader)
    return run.reader.handed


def test_full_context_is_everything_in_order(tmp_path: Path) -> None:
    reply, passages = asked(tmp_path, "Where do I live?", conversation(), kind="full-context")
    assert [passage.text for passage in passages] == list(SAID) and reply.evidence is None


def test_a_window_keeps_the_newest_tokens(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    empty, *tokens = embedder.count_tokens(["", *SAID])
    room = sum(count - empty for count in tokens[-2:])
    for spare, kept in ((0, 2), (-1, 1)):
        folder = tmp_path / str(kept)
        _, passages = asked(folder, "Where?", conversation(), kind="sliding-window", tokens=room + spare)
        assert [passage.place for passage in passages] == [4, 5][-kept:]


@pytest.mark.parametrize("kind", ["bm25", "dense", "rrf"])
def test_searches_hand_over_the_best(tmp_path: Path, kind: str) -> None:
    reply, passages = asked(tmp_path, "How many degrees is the kiln set to?", conversation(), kind=kind, top_k=2)
    assert reply.evidence is not None and {passage.place for passage in passages} == set(reply.evidence[:2]) == {2, 5}
    assert reply.cost.llm_calls == 1 and set(reply.cost.seconds) == {"retrieve", "read"}


def test_bm25_finds_nothing_without_a_common_word(tmp_path: Path) -> None:
    reply, passages = asked(tmp_path, "Zeppelins?", conversation(), kind="bm25")
    assert not passages and reply.abstained and reply.evidence == ()


def test_names_are_searched(tmp_path: Path) -> None:
    messages = [Message("user", "I bake bread.", name="Ann"), Message("user", "I bake cakes.", name="Bob")]
    _, passages = asked(tmp_path, "Bob?", messages, kind="bm25", top_k=1)
    assert [passage.text for passage in passages] == ["I bake cakes."]


@pytest.mark.parametrize("kind", ["sliding-window", "full-context", "bm25", "dense"])
def test_nothing_read_is_nothing_found(tmp_path: Path, kind: str) -> None:
    with reading({"kind": kind}, shared(), tmp_path, []) as session:
        assert session.ask("Where?", options=(), now=ASKED).abstained


def test_a_long_message_is_several_passages_of_one_place(tmp_path: Path) -> None:
    text = " ".join(f"Sentence number {number} tells of the harbour." for number in range(200))
    _, passages = asked(tmp_path, "Where?", [Message("document", text)], kind="full-context")
    assert len(passages) > 3 and {passage.place for passage in passages} == {0}
    assert "".join("".join(p.text for p in passages).split()) == "".join(text.split())
    assert [passage.start for passage in passages] == sorted({passage.start for passage in passages})


def test_a_ranking_goes_beyond_what_is_read(tmp_path: Path) -> None:
    messages = conversation([f"The kiln was set to {degrees} degrees." for degrees in range(60)])
    for kind in ("bm25", "dense", "rrf", "memory-bank"):
        more = {"strength": 1e9} if kind == "memory-bank" else {}
        reply, passages = asked(tmp_path / kind, "How hot was the kiln?", messages, kind=kind, top_k=3, **more)
        assert len(passages) == 3 and reply.evidence is not None and len(reply.evidence) == 50
        assert [passage.place for passage in passages] == list(reply.evidence[:3])


@pytest.mark.parametrize(
    ("kind", "keep"), [("full-context", "latest"), ("sliding-window", "latest"), ("bm25", "first"), ("nscma", "first")]
)
def test_what_is_said_last_stays_where_nothing_is_ranked(tmp_path: Path, kind: str, keep: str) -> None:
    run = shared()
    section = {"kind": kind, **({"answering": "reader"} if kind == "nscma" else {})}
    with reading(section, run, tmp_path, conversation()) as session:
        session.ask("Where do I live?", options=(), now=ASKED)
        assert isinstance(run.reader, ShowingReader) and run.reader.kept == [keep]


def test_parts_lose_nothing_and_cut_at_sentences() -> None:
    text = " ".join(f"This is sentence {number} of a paragraph without an end." for number in range(100))
    cut = parts(Message("document", f"Heading.\n\n{text}"), 400)
    assert max(map(len, cut)) <= 400 and all(part.endswith(".") for part in cut)
    assert "".join("".join(cut).split()) == "".join(f"Heading.{text}".split())
    assert parts(Message("user", text), 400) == [text] and parts(Message("document", text), 0) == [text]


def test_reading_counts_its_seconds(tmp_path: Path) -> None:
    from eval.systems.catalogue import make_system

    with make_system({"kind": "dense"}, shared()).open(tmp_path) as session:
        cost = session.read(conversation())
    assert isinstance(cost, Cost) and cost.seconds["ingest"] > 0 and cost.llm_calls == 0


@pytest.mark.skipif("CHROMA_PYTHON" not in os.environ, reason="needs CHROMA_PYTHON, an interpreter with chromadb")
def test_rag_finds_what_its_plain_twin_finds(tmp_path: Path) -> None:
    question = "How many degrees is the kiln set to?"
    python = os.environ["CHROMA_PYTHON"]
    run = shared()
    ranked = []
    for name in ("one", "two"):  # a process serves one sample after the other
        with reading({"kind": "rag", "python": python, "top_k": 3}, run, tmp_path / name, conversation()) as session:
            ranked.append(session.ask(question, options=(), now=ASKED).evidence)
            assert session.store_bytes() > 1000
    dense, _ = asked(tmp_path / "dense", question, conversation(), kind="dense", top_k=3)
    assert ranked == [dense.evidence, dense.evidence]


def test_rag_says_that_it_has_no_chromadb_before_anything_runs(tmp_path: Path) -> None:
    from eval.systems.catalogue import make_system
    from nscma_torch.core.errors import ConfigError

    for python, said in (("/bin/true", "ended with code"), (str(tmp_path / "python"), "cannot be run")):
        with pytest.raises(ConfigError, match=said):
            make_system({"kind": "rag", "python": python}, shared())


def test_a_message_that_says_nothing_is_left_out_and_keeps_its_place(tmp_path: Path) -> None:
    messages = [
        replace(message, content=" " if i == 1 else message.content) for i, message in enumerate(conversation())
    ]
    for kind in ("nscma", "bm25", "full-context"):
        section = {"kind": kind, **({"answering": "reader"} if kind == "nscma" else {})}
        with reading(section, shared(), tmp_path / kind, messages) as session:
            reply = session.ask("How many degrees is the kiln set to?", options=(), now=ASKED)
            assert "900" in reply.text and (reply.evidence is None or 1 not in reply.evidence)
