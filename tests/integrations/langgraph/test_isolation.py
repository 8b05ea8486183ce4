"""Nothing crosses a user, whatever the namespaces; and any sequence of operations ends as in LangGraph's own store."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from nscma_torch.core.errors import ScopeError
from nscma_torch.integrations.langgraph import NscmaStore

FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NUMBERS = itertools.count()
LABELS = st.sampled_from(("a", "b", "ab", "*", "{user_id}", "ana", "bob", "ana/notes", "x y"))
VALUES = st.dictionaries(
    st.sampled_from(("text", "rank", "more")),
    st.one_of(st.text("pizza tea", max_size=8), st.integers(-3, 3), st.lists(st.integers(0, 2), max_size=2)),
    max_size=3,
)
PUTS = st.tuples(st.lists(LABELS, max_size=2), st.sampled_from(("k", "l", "k/l")), st.one_of(st.none(), VALUES))


def contents(store: BaseStore, prefix: tuple[str, ...]) -> set[str]:
    """All items under a prefix, without their times."""
    found = store.search(prefix, limit=1000)
    return {json.dumps([one.namespace, one.key, one.value], sort_keys=True) for one in found}


@given(batches=st.lists(st.lists(PUTS, min_size=1, max_size=4), max_size=4), under=st.lists(LABELS, max_size=2))
@FEW
def test_any_puts_end_as_in_the_reference(
    nscma_store: NscmaStore, batches: list[list[tuple[list[str], str, Any]]], under: list[str]
) -> None:
    user = f"user {next(NUMBERS)}"
    reference = InMemoryStore()
    for batch in batches:
        ops: list[Op] = [PutOp((user, *path), key, value) for path, key, value in batch]
        assert nscma_store.batch(ops) == reference.batch(ops)
    everything = reference.search((user,), limit=1000)
    assert contents(nscma_store, (user,)) == contents(reference, (user,))
    assert contents(nscma_store, (user, *under)) == contents(reference, (user, *under))
    assert nscma_store.list_namespaces(prefix=(user,)) == sorted({one.namespace for one in everything})
    for one in everything:
        got = nscma_store.get(one.namespace, one.key)
        assert got and got.value == one.value


@given(paths=st.lists(st.lists(LABELS, max_size=2), min_size=1, max_size=4), under=st.lists(LABELS, max_size=2))
@FEW
def test_two_users(nscma_store: NscmaStore, paths: list[list[str]], under: list[str]) -> None:
    number = next(NUMBERS)
    ana, bob = f"ana {number}", f"bob {number}"
    for user in (ana, bob):
        nscma_store.batch([PutOp((user, *path), "k", {"text": f"the password of {user}"}) for path in paths])
    untouched = contents(nscma_store, (bob,))
    assert untouched
    for query in (None, f"the password of {bob}"):
        found = nscma_store.search((ana, *under), query=query, limit=100)
        assert all(one.namespace[0] == ana and one.value["text"].endswith(ana) for one in found)
    assert {path[0] for path in nscma_store.list_namespaces(prefix=(ana, *under))} <= {ana}
    nscma_store.batch([PutOp((ana, *path), "k", None) for path in paths])
    assert contents(nscma_store, (ana,)) == set()
    assert contents(nscma_store, (bob,)) == untouched
    assert all(one.scope.user_id == bob for one in nscma_store.memory.get_all(user_id=bob))
    assert bob not in "".join(one.text for one in nscma_store.memory.log(user_id=ana))


def prefixed(*path: str) -> ListNamespacesOp:
    return ListNamespacesOp((MatchCondition("prefix", path),))


NOBODY = (
    SearchOp(()),
    SearchOp((), query="password"),
    ListNamespacesOp(),
    prefixed("*"),
    prefixed("*", "notes"),
    ListNamespacesOp((MatchCondition("suffix", ("ana",)),)),
    ListNamespacesOp((MatchCondition("suffix", ("ana", "notes")),), max_depth=1),
)


@pytest.mark.parametrize("op", NOBODY, ids=str)
def test_what_names_no_user_is_an_error(nscma_store: NscmaStore, op: Op) -> None:
    nscma_store.put(("ana", "notes"), "k", {"text": "the password"})
    with pytest.raises(ScopeError, match="names no user"):
        nscma_store.batch([PutOp(("ana", "notes"), "l", {"text": "more"}), op])
    assert len(nscma_store.search(("ana",))) == 1, "nothing of the batch was done"


def test_one_memory_and_two_stores_for_one_user(open_memory: Callable[..., Any], light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    ana, bob = (NscmaStore(memory, user_id=name) for name in ("ana", "bob"))
    ana.put(("bob", "notes"), "k", {"text": "said by ana"})
    assert bob.get(("bob", "notes"), "k") is None
    assert bob.search(()) == bob.search((), query="ana") == bob.list_namespaces() == []
    bob.put(("bob", "notes"), "k", {"text": "said by bob"})
    bob.delete(("bob", "notes"), "k")
    item = ana.get(("bob", "notes"), "k")
    assert item and item.value == {"text": "said by ana"}
    assert ana.list_namespaces() == [("bob", "notes")]


def test_messages_of_the_user_are_no_items(nscma_store: NscmaStore) -> None:
    memory = nscma_store.memory
    memory.add("I love pizza", user_id="ana", metadata={"langgraph": {"namespace": ["ana"], "key": "k", "value": {}}})
    memory.add("I love pasta", user_id="ana", metadata={"langgraph": "yes"})
    assert nscma_store.search(("ana",)) == nscma_store.search(("ana",), query="pizza") == []
    assert nscma_store.list_namespaces(prefix=("ana",)) == []
    nscma_store.put(("ana",), "k", {"text": "I love rice"})
    found = memory.search("rice", user_id="ana", top_k=1)
    assert found[0].text == "I love rice", "but items are found as messages are"
    assert memory.sessions(user_id="ana")[0].messages == 2, "and are no turns of a conversation"
