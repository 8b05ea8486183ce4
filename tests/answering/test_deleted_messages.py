"""A question about what was deleted has no answer, though a search finds something like it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nscma_torch.answering.from_messages import read_first
from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Answer
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS
from tests.helpers.word_reader import WordReader, put_in_place

NOW = datetime(2026, 4, 1, 10, tzinfo=UTC)
QUESTION = "What do I type in at the back door?"
DOOR, MAILBOX = "The back door opens with 4471.", "The mailbox opens with 208."


class DoorReader(WordReader):
    """Answers with 4471 where it stands, else with 208."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.evidence = {"4471": 0.9, "208": 0.1}

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        self.questions += questions
        (own,) = passages
        word = next((word for word in ("4471", "208") if any(word in p.text for p in own)), "")
        spans = [
            ReadSpan(word, i, p.text.index(word), p.text.index(word) + len(word), True, 0.9)
            for i, p in enumerate(own)
            if word and word in p.text
        ]
        evidence = tuple(next((p for word, p in self.evidence.items() if word in one.text), 0.0) for one in own)
        return [ReadResult(tuple(spans), 0.9, evidence, tuple(float(kind == "span") for kind in KINDS))]


@pytest.fixture
def reader() -> DoorReader:
    return DoorReader("4471")


@pytest.fixture
def memory(open_memory: Callable[..., Memory], reader: DoorReader, monkeypatch: pytest.MonkeyPatch) -> Memory:
    config = {
        "reading": put_in_place(reader, monkeypatch, 0.1),
        "standing": {"neighbours": 0, "forget_requests": False},
        "facts": {"answer": False},
    }
    return open_memory(config=config)


def tell(memory: Memory, *texts: str) -> list[str]:
    return [memory.add(text, user_id="ada", timestamp=NOW, now=NOW, infer=False)[0].id for text in texts]


def ask(memory: Memory) -> Answer:
    return memory.ask(QUESTION, user_id="ada", now=NOW)


def test_a_neighbour_does_not_answer_for_a_deleted_message_until_it_is_restored(memory: Memory) -> None:
    door, _ = tell(memory, DOOR, MAILBOX)
    assert ask(memory).short == "4471"
    memory.delete(door, user_id="ada", now=NOW)
    answer = ask(memory)
    assert answer.abstained and "4471" not in answer.text
    assert "what was told of this is deleted" in answer.trace
    memory.restore(door, user_id="ada", now=NOW)
    assert ask(memory).short == "4471"


def test_what_another_message_says_is_still_answered(memory: Memory) -> None:
    door, *_ = tell(memory, DOOR, MAILBOX, "I wrote 4471 above the back door.")
    memory.delete(door, user_id="ada", now=NOW)
    assert ask(memory).short == "4471"


def test_a_deleted_message_that_is_no_evidence_changes_nothing(memory: Memory, reader: DoorReader) -> None:
    door, _ = tell(memory, DOOR, MAILBOX)
    memory.delete(door, user_id="ada", now=NOW)
    reader.evidence["4471"] = 0.2
    assert ask(memory).short == "208"


def test_good_evidence_answers_whatever_was_deleted(memory: Memory, reader: DoorReader) -> None:
    door, _ = tell(memory, DOOR, "Now the back door opens with 208.")
    memory.delete(door, user_id="ada", now=NOW)
    reader.evidence["208"] = 0.8
    assert ask(memory).short == "208"


def test_a_question_longer_than_the_embedder_reads_is_answered(
    tmp_path: Path, reader: DoorReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = put_in_place(reader, monkeypatch, 0.1)
    standing = {"neighbours": 0, "forget_requests": False}
    with Memory(tmp_path / "store.db", config={"reading": reading, "standing": standing}) as memory:
        door, _ = tell(memory, DOOR, MAILBOX)
        memory.delete(door, user_id="ada", now=NOW)
        assert memory.ask(f"{'It is late. ' * 150}{QUESTION}", user_id="ada", now=NOW).abstained


def test_deleted_messages_of_another_user_do_not_count(memory: Memory) -> None:
    tell(memory, MAILBOX)
    (other,) = memory.add(DOOR, user_id="bo", timestamp=NOW, now=NOW, infer=False)
    memory.delete(other.id, user_id="bo", now=NOW)
    assert ask(memory).short == "208"


def test_a_language_model_is_not_asked_about_what_was_deleted(memory: Memory) -> None:
    door, _ = tell(memory, DOOR, MAILBOX)
    memory.delete(door, user_id="ada", now=NOW)
    hits = memory.search(QUESTION, user_id="ada", now=NOW)
    sure, _ = read_first(memory.components, QUESTION, hits, 1.0, top_k=3, user_id="ada", now=NOW)
    assert sure is not None and sure.abstained
