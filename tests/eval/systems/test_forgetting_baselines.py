"""The window of turns, the rolling summary, Markdown files, MemoryBank's curve and what it writes of days."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import torch

from eval.systems.catalogue import make_system
from eval.systems.documents import default_chunker, passages_of
from eval.systems.language import Language
from eval.systems.memory_bank import MemoryBank, MemoryBankOptions, retention
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import Request
from nscma_torch.reading.passage import word_count
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, SAID, Clerk, Scripted, ShowingReader, conversation, reading, shared


def test_the_summary_is_all_that_is_left(tmp_path: Path) -> None:
    run = shared()
    with reading({"kind": "rolling-summary", "words": 20}, run, tmp_path, conversation()) as session:
        reply = session.ask("Where do I live?", options=(), now=ASKED)
    assert isinstance(run.reader, ShowingReader)
    ((passage,),) = run.reader.handed
    assert 0 < word_count(passage.text) <= 20 and reply.evidence is None
    assert all(line.removeprefix("Rita: ") in SAID for line in passage.text.split("\n"))
    assert session.store_bytes() == len(passage.text.encode())


def test_the_last_turns_are_all_that_is_left(tmp_path: Path) -> None:
    run = shared()
    long = "The kiln was hot on that day, and the glaze ran down. " * 60  # several passages
    with reading({"kind": "last-turns", "turns": 2}, run, tmp_path, conversation([*SAID, long])) as session:
        reply = session.ask("Where do I live?", options=(), now=ASKED)
    assert isinstance(run.reader, ShowingReader) and reply.evidence is None
    (read,) = run.reader.handed
    assert [passage.place for passage in read[:2]] == [5, 6] and len(read) > 2
    assert session.store_bytes() == sum(len(passage.text.encode()) for passage in read)


def test_markdown_files_are_searched_for_the_rarest_word_first(tmp_path: Path) -> None:
    run = shared()
    with reading({"kind": "markdown-files", "lines": 3, "around": 0}, run, tmp_path, conversation()) as session:
        reply = session.ask("Is the dog near the kiln?", options=(), now=ASKED)
        near = session.ask("Which dog?", options=(), now=ASKED)
        none = session.ask("Quoi?", options=(), now=ASKED)
    assert reply.text == " | ".join(SAID[number] for number in (1, 5, 2)) and reply.evidence == (1, 5, 2)
    assert near.text == SAID[1] and none.abstained
    with reading({"kind": "markdown-files", "around": 1}, run, tmp_path / "other", conversation()) as session:
        assert session.ask("Which dog?", options=(), now=ASKED).text == " | ".join(SAID[place] for place in (1, 0, 2))


def test_an_engine_writes_the_summary_exchange_by_exchange(tmp_path: Path) -> None:
    clerk = Clerk()
    run = shared(engine=clerk)
    with make_system({"kind": "rolling-summary", "lines": 2}, run).open(tmp_path) as session:
        cost = session.read(conversation())
        reply = session.ask("Which?", options=(), now=ASKED)
    assert reply.text == f"Rita: {SAID[-1]}" and clerk.asked == ["", "", ""]
    assert (cost.llm_calls, cost.tokens_in, cost.tokens_out) == (3, 30, 6)


def test_the_curve_is_the_papers_and_the_reference_inverts_it() -> None:
    assert retention(3, 2.0, "paper") == math.exp(-1.5)
    assert retention(3, 5.0, "paper") > retention(3, 1.0, "paper")
    assert retention(3, 5.0, "reference") < retention(3, 1.0, "reference")
    assert retention(0, 1.0, "paper") == retention(0, 1.0, "reference") == 1.0


def found(messages: Sequence[Message], folder: Path, days: int, strength: float) -> set[int]:
    section = {"kind": "memory-bank", "top_k": len(messages), "strength": strength}
    with reading(section, shared(), folder, messages) as session:
        now = BEGUN + timedelta(days=days)
        first = session.ask("What?", options=(), now=now).evidence
        assert session.ask("What?", options=(), now=now).evidence == first
    return set(first or ())


def test_what_is_old_is_forgotten_as_the_curve_says(tmp_path: Path) -> None:
    messages = [Message("assistant", f"Fact number {i}.", BEGUN) for i in range(400)]
    kept = []
    for days in (0, 5, 20):
        torch.manual_seed(3)
        kept.append(found(messages, tmp_path / str(days), days, 10.0))
    assert kept[0] == set(range(400)) and kept[2] < kept[1] < kept[0]
    for own, days in zip(kept[1:], (5, 20), strict=True):
        assert abs(len(own) / 400 - math.exp(-days / 10)) < 0.07


def test_a_recalled_memory_is_stronger_and_young_again() -> None:
    first = [Message("user", "My dog Biscuit eats fish.", BEGUN), Message("assistant", "The sky is green.", BEGUN)]
    again = Message("user", "Biscuit my dog eats no fish.", BEGUN + timedelta(days=1))
    bank = MemoryBank(HashEmbedder(), MemoryBankOptions(top_k=1, strength=1e9))
    bank.keep(passages_of([*first, again], default_chunker(HashEmbedder())))
    assert bank.strength == [1e9 + 1, 1e9, 1e9]
    assert bank.recalled == [(BEGUN + timedelta(days=1)).date(), BEGUN.date(), (BEGUN + timedelta(days=1)).date()]


def test_what_has_no_time_never_ages(tmp_path: Path) -> None:
    messages = [replace(message, timestamp=None) for message in conversation()]
    assert found(messages, tmp_path, 1000, 1.0) == set(range(6))


def test_a_question_recalls_what_it_finds_where_the_paper_is_run_to_the_letter() -> None:
    said = [Message("assistant", "My dog Biscuit eats fish.", BEGUN), Message("assistant", "The sky is green.", BEGUN)]
    asked = BEGUN + timedelta(days=2)
    for questions_recall, strengths in ((False, [1e9, 1e9]), (True, [1e9 + 1, 1e9])):
        options = MemoryBankOptions(top_k=1, strength=1e9, questions_recall=questions_recall)
        bank = MemoryBank(HashEmbedder(), options)
        bank.keep(passages_of(said, default_chunker(HashEmbedder())))
        bank.find("What does my dog Biscuit eat?", asked)
        assert bank.strength == strengths
        assert bank.recalled[0] == (asked.date() if questions_recall else BEGUN.date())


DAYS = (
    ("Rita", 0, "I love porcelain with a blue glaze."),
    ("Ben", 0, "I hate the cold weather of this town."),
    ("Rita", 1, "I enjoy my porcelain cups at breakfast."),
    ("Rita", 2, "I like my neighbour, who paints."),
)
CHAT = [Message("user", text, BEGUN + timedelta(days=day), name=name) for name, day, text in DAYS]


def test_summaries_of_days_are_memories_and_those_of_all_days_are_always_read(tmp_path: Path) -> None:
    run = shared()
    section = {"kind": "memory-bank", "strength": 1e9, "top_k": 1, "summaries": True, "portrait": True}
    with reading(section, run, tmp_path, CHAT) as session:
        first, second = (session.ask("Who hates the weather?", options=(), now=ASKED).evidence for _ in range(2))
        bank = session._finder  # type: ignore[attr-defined]
    assert isinstance(bank, MemoryBank) and isinstance(run.reader, ShowingReader) and first == second
    events = [node for node in bank.nodes if node.written]
    assert [node.leaves for node in events] == [(0, 1), (2,), (3,)] and "Ben: I hate the cold" in events[0].text
    history, rita = bank.always
    assert "1 March 2024, Rita: I love porcelain" in history.text and history.leaves == (0, 1, 2, 3)
    assert "porcelain" in rita.text and "weather" not in rita.text, "of Ben one day shows something, and it lasts not"
    assert [passage.text for passage in run.reader.handed[0]][:2] == [history.text, rita.text]
    assert len(run.reader.handed[0]) == 3 and first is not None and first[0] == 1


def test_a_message_recalls_summaries_of_earlier_days() -> None:
    options = MemoryBankOptions(top_k=9, strength=1e9, summaries=True)
    bank = MemoryBank(HashEmbedder(), options, Language(shared(), None))
    bank.keep(passages_of(CHAT, default_chunker(HashEmbedder())))
    assert [strength - 1e9 for strength in bank.strength] == [2, 2, 1, 0, 2, 1, 0]


def test_an_engine_writes_of_the_days(tmp_path: Path) -> None:
    def write(request: Request) -> str:
        by = "Ben" if "Ben" in request.turns[-1].content else "Rita"
        return json.dumps({"lines": [{"text": f"{by} spoke.", "evidence": [1], "confidence": "high"}]})

    engine = Scripted(write)
    section = {"kind": "memory-bank", "strength": 1e9, "summaries": True, "portrait": True}
    with reading(section, shared(engine=engine), tmp_path, CHAT) as session:
        bank = session._finder  # type: ignore[attr-defined]
    assert [node.text for node in bank.nodes if node.written] == ["Ben spoke.", "Rita spoke.", "Rita spoke."]
    assert [node.text for node in bank.always] == ["Ben spoke.", "Rita spoke.", "Ben spoke."]
    assert len(engine.asked) == 3 + 1 + 4 + 2, "days, all days, persons on days, persons"
