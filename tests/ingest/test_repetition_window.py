"""The window that a process keeps of a stream is used only while the store says that nothing else was written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import torch
from torch import Tensor

from nscma_torch.api.memory import Memory
from nscma_torch.core.erasable_cache import erase_caches
from nscma_torch.episodic.log import episodes
from nscma_torch.ingest.repetition_window import LENGTH, Window, WindowCache
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
TEXTS = [
    "My sister Ana moved to Porto in May.",
    "ok",
    "The landlord painted the harbour house.",
    "In May my sister Ana moved to Porto.",
    "Our cat Miso was born in Kyoto.",
    "The harbour house was painted by the landlord.",
]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Streams whose recent messages were read from the store."""
    made: list[str] = []
    read = episodes.recent

    def recent(connection: Any, stream_id: str, limit: int) -> dict[int, str]:
        made.append(stream_id)
        return read(connection, stream_id, limit)

    monkeypatch.setattr(episodes, "recent", recent)
    return made


def test_a_stream_that_only_this_process_writes_is_read_once(
    open_memory: Open, light_surprise: Any, reads: list[str]
) -> None:
    memory = open_memory(surprise_model=light_surprise)
    for text in TEXTS:
        memory.add(text, user_id="ada", now=NOW)
    assert len(reads) == 1


def _changed_by_its_user(memory: Memory, ids: Sequence[str]) -> None:
    memory.update(ids[0], "My brother lives in Oslo.", user_id="ada", now=NOW)
    memory.delete(ids[2], user_id="ada", now=NOW)


def _erased(memory: Memory, ids: Sequence[str]) -> None:
    memory.erase(user_id="ada", memory_id=ids[2])


def _added(memory: Memory, ids: Sequence[str]) -> None:
    memory.add("Our cat Miso was born in Kyoto, Japan.", user_id="ada", now=NOW)


@pytest.mark.parametrize("happening", [_changed_by_its_user, _erased, _added])
@pytest.mark.parametrize("deferred", [True, False], ids=["all embedded", "deferred not embedded"])
@pytest.mark.parametrize("elsewhere", [True, False], ids=["in another process", "here"])
def test_what_was_written_meanwhile_is_seen(
    happening: Callable[[Memory, Sequence[str]], None],
    deferred: bool,
    elsewhere: bool,
    open_memory: Open,
    light_surprise: Any,
) -> None:
    def opened(name: str) -> Memory:
        return open_memory(name, {"embedder": {"model": "hash", "deferred": deferred}}, surprise_model=light_surprise)

    kept, other = opened("kept.db"), opened("kept.db")
    ids = [kept.add(text, user_id="ada", now=NOW)[0].id for text in TEXTS[:3]]
    happening(other if elsewhere else kept, ids)
    for text in TEXTS[3:]:
        kept.add(text, user_id="ada", now=NOW)
    ids = [opened("fresh.db").add(text, user_id="ada", now=NOW)[0].id for text in TEXTS[:3]]
    happening(opened("fresh.db"), ids)
    for text in TEXTS[3:]:
        opened("fresh.db").add(text, user_id="ada", now=NOW)
    assert kept.digest() == opened("fresh.db").digest(), "as where each message has a process of its own"
    assert kept.verify() == []


def test_a_window_of_another_version_is_dropped() -> None:
    windows, window = WindowCache(), Window(["said"], None)
    windows.put("stream", (7, 1), window, erasures=windows.erasures)
    assert windows.get("stream", (7, 1)) is window
    assert windows.get("stream", (8, 1)) is None
    assert windows.get("stream", (7, 1)) is None, "who reads it again has nothing that is out of date"


def test_erasing_empties_it_and_what_began_before_is_not_kept() -> None:
    windows, window = WindowCache(), Window(["said"], None)
    before = windows.erasures
    windows.put("stream", (7, 1), window, erasures=before)
    erase_caches()
    assert windows.get("stream", (7, 1)) is None
    windows.put("stream", (7, 1), window, erasures=before)
    assert windows.get("stream", (7, 1)) is None


def test_only_the_streams_that_were_added_to_last_are_kept() -> None:
    windows = WindowCache()
    for i in range(40):
        windows.put(str(i), (1, 1), Window([], None), erasures=0)
    kept = [i for i in range(40) if windows.get(str(i), (1, 1))]
    assert kept == list(range(24, 40))


@pytest.mark.parametrize(("sizes", "beside"), [((1,), False), ((600, 424), False), ((1024, 1), True)])
def test_a_short_batch_is_embedded_without_a_thread(
    sizes: Sequence[int], beside: bool, open_memory: Open, light_surprise: Any
) -> None:
    class Watched(HashEmbedder):
        threads: set[int]

        def embed(self, texts: Sequence[str]) -> Tensor:
            self.threads = {threading.get_ident()}
            return super().embed(texts)

    embedder = Watched()
    memory = open_memory(embedder=embedder, surprise_model=light_surprise)
    memory.add([("word " * size)[:size] for size in sizes], user_id="ada", now=NOW)
    assert (embedder.threads != {threading.get_ident()}) == beside


def test_a_window_has_as_many_vectors_as_texts() -> None:
    vectors, window = torch.eye(3), Window()
    for i in range(3):
        window = window.after(["x" * (LENGTH // 2 + 1)], vectors[i : i + 1])
    assert len(window.history) == 1 and window.vectors is not None
    assert torch.equal(window.vectors, vectors[2:])
