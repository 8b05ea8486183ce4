"""Operations on a memory are spans with names of the GenAI conventions, counts and durations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from nscma_torch import AsyncMemory
from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from nscma_torch.core.records import Message
from tests.helpers.noting import NotedTasks

SECONDS = "gen_ai.client.operation.duration"


def test_each_operation_has_the_name_of_the_conventions(observed: Memory, recorded: Any) -> None:
    (added,) = observed.add("{Ben|lives_in|Oslo}", user_id="ana")
    observed.search("Oslo", user_id="ana")
    observed.update(added.id, "{Ben|lives_in|Rome}", user_id="ana")
    observed.delete(added.id, user_id="ana")
    observed.restore(added.id, user_id="ana")
    observed.delete_all(user_id="ana")
    observed.erase(user_id="ana", memory_id=added.id)
    observed.facts(user_id="ana")
    found = [
        (span.name, span.attributes["nscma.operation"], span.attributes.get("gen_ai.memory.record.count"))
        for span in recorded.spans()
    ]
    assert found == [
        ("create_memory", "add", 1),
        ("search_memory", "search", 1),
        ("update_memory", "update", 1),
        ("delete_memory", "delete", 1),
        ("restore", "restore", None),
        ("delete_memory", "delete_all", 1),
        ("delete_memory", "erase", 1),
        ("facts", "facts", None),
    ]
    for span in recorded.spans():
        assert span.attributes["gen_ai.operation.name"] == span.name
        assert (span.kind, span.parent, span.status.status_code) == (SpanKind.INTERNAL, None, StatusCode.UNSET)
        assert span.attributes["gen_ai.provider.name"] == "nscma" and not span.events
        assert len(span.attributes["gen_ai.memory.store.id"]) == 16
    assert recorded.spans("facts")[0].attributes["nscma.result.count"] == 0


def test_durations_are_counted_by_operation(observed: Memory, recorded: Any) -> None:
    for _ in range(3):
        observed.search("Oslo", user_id="ana")
    with pytest.raises(InvalidInputError):
        observed.search("", user_id="ana")
    sound, failed = sorted(recorded.points(SECONDS), key=lambda point: -point.count)
    labels = {"gen_ai.operation.name": "search_memory", "gen_ai.provider.name": "nscma", "nscma.operation": "search"}
    assert (sound.count, dict(sound.attributes)) == (3, labels)
    assert 0 < sound.min <= sound.max < 60 and sound.explicit_bounds[0] == 0.01
    assert (failed.count, dict(failed.attributes)) == (1, {**labels, "error.type": "EmptyTextError"})


def test_an_answer_says_whether_it_abstained(observed: Memory, recorded: Any) -> None:
    observed.ask("Where does Ben live?", user_id="ana")
    assert recorded.one("ask")["nscma.answer.abstained"] is True


def test_an_error_is_a_status_with_its_class(observed: Memory, recorded: Any) -> None:
    with pytest.raises(NotFoundError):
        observed.history("no such id", user_id="ana")
    (span,) = recorded.spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.attributes["error.type"] == "NotFoundError" and not span.events


def test_a_stream_is_one_span_until_it_is_read(observed: Memory, recorded: Any) -> None:
    said = [Message("user", f"{{Ben|likes|thing {i}}}", idempotency_key=f"key {i}") for i in range(100)]
    observed.add("other", user_id="ana", idempotency_key="key 1")
    stream = observed.add_many(said, user_id="ana")
    next(stream)
    observed.stats(user_id="ana")
    assert len(list(stream)) == 99
    (stats,), (_, added) = recorded.spans("stats"), recorded.spans("create_memory")
    assert stats.parent is None, "the caller's own work isn't part of the stream's"
    assert added.attributes["nscma.operation"] == "add_many"
    assert added.attributes["gen_ai.memory.record.count"] == 99, "one of 100 was there"
    assert added.start_time < stats.start_time < added.end_time


def test_a_stream_that_is_left_ends_its_span(observed: Memory, recorded: Any) -> None:
    stream = observed.add_many([Message("user", f"thing {i}") for i in range(3)], user_id="ana")
    next(stream)
    stream.close()
    (span,) = recorded.spans("create_memory")
    assert (span.attributes["gen_ai.memory.record.count"], span.status.status_code) == (1, StatusCode.UNSET)


def test_a_stream_that_fails_ends_its_span(observed: Memory, recorded: Any) -> None:
    with pytest.raises(NotFoundError):
        list(observed.export(user_id="ana"))
    assert recorded.one("export")["error.type"] == "NotFoundError"


def test_operations_inside_others_are_their_children(observed: Memory, recorded: Any) -> None:
    observed.add("One.", user_id="ana")
    observed.add("Two.", user_id="ben")
    observed.reset()
    outer = recorded.spans("delete_memory_store")[0]
    inner = [span for span in recorded.spans("delete_memory") if span.parent.span_id == outer.context.span_id]
    assert len(inner) == 2 and outer.attributes["nscma.operation"] == "reset"


def test_async_methods_are_recorded(tmp_path: Any, light_surprise: Any, embedder: Any, recorded: Any) -> None:
    async def use() -> None:
        parts = {"surprise_model": light_surprise, "embedder": embedder, "tasks": NotedTasks()}
        async with AsyncMemory(tmp_path / "store.db", config={"telemetry": {"enabled": True}}, **parts) as memory:
            await memory.search("Oslo", user_id="ana")

    asyncio.run(use())
    assert [span.name for span in recorded.spans()] == ["search_memory", "close"]


def test_stores_are_told_apart(open_memory: Callable[..., Memory], light_surprise: Any, recorded: Any) -> None:
    for name in ("one.db", "two.db", "one.db"):
        memory = open_memory(name, config={"telemetry": {"enabled": True}}, surprise_model=light_surprise)
        memory.stats()
        memory.close()
    one, two, again = (span.attributes["gen_ai.memory.store.id"] for span in recorded.spans("stats"))
    assert one == again != two
