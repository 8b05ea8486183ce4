"""Which kinds of units are made of what was read: as configured, with the facts in any case."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import ConfigError, InvalidInputError

SAID = "I live in Porto with my sister Ana."


def made(open_memory: Callable[..., Memory], units: list[str]) -> tuple[dict[str, int], Any]:
    config = {"facts": {"units": units}, "gate": {"rule": "everything"}}
    with open_memory("-".join(["of", *units]), config) as memory:
        memory.add(SAID, user_id="ada")
        memory.flush()
        assert memory.verify() == []
        return dict(memory.stats().units), memory.ask("Where do I live?", user_id="ada").text


def test_only_configured_kinds_are_made_and_the_facts_stay(open_memory: Callable[..., Memory]) -> None:
    all_kinds, answer = made(open_memory, ["triple", "atomic_fact"])
    assert all_kinds["triple"] and all_kinds["atomic_fact"] and "Porto" in answer
    for units in ([], ["triple"], ["atomic_fact"]):
        kinds, answer = made(open_memory, units)
        assert kinds == {kind: count for kind, count in all_kinds.items() if kind == "chunk" or kind in units}
        assert "Porto" in answer


@pytest.mark.parametrize("kind", ["triple", "atomic_fact"])
def test_a_kind_that_is_searched_and_not_made_is_an_error(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"retrieval.kinds names '{kind}', which is disabled: add it to facts.units"):
        load_config({"facts": {"units": []}, "retrieval": {"kinds": ["chunk", kind]}})
    load_config({"facts": {"units": [kind]}, "retrieval": {"kinds": ["chunk", kind]}})
    load_config({"facts": {"units": []}, "retrieval": {"kinds": ["chunk", "summary"]}})


def test_nothing_is_made_that_is_not_searched_and_asking_for_it_is_an_error(open_memory: Callable[..., Memory]) -> None:
    assert load_config(None).facts.units == ()
    with open_memory(config={"facts": {}}) as memory:
        memory.add(SAID, user_id="ada")
        memory.flush()
        assert set(memory.stats().units) == {"chunk"}
        for kind in ("triple", "atomic_fact"):
            with pytest.raises(InvalidInputError, match=f"kind '{kind}' are disabled: add it to facts.units"):
                memory.search("Porto", user_id="ada", kinds=["chunk", kind])


def test_what_was_read_is_read_again_under_another_configuration(open_memory: Callable[..., Memory]) -> None:
    said = [SAID, "I work as a nurse.", "Last week I moved from Porto to Braga.", "ok"]
    with open_memory("small.db", {"facts": {}}) as memory, open_memory("whole.db") as whole:
        for each in (memory, whole):
            each.add(said, user_id="ada", agent_id="cook", timestamp="2026-03-05")
            each.flush()
        small = memory.digest()
        assert memory.reextract(user_id="ada") == 0, "said to another agent"
        read = memory.reextract(user_id="ada", agent_id="cook")
        assert 0 < read < len(said) and memory.flush() >= read
        assert memory.digest() == small and memory.verify() == []
    with open_memory("small.db") as memory, open_memory("whole.db") as whole:
        memory.reextract(user_id="ada", agent_id="cook")
        memory.flush()
        assert memory.digest() == whole.digest() != small and memory.verify() == []
        assert memory.search("Braga", user_id="ada", agent_id="cook", kinds=["triple"])
    with open_memory("small.db", {"facts": {}}) as memory:
        memory.reextract(user_id="ada", agent_id="cook")
        memory.flush()
        assert memory.digest() == small and memory.verify() == []


def test_what_is_made_of_a_faded_message_is_not_in_search(open_memory: Callable[..., Memory]) -> None:
    said, later = datetime(2024, 1, 1, tzinfo=UTC), datetime(2034, 1, 1, tzinfo=UTC)
    config = {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}}
    with open_memory("faded.db", config) as memory:
        memory.add(SAID, user_id="ada", timestamp=said, now=said)
        memory.flush()
        memory.sleep(user_id="ada", now=later)
        assert not memory.search("Porto", user_id="ada", now=later)
        memory.reextract(user_id="ada")
        memory.flush()
        assert not memory.search("Porto", user_id="ada", kinds=("chunk", "triple", "atomic_fact"), now=later)
