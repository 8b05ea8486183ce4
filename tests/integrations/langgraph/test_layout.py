"""Which labels say whose it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.core.errors import InvalidInputError, ScopeError
from nscma_torch.core.records import Scope
from nscma_torch.integrations.langgraph import NscmaStore
from nscma_torch.integrations.langgraph.layout import Layout


@pytest.mark.parametrize(
    ("labels", "path", "scope"),
    [
        (("{user_id}",), ("ana",), Scope("ana")),
        (("{user_id}",), ("ana", "notes", "deep"), Scope("ana")),
        (("memories", "{user_id}"), ("memories", "ana", "x"), Scope("ana")),
        (("{agent_id}", "{user_id}"), ("cook", "ana"), Scope("ana", "cook")),
        (("{user_id}", "{agent_id}", "{run_id}"), ("ana",), Scope("ana")),
        (("{user_id}", "{agent_id}", "{run_id}"), ("ana", "cook"), Scope("ana", "cook")),
        (("{user_id}", "x", "{run_id}"), ("ana", "x", "r1", "y"), Scope("ana", None, "r1")),
    ],
)
def test_scopes(labels: tuple[str, ...], path: tuple[str, ...], scope: Scope) -> None:
    assert Layout(labels).scope_of(path) == scope


def test_a_user_for_the_whole_store() -> None:
    assert Layout((), "ana").scope_of(("x", "y")) == Scope("ana")
    assert Layout(("{agent_id}",), "ana").scope_of(("cook", "y")) == Scope("ana", "cook")
    assert Layout(("m", "{agent_id}", "{run_id}"), "ana").scope_of(("*", "*", "r"), wildcards=True) == Scope(
        "ana", None, "r"
    )


@pytest.mark.parametrize(
    ("labels", "user_id"),
    [
        ((), None),
        (("notes",), None),
        (("{agent_id}",), None),
        (("{user_id}",), "ana"),
        (("{user_id}", "{user_id}"), None),
        (("{user_id}", "{user}"), None),
        (("{user_id}", ""), None),
        (("{user_id}", 3), None),
        ("{user_id}", None),
        ((), ""),
        ((), "a\nb"),
    ],
)
def test_layouts_that_are_refused(labels: Any, user_id: str | None) -> None:
    with pytest.raises(InvalidInputError):
        Layout(labels, user_id)


@pytest.mark.parametrize("path", [("notes", "ana"), ("memories",), (), ("memories", "  "), ("memories", "x" * 300)])
def test_paths_that_are_refused(path: tuple[str, ...]) -> None:
    with pytest.raises(ScopeError):
        Layout(("memories", "{user_id}")).scope_of(path)


def test_agents_and_runs_narrow_within_the_user(open_memory: Callable[..., Any], light_surprise: Any) -> None:
    store = NscmaStore(open_memory(surprise_model=light_surprise), layout=("{user_id}", "{agent_id}", "{run_id}"))
    for path in (("ana",), ("ana", "cook"), ("ana", "cook", "r1"), ("ana", "driver"), ("bob", "cook")):
        store.put(path, "k", {"text": f"a note of {' '.join(path)}"})
    memory = store.memory
    assert [one.text for one in memory.get_all(user_id="ana", agent_id="cook")] == [
        "a note of ana cook",
        "a note of ana cook r1",
    ]
    assert [one.text for one in memory.get_all(user_id="ana", run_id="r1")] == ["a note of ana cook r1"]
    assert len(store.search(("ana",))) == 4
    assert {one.namespace for one in store.search(("ana", "cook"), query="note")} == {
        ("ana", "cook"),
        ("ana", "cook", "r1"),
    }
    assert store.list_namespaces(prefix=("ana", "*", "r1")) == [("ana", "cook", "r1")]
