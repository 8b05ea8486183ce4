"""Nothing crosses a user, an agent or a run."""

from __future__ import annotations

import pytest

from nscma_torch.compat.mem0 import operations
from nscma_torch.compat.mem0.scopes import NO_USER
from nscma_torch.core.errors import ScopeError

SCOPES = [
    {"user_id": "ana"},
    {"user_id": "bob"},
    {"user_id": "ana", "agent_id": "bot"},
    {"user_id": "bob", "agent_id": "bot"},
    {"user_id": "ana", "agent_id": "bot", "run_id": "1"},
    {"agent_id": "bot"},
    {"agent_id": "bot", "run_id": "1"},
    {"run_id": "1"},
]


def told(scope):
    return "I like tea, says " + " ".join(f"{key}={value}" for key, value in scope.items())


@pytest.fixture
def filled(m):
    for scope in SCOPES:
        m.add(told(scope), infer=False, **scope)
    return m


@pytest.mark.parametrize("scope", SCOPES, ids=told)
def test_a_read_sees_its_scope_alone(filled, scope):
    """What was added with at least these ids, and of no other user; without a user, what nobody's user added."""
    of_user = [one for one in SCOPES if one.get("user_id") == scope.get("user_id")]
    within = [told(one) for one in of_user if scope.items() <= one.items()]
    assert sorted(one["memory"] for one in filled.get_all(filters=scope)["results"]) == sorted(within)
    assert sorted(one["memory"] for one in filled.search("tea", filters=scope)["results"]) == sorted(within)
    assert sorted(one["memory"] for one in filled.search("tea", **scope)["results"]) == sorted(within)


OTHERS = [{"OR": [{"user_id": "bob"}]}, {"AND": [{"user_id": "bob"}]}, {"NOT": [{"user_id": "ana"}]}]


@pytest.mark.parametrize("extra", OTHERS, ids=str)
def test_no_filter_leads_to_another_user(filled, extra):
    assert filled.search("tea", filters={"user_id": "ana", **extra})["results"] == []
    assert filled.get_all(filters={"user_id": "ana", **extra})["results"] == []


def test_any_agent_of_a_user(filled):
    found = filled.get_all(filters={"user_id": "ana", "agent_id": "*"})["results"]
    assert {one["agent_id"] for one in found} == {"bot"} and len(found) == 2


def test_memories_without_a_user_have_no_user(filled):
    found = filled.get_all(filters={"agent_id": "bot"})["results"]
    assert len(found) == 2 and all("user_id" not in one for one in found)
    with pytest.raises(ScopeError):
        filled.get_all(filters={"user_id": NO_USER})


def test_metadata_cannot_move_a_memory(m, caplog):
    key = m.add("I like tea.", user_id="ana", metadata={"user_id": "bob", "agent_id": "x", "a": 1})["results"][0]["id"]
    m.update(key, metadata={"user_id": "bob", "run_id": "x", "b": 2})
    assert m.get(key)["metadata"] == {"a": 1, "b": 2}
    assert m.get(key)["user_id"] == "ana" and not {"agent_id", "run_id"} & m.get(key).keys()
    assert m.get_all(filters={"user_id": "bob"}) == {"results": []}
    assert "metadata['user_id'] is ignored" in caplog.text


def test_an_operation_that_is_bound_to_a_user_finds_no_other(m):
    key = m.add("I like tea.", user_id="ana")["results"][0]["id"]
    memory = m.nscma
    assert operations.get(memory, key, user_id="bob") is None
    assert operations.history_events(memory, key, user_id="bob") == []
    for call in (operations.delete, lambda *a, **k: operations.update(*a, "x", **k)):
        with pytest.raises(ValueError, match="not found"):
            call(memory, key, user_id="bob")
    assert operations.get(memory, key, user_id="ana")["memory"] == "I like tea."


def test_numbers_and_blanks_in_ids(m):
    m.add("I like tea.", user_id=7)
    assert len(m.get_all(filters={"user_id": " 7 "})["results"]) == 1
