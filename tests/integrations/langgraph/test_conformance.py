"""What `BaseStore` promises in its documentation, case by case; LangGraph's own `InMemoryStore` passes the same."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from nscma_torch.integrations.langgraph import NscmaStore

HOME = ("ana", "notes")  # the first label is the user in a store for many users


def letters(texts: list[str]) -> list[list[float]]:
    """Vectors for the reference: how often each letter occurs."""
    return [[float(text.lower().count(chr(97 + i))) for i in range(26)] for text in texts]


@pytest.fixture(params=["nscma", "reference"])
def store(request: pytest.FixtureRequest) -> BaseStore:
    if request.param == "nscma":
        made: NscmaStore = request.getfixturevalue("nscma_store")
        return made
    return InMemoryStore(index={"dims": 26, "embed": letters, "fields": ["$"]})


def keys(items: list[SearchItem]) -> list[str]:
    return [item.key for item in items]


def test_what_is_put_is_got(store: BaseStore) -> None:
    before = datetime.now(UTC)
    value = {
        "text": "Tea, no sugar",
        "rank": 3,
        "ratio": 0.5,
        "yes": True,
        "none": None,
        "deep": {"a": [1, {"b": "c"}]},
    }
    assert store.put(HOME, "tea", value) is None
    item = store.get(HOME, "tea")
    assert isinstance(item, Item)
    assert (item.namespace, item.key, item.value) == (HOME, "tea", value)
    assert before <= item.created_at <= item.updated_at <= datetime.now(UTC)


def test_what_is_not_there_is_none(store: BaseStore) -> None:
    store.put(HOME, "tea", {"text": "green"})
    assert store.get(HOME, "coffee") is None
    assert store.get((*HOME, "deeper"), "tea") is None
    assert store.get(("ana",), "tea") is None
    assert store.search(("ana", "other")) == []


def test_a_put_replaces_the_whole_value(store: BaseStore) -> None:
    store.put(HOME, "tea", {"text": "green tea", "sugar": 1})
    first = store.get(HOME, "tea")
    store.put(HOME, "tea", {"text": "black tea"})
    item = store.get(HOME, "tea")
    assert first and item
    assert item.value == {"text": "black tea"}
    assert item.updated_at > first.updated_at
    assert keys(store.search(HOME)) == ["tea"]


def test_what_is_deleted_is_gone_and_may_come_back(store: BaseStore) -> None:
    store.put(HOME, "tea", {"text": "green tea"})
    first = store.get(HOME, "tea")
    store.delete(HOME, "tea")
    store.delete(HOME, "tea")
    store.delete(HOME, "never")
    assert store.get(HOME, "tea") is None
    assert store.search(HOME) == store.search(HOME, query="green tea") == []
    store.put(HOME, "tea", {"text": "white tea"})
    item = store.get(HOME, "tea")
    assert first and item
    assert item.value == {"text": "white tea"}
    assert item.created_at > first.updated_at, "it is a new item"
    assert keys(store.search(HOME, query="tea")) == ["tea"]


def test_a_key_belongs_to_its_namespace(store: BaseStore) -> None:
    for label in ("a", "ab", "a b", "b/c", "日记", "*"):
        store.put(("ana", label), "k", {"label": label})
    store.put(("ana", "b", "c"), "k", {"label": "b, c"})
    store.put(("ana",), "b/c: k", {"label": "root"})
    for label in ("a", "ab", "a b", "b/c", "日记", "*"):
        item = store.get(("ana", label), "k")
        assert item and item.value == {"label": label}


def test_any_text_is_a_key(store: BaseStore) -> None:
    texts = ("a.b", "a/b", "*", "ключ", "x" * 2000, "line\nline", " a", "a", "None")
    store.batch([PutOp(HOME, key, {"text": f"said {key}"}) for key in texts])
    for key in texts:
        item = store.get(HOME, key)
        assert item and (item.key, item.value) == (key, {"text": f"said {key}"})


def test_a_prefix_is_of_labels(store: BaseStore) -> None:
    for namespace in (("ana",), ("ana", "a"), ("ana", "a", "x"), ("ana", "ab"), ("ana", "b", "a")):
        store.put(namespace, "/".join(namespace), {"text": "one"})
    assert sorted(keys(store.search(("ana",)))) == ["ana", "ana/a", "ana/a/x", "ana/ab", "ana/b/a"]
    assert sorted(keys(store.search(("ana", "a")))) == ["ana/a", "ana/a/x"]
    assert keys(store.search(("ana", "a", "x"))) == ["ana/a/x"]
    assert store.search(("ana", "x")) == []


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["a", "b", "c"]),
    ({"kind": "note"}, ["a", "b"]),
    ({"kind": "note", "rank": 2}, ["b"]),
    ({"rank": {"$eq": 1}}, ["a"]),
    ({"rank": {"$ne": 1}}, ["b", "c"]),
    ({"rank": {"$gt": 1}}, ["b", "c"]),
    ({"rank": {"$gte": 2, "$lt": 3.5}}, ["b"]),
    ({"rank": {"$lte": 1}}, ["a"]),
    ({"rank": {"$gt": 4}}, []),
    ({"place": {"city": "Porto"}}, ["a", "c"]),
    ({"place": {"city": "Porto", "zip": {"$gt": 4000}}}, ["c"]),
    ({"tags": ["x", "y"]}, ["b"]),
    ({"tags": ["y", "x"]}, []),
    ({"tags": ["x"]}, ["a"]),
    ({"place": {"$eq": {"city": "Oslo", "zip": 1}}}, ["b"]),
    ({"missing": None}, ["a", "b", "c"]),
    ({"missing": "x"}, []),
    ({"missing": {"$ne": "x"}}, ["a", "b", "c"]),
]


def test_filters(store: BaseStore) -> None:
    store.batch(
        [
            PutOp(HOME, "a", {"kind": "note", "rank": 1, "place": {"city": "Porto", "zip": 4000}, "tags": ["x"]}),
            PutOp(HOME, "b", {"kind": "note", "rank": 2, "place": {"city": "Oslo", "zip": 1}, "tags": ["x", "y"]}),
            PutOp(HOME, "c", {"kind": "task", "rank": 4, "place": {"city": "Porto", "zip": 4100}, "tags": []}),
        ]
    )
    for filters, expected in FILTERS:
        assert sorted(keys(store.search(("ana",), filter=filters))) == expected, filters
    for filters, expected in FILTERS[:4]:
        assert sorted(keys(store.search(("ana",), filter=filters, query="Porto"))) == expected, filters


def test_pages_are_parts_of_the_whole(store: BaseStore) -> None:
    store.batch([PutOp(HOME, f"k{i}", {"text": f"note number {i}"}) for i in range(7)])
    for query in (None, "note number 3"):
        pages = [keys(store.search(HOME, query=query, limit=3, offset=offset)) for offset in (0, 3, 6, 9)]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert sorted(key for page in pages for key in page) == [f"k{i}" for i in range(7)]
    assert store.search(HOME, limit=0) == store.search(HOME, limit=0, query="note") == []
    assert len(store.search(HOME)) == 7
    store.batch([PutOp(HOME, f"l{i}", {"text": f"more {i}"}) for i in range(7)])
    assert len(store.search(HOME)) == 10, "the default limit"


def test_a_query_ranks(store: BaseStore) -> None:
    store.put(HOME, "zoo", {"text": "jazz quiz zoo"})
    store.put(HOME, "food", {"text": "I love pizza with cheese"})
    found = store.search(("ana",), query="pizza with cheese")
    assert keys(found) == ["food", "zoo"]
    assert all(isinstance(item, SearchItem) and isinstance(item.score, float) for item in found)
    assert found[0].score > found[1].score  # type: ignore[operator]
    assert store.search(HOME)[0].score is None, "nothing was asked"
    store.put(HOME, "food", {"text": "jazz quiz"})
    store.put(HOME, "zoo", {"text": "we had pizza with cheese"})
    assert keys(store.search(("ana",), query="pizza with cheese")) == ["zoo", "food"], "by what they say now"


def test_index_says_what_is_searched(store: BaseStore) -> None:
    store.put(HOME, "named", {"title": "pizza", "body": "jazz quiz"}, index=["title"])
    store.put(HOME, "deep", {"parts": [{"text": "zebra"}, {"text": "giraffe"}], "x": "pizza"}, index=["parts[*].text"])
    store.put(HOME, "plain", {"title": "wolves", "body": "owls"})
    assert keys(store.search(HOME, query="pizza"))[0] == "named"
    assert keys(store.search(HOME, query="giraffe"))[0] == "deep"
    store.put(HOME, "hidden", {"title": "pizza pizza"}, index=False)
    assert keys(store.search(HOME, query="pizza pizza"))[0] == "named"
    item = store.get(HOME, "hidden")
    assert item and item.value == {"title": "pizza pizza"}
    assert "hidden" in keys(store.search(HOME))


PATHS = [("ana", "b", "c"), ("ana", "b", "d", "e"), ("ana", "b", "d", "i"), ("ana", "b", "f"), ("ana", "c", "f")]
LISTS: list[tuple[dict[str, Any], list[tuple[str, ...]]]] = [
    ({"prefix": ("ana",)}, PATHS),
    ({"prefix": ("ana", "b"), "max_depth": 3}, [("ana", "b", "c"), ("ana", "b", "d"), ("ana", "b", "f")]),
    ({"prefix": ("ana",), "suffix": ("f",)}, [("ana", "b", "f"), ("ana", "c", "f")]),
    ({"prefix": ("ana", "*", "f")}, [("ana", "b", "f"), ("ana", "c", "f")]),
    ({"prefix": ("ana",), "suffix": ("d", "*")}, [("ana", "b", "d", "e"), ("ana", "b", "d", "i")]),
    ({"prefix": ("ana",), "max_depth": 1}, [("ana",)]),
    ({"prefix": ("ana",), "limit": 2, "offset": 1}, PATHS[1:3]),
    ({"prefix": ("ana",), "limit": 2, "offset": 9}, []),
    ({"prefix": ("ana", "x")}, []),
    ({"prefix": ("ana", "b", "c", "x", "y")}, []),
]


def test_namespaces(store: BaseStore) -> None:
    store.batch([PutOp(path, key, {"text": f"{path} {key}"}) for path in reversed(PATHS) for key in ("one", "two")])
    for arguments, expected in LISTS:
        assert store.list_namespaces(**arguments) == expected, arguments


def test_a_batch_answers_in_order_and_reads_before_it_writes(store: BaseStore) -> None:
    store.put(HOME, "old", {"text": "old"})
    listed = ListNamespacesOp((MatchCondition("prefix", ("ana",)),))
    results = store.batch(
        [
            PutOp(HOME, "new", {"text": "first"}),
            GetOp(HOME, "old"),
            GetOp(HOME, "new"),
            PutOp(HOME, "new", {"text": "second"}),
            PutOp(HOME, "old", None),
            SearchOp(("ana",)),
            PutOp(("ana", "else"), "x", {"text": "x"}),
            listed,
        ]
    )
    assert [results[i] for i in (0, 3, 4, 6)] == [None] * 4
    assert results[1] and results[1].value == {"text": "old"}  # type: ignore[union-attr]
    assert results[2] is None
    assert [item.key for item in results[5]] == ["old"]  # type: ignore[union-attr]
    assert results[7] == [HOME]
    after = store.batch([GetOp(HOME, "old"), GetOp(HOME, "new"), listed])
    assert after[0] is None
    assert after[1].value == {"text": "second"}, "the last put counts"  # type: ignore[union-attr]
    assert after[2] == [("ana", "else"), HOME]
    assert store.batch([]) == []


def test_the_same_awaited(store: BaseStore) -> None:
    async def run() -> None:
        await asyncio.gather(*(store.aput(HOME, f"k{i}", {"text": f"note {i}"}) for i in range(8)))
        item = await store.aget(HOME, "k3")
        assert item and item.value == {"text": "note 3"}
        assert len(await store.asearch(("ana",), query="note", limit=20)) == 8
        await store.adelete(HOME, "k3")
        assert await store.aget(HOME, "k3") is None
        assert await store.alist_namespaces(prefix=("ana",)) == [HOME]
        assert [one and one.key for one in await store.abatch(iter([GetOp(HOME, "k1"), GetOp(HOME, "k3")]))] == [
            "k1",
            None,
        ]

    asyncio.run(run())


def test_labels_that_are_none(store: BaseStore) -> None:
    for namespace in ((), ("langgraph", "x"), ("ana", ""), ("ana", "a.b"), ("ana", 3), ("ana", "a\x00")):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"text": "x"})  # type: ignore[arg-type]
    assert store.search(("ana",)) == []
