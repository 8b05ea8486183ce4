"""Unrelated text among the messages of a sample: all its own are there, and its evidence is where it is said to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.tasks.background import Background
from eval.tasks.catalogue import make_task
from eval.tasks.corpus import Span
from eval.tasks.retrieval_sets import Asked, DataSet, World, with_noise
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message
from tests.eval.tasks.test_locomo_task import data as data

BOOK = " ".join(f"The old road number {i} went on and on through the quiet woods of the north." for i in range(60))


@pytest.fixture
def books(tmp_path: Path) -> Background:
    (tmp_path / "novels").mkdir()
    (tmp_path / "novels" / "b.txt").write_text(BOOK, encoding="utf-8")
    return Background(tmp_path / "novels")


@pytest.mark.usefixtures("books")
def test_a_task_keeps_its_own_messages_and_its_evidence(data: Path) -> None:
    plain, noisy = (make_task({"kind": "locomo", **more}, data) for more in ({}, {"noise": 0.5}))
    for id in plain.ids():
        before, after = plain.sample(id), noisy.sample(id)
        assert len(before.messages) == 32 and len(after.messages) == 48
        assert [message for message in after.messages if message in before.messages] == before.messages
        added = [message for message in after.messages if message not in before.messages]
        assert all(message.content and message.content in BOOK and message.name is None for message in added)
        times = [message.timestamp for message in after.messages if message.timestamp]
        assert times == sorted(times)
        for own, moved in zip(before.questions, after.questions, strict=True):
            told = [[sample.messages[i] for i in asked.evidence] for sample, asked in ((before, own), (after, moved))]
            assert told[0] == told[1] and own.answers == moved.answers
    assert noisy.sample("conv-1") == noisy.sample("conv-1")
    other = make_task({"kind": "locomo", "noise": 0.5, "noise_seed": 2}, data)
    samples = [noisy.sample("conv-1"), noisy.sample("conv-2"), other.sample("conv-1")]
    mixed = [[message.content for message in sample.messages] for sample in samples]
    assert mixed[0] != mixed[1] and mixed[0] != mixed[2], "by seed and by sample"


@pytest.mark.parametrize("kind", ["locomo", "beam", "multihop", "odsum", "qmsum"])
def test_all_retrieval_sets_have_it_and_others_refuse_it(data: Path, kind: str) -> None:
    with pytest.raises(ConfigError, match="noise"):
        make_task({"kind": kind, "noise": -1.0}, data)
    with pytest.raises(ConfigError, match="unknown key 'noise'"):
        make_task({"kind": "quality", "noise": 1.0}, data)


def test_a_set_of_the_retrieval_table_has_its_evidence_moved(books: Background) -> None:
    texts = [f"Document {i} tells of the mill on the river." for i in range(10)]
    messages = [Message("document", text, source=f"d{i}") for i, text in enumerate(texts)]
    asked = Asked("Which?", (Span(7, 9, 10), Span(2, 0, 8)), "odd")
    world = World("all", messages, [asked], None)  # type: ignore[arg-type]
    (mixed,) = with_noise(DataSet("set", [world], True, 10, []), 1.0, books).worlds
    assert len(mixed.messages) == 20 and len({message.source for message in mixed.messages}) == 20
    spans = mixed.questions[0].evidence
    assert [mixed.messages[span.document].content[span.start : span.end] for span in spans] == ["7", "Document"]
