"""MemGPT: memory pressure at 70 %, a flush at 100 %, functions that chain, and pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from eval.systems.documents import default_chunker, passages_of
from eval.systems.language import Language
from eval.systems.memgpt import MemGPT, MemGPTOptions
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, ShowingReader, conversation, places, reading, shared

Shown = dict[str, Any]


def processor(reads: Callable[[Shown], Shown], asks: Callable[[Shown], Shown]) -> Scripted:
    """An engine that calls what these functions choose; a summary counts its texts."""

    def write(request: Request) -> str:
        shown = json.loads(request.turns[-1].content.split("\n", 1)[1])
        if request.schema is None:
            return f"A summary of {len(shown['texts'])} texts."
        call = (reads if request.schema["title"] == "ReadingForm" else asks)(shown)
        return json.dumps({"thought": "", "call": call})

    return Scripted(write)


def done(shown: Shown) -> Shown:
    """Saves nothing."""
    return {"function": "archival_memory_insert", "content": "x", "request_heartbeat": False}


def sent(shown: Shown) -> Shown:
    """Searches nothing."""
    return {"function": "send_message"}


def remembered(engine: Scripted | None, messages: list[Message], **options: Any) -> MemGPT:
    embedder = HashEmbedder()
    found = MemGPT(Language(shared(engine=engine), engine), embedder, MemGPTOptions(**options))
    found.keep(passages_of(messages, default_chunker(embedder)))
    return found


def turns(count: int) -> list[Message]:
    """Messages of equally many tokens."""
    return [Message("user", f"Kiln number {n} is hot.", BEGUN + timedelta(hours=n), name="Rita") for n in range(count)]


@pytest.fixture
def size() -> int:
    """Tokens of each of them."""
    return HashEmbedder().count_tokens(["Rita: Kiln number 1 is hot."])[0]


@pytest.fixture
def beside() -> int:
    """Tokens of what stands beside the queue while it is empty."""
    return 3 * HashEmbedder().count_tokens([""])[0]


def test_pressure_is_told_at_70_percent_and_half_of_the_queue_leaves_at_100(size: int, beside: int) -> None:
    seen: list[int] = []

    def reads(shown: Shown) -> Shown:
        seen.append(len(shown["messages"]))
        return done(shown)

    context = 10 * size + beside
    before = remembered(processor(reads, sent), turns(10), context=context)
    assert seen == [8] and before.queue == list(range(10)) and before.summary.text == "", "once, above 70 %"
    engine = processor(done, sent)
    after = remembered(engine, turns(11), context=context)
    assert after.queue == [6, 7, 8, 9, 10], "of eleven messages at least half of the tokens: six"
    assert after.summary.text == "A summary of 6 texts." and after.summary.leaves == (5,)
    seen.clear()
    later = remembered(processor(reads, sent), turns(17), context=context)
    assert seen == [8, 7], "again after the flush, with the summary beside"
    assert later.summary.text.startswith("A summary of ") and later.queue[0] > 6, "summed up with the summary before"


def test_heartbeats_chain_calls_that_edit_the_memory(size: int, beside: int) -> None:
    seen: list[Shown] = []
    calls = [
        {"function": "core_memory_append", "name": "human", "content": "Rita has a kiln.", "request_heartbeat": True},
        {"function": "core_memory_replace", "name": "human", "old_content": "a kiln", "new_content": "two kilns",
         "request_heartbeat": True},
        {"function": "core_memory_replace", "name": "human", "old_content": "a boat", "new_content": "none",
         "request_heartbeat": True},
        {"function": "core_memory_append", "name": "persona", "content": "x" * 100, "request_heartbeat": True},
        {"function": "conversation_search", "query": "number 3", "page": 1, "request_heartbeat": True},
        {"function": "archival_memory_insert", "content": "Kilns are hot.", "request_heartbeat": False},
    ]  # fmt: skip

    def reads(shown: Shown) -> Shown:
        seen.append(shown)
        return calls[len(seen) - 1]

    own = remembered(processor(reads, sent), turns(8), context=10 * size + beside, block=40, page=2, steps=9)
    assert len(seen) == 6 and own.core == {"human": "Rita has two kilns.", "persona": ""}
    assert seen[2]["core_memory"]["human"] == "Rita has two kilns."
    assert seen[3]["results"][-1]["result"] == "refused: human does not hold these words"
    assert seen[4]["results"][-1]["result"] == "refused: persona would have 100 of 40 characters"
    assert len(seen[5]["results"][-1]["result"]) == 2 and len(seen[5]["calls_before"]) == 3
    (node,) = own.storage.archive
    assert node.text == "Kilns are hot." and node.leaves == tuple(range(8))


def test_a_question_pages_through_recall_storage_and_changes_nothing(tmp_path: Path) -> None:
    def asks(shown: Shown) -> Shown:
        page = len(shown["results"]) + len(shown["calls_before"])
        return {
            "function": "conversation_search",
            "query": "porcelain kiln",
            "page": page,
            "request_heartbeat": page < 1,
        }

    engine = processor(done, asks)
    run = shared(engine=engine)
    with reading({"kind": "memgpt", "context": 40, "page": 1}, run, tmp_path, conversation()) as session:
        first = session.ask("What about the kiln?", options=(), now=ASKED)
        second = session.ask("What about the kiln?", options=(), now=ASKED)
        early = session.ask("What about the kiln?", options=(), now=BEGUN + timedelta(days=2))
    assert places(first) == places(second) and places(first)[:2] == (3, 2), "two pages of one message"
    assert isinstance(run.reader, ShowingReader)
    texts = [passage.text for passage in run.reader.handed[0]]
    assert any(text.startswith("A summary of") for text in texts) and set(places(early)) <= {0, 1, 2}


def test_without_a_model_a_policy_does_what_the_functions_do(size: int, beside: int, tmp_path: Path) -> None:
    liking = Message("user", "I love porcelain with a blue glaze.", BEGUN, name="Rita")
    own = remembered(None, [liking, *turns(12)], context=10 * size + beside, words=10)
    assert own.core["human"].endswith("I love porcelain with a blue glaze.") and own.summary.text
    assert own.storage.archive and 0 not in own.queue and own.used <= 10 * size + beside
    found = own.find("Which glaze does Rita love?", ASKED)
    assert found.ranking is not None and found.ranking[0].place == 0
    run = shared()
    with reading({"kind": "memgpt"}, run, tmp_path, []) as session:
        assert session.ask("Which dog?", options=(), now=ASKED).abstained


def test_documents_are_in_archival_storage() -> None:
    pages = [Message("document", f"Chapter {n}. The sea is wide.", BEGUN) for n in range(3)]
    own = remembered(None, [*pages, *turns(1)], context=1000)
    assert own.queue == [3] and [node.leaves for node in own.storage.archive] == [(0,), (1,), (2,)]
    read = own.find("Chapter on a wide sea", ASKED).passages
    assert {passage.place for passage in read[:3]} == {0, 1, 2} and read[3].place == 3, "then the queue"
