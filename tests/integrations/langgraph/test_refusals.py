"""Bad input gets one error that says what to do, and the store is as it was; what of an item becomes text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from nscma_torch.core.errors import InvalidInputError, TextTooLargeError
from nscma_torch.integrations.langgraph import NscmaStore
from nscma_torch.integrations.langgraph.filters import condition_of
from nscma_torch.integrations.langgraph.items import text_of

HOME = ("ana",)
VALUE = {"text": "fine"}
BAD: list[tuple[Any, str]] = [
    (PutOp(HOME, "k", VALUE, ttl=5), "omit ttl"),
    (PutOp(HOME, "k", {"a": float("nan")}), "JSON"),
    (PutOp(HOME, "k", {"a": object()}), "JSON"),
    (PutOp(HOME, "k", {"a": {1: "x"}}), "not a string"),
    (PutOp(HOME, "k", {"a": "\ud800"}), "surrogate"),
    (PutOp(HOME, "k", ["a"]), "map names to values"),  # type: ignore[arg-type]
    (PutOp(HOME, "", VALUE), "the key of an item"),
    (PutOp(HOME, " ", VALUE), "the key of an item"),
    (PutOp(HOME, 3, VALUE), "the key of an item"),  # type: ignore[arg-type]
    (PutOp(HOME, "k", VALUE, index="text"), "name paths"),  # type: ignore[arg-type]
    (PutOp(HOME, "k", VALUE, index=[]), "name paths"),
    (PutOp(HOME, "k", VALUE, index=[""]), "name paths"),
    (PutOp(("ana", "a\nb", ""), "k", VALUE), "empty"),
    (PutOp((" ",), "k", VALUE), "user_id"),
    (PutOp(HOME, "\ud800", VALUE), "surrogate"),
    (PutOp(HOME, "\ud800", VALUE, index=False), "surrogate"),
    (GetOp((), "k"), "cannot be empty"),
    (SearchOp(HOME, filter={"a": {"$regex": "x"}}), r"unknown operator '\$regex'"),
    (SearchOp(HOME, filter={"a": {"$gt": "x"}}), "takes a number"),
    (SearchOp(HOME, filter=["a"]), "map fields"),  # type: ignore[arg-type]
    (SearchOp(HOME, limit=-1), "limit is -1"),
    (SearchOp(HOME, offset=-1), "offset is -1"),
    (SearchOp(HOME, query="  "), "empty"),
    (ListNamespacesOp((MatchCondition("prefix", HOME),), max_depth=0), "max_depth"),
    (ListNamespacesOp((MatchCondition("middle", HOME), MatchCondition("prefix", HOME))), "match type"),  # type: ignore[arg-type]
    ("get", "operation must be"),
]


def test_each_is_refused_and_nothing_is_stored(nscma_store: NscmaStore) -> None:
    for op, said in BAD:
        with pytest.raises((InvalidInputError, InvalidNamespaceError), match=said):
            nscma_store.batch([PutOp(HOME, "first", VALUE), op])
        assert nscma_store.memory.log(user_id="ana") == [], op


def test_a_ttl_is_refused_by_put_too(nscma_store: NscmaStore) -> None:
    with pytest.raises(NotImplementedError, match="TTL is not supported by NscmaStore"):
        nscma_store.put(HOME, "k", VALUE, ttl=5)
    nscma_store.put(HOME, "k", VALUE, ttl=None)


def test_what_is_too_large_is_refused(open_memory: Callable[..., Any], light_surprise: Any) -> None:
    store = NscmaStore(open_memory(surprise_model=light_surprise, config={"limits": {"max_message_bytes": 100}}))
    for index in (None, False):
        with pytest.raises(TextTooLargeError, match="max_message_bytes"):
            store.put(HOME, "k", {"text": "x" * 101}, index=index)
    with pytest.raises(TextTooLargeError, match="max_message_bytes"):  # each leaf has its path before it
        store.batch([PutOp(("bob",), "k", VALUE), PutOp(HOME, "k", {"x" * 40: [1, 2, 3]})])
    assert store.memory.log(user_id="bob") == []
    assert store.memory.log(user_id="ana") == []


@pytest.mark.parametrize("arguments", [{"fields": "text"}, {"fields": ()}, {"layout": ()}, {"user_id": ""}])
def test_stores_that_are_refused(nscma_store: NscmaStore, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        NscmaStore(nscma_store.memory, **arguments)
    with pytest.raises(InvalidInputError, match="memory must be of type Memory"):
        NscmaStore("memory.db")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "paths", "text"),
    [
        ({"data": "I live in Porto."}, ["$"], "I live in Porto."),
        ({"food": "sushi", "when": {"day": "Monday", "at": 7}}, ["$"], "food: sushi\nwhen.day: Monday\nwhen.at: 7"),
        ({"tags": ["a", "b"], "none": None, "blank": " "}, ["$"], "tags: a\ntags: b"),
        ({"title": "A", "body": "B"}, ["body", "title"], "B\nA"),
        ({"parts": [{"text": "A"}, {"text": "B"}]}, ["parts[*].text"], "A\nB"),
        ({"title": "A"}, ["missing"], None),
        ({}, ["$"], None),
    ],
)
def test_the_text_of_an_item(value: dict[str, Any], paths: list[str], text: str | None) -> None:
    assert text_of(value, paths) == text


@pytest.mark.parametrize(
    "filters", [{"a": 1}, {"a": {"$eq": 1}}, {"list": [1]}, {"a": {"$gt": 0}}, {"text": {"$lt": 9}}, {"no": {"$lt": 9}}]
)
def test_values_are_compared_as_json_has_them(filters: dict[str, Any]) -> None:
    """LangGraph's own store takes true for 1, and fails on what has no order; here neither fits."""
    assert not condition_of(filters)({"a": True, "list": [True], "text": "5"})
    assert condition_of({"a": True, "list": [True], "text": "5", "no": None})({"a": True, "list": [True], "text": "5"})


def test_what_comes_out_is_a_copy(nscma_store: NscmaStore) -> None:
    value = {"tags": ["x"]}
    nscma_store.put(HOME, "k", value)
    value["tags"].append("y")
    for read in (lambda: nscma_store.get(HOME, "k"), lambda: nscma_store.search(HOME)[0]):
        item = read()
        assert item and item.value == {"tags": ["x"]}
        item.value["tags"].append("z")


def test_an_item_has_its_history_and_can_be_erased(nscma_store: NscmaStore) -> None:
    memory = nscma_store.memory
    nscma_store.put(HOME, "k", {"text": "I live in Lisbon."})
    nscma_store.put(HOME, "k", {"text": "I live in Porto."})
    nscma_store.delete(HOME, "k")
    (kept,) = memory.log(user_id="ana")
    assert [event.event for event in memory.history(kept.id, user_id="ana")] == ["ADD", "UPDATE", "DELETE"]
    assert memory.erase(user_id="ana", memory_id=kept.id).found == 0
    nscma_store.put(HOME, "k", {"text": "I live in Oslo."})
    item = nscma_store.get(HOME, "k")
    assert item and item.value == {"text": "I live in Oslo."}


def test_two_at_once_lose_no_put(nscma_store: NscmaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread stores the item between the look and the add: its value is replaced, ours is not lost."""
    from nscma_torch.integrations.langgraph import writing

    look, beaten = writing.find, []

    def find_late(*arguments: Any) -> Any:
        known = look(*arguments)
        if not beaten:
            beaten.append(True)
            nscma_store.put(HOME, "k", {"text": "theirs"})
        return known

    monkeypatch.setattr(writing, "find", find_late)
    nscma_store.put(HOME, "k", {"text": "ours"})
    item = nscma_store.get(HOME, "k")
    assert item and item.value == {"text": "ours"}
    assert len(nscma_store.memory.log(user_id="ana")) == 1


def test_what_has_expired_is_in_no_read(nscma_store: NscmaStore) -> None:
    nscma_store.put(HOME, "k", VALUE)
    (kept,) = nscma_store.memory.get_all(user_id="ana")
    nscma_store.memory.update(kept.id, user_id="ana", expiration_date="2020-01-01")
    assert nscma_store.get(HOME, "k") is None
    assert nscma_store.search(HOME) == nscma_store.list_namespaces(prefix=HOME) == []
