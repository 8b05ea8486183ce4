"""Arguments of a wrong type: one clear error that says what to give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EmptyTextError, InvalidInputError

CALLS: dict[str, Callable[[Memory, Any], object]] = {
    "limit": lambda memory, bad: memory.decisions(user_id="ada", limit=bad),
    "top_k": lambda memory, bad: memory.find_skills("a release", user_id="ada", top_k=bad),
    "top_k of search": lambda memory, bad: memory.search("tea", user_id="ada", top_k=bad),
    "the question": lambda memory, bad: memory.ask(bad, user_id="ada"),
    "the situation": lambda memory, bad: memory.find_skills(bad, user_id="ada"),
    "the subject": lambda memory, bad: memory.timeline(bad, "lives_in", user_id="ada"),
    "the relation": lambda memory, bad: memory.timeline("user", bad, user_id="ada"),
    "helpful": lambda memory, bad: memory.feedback("some id", user_id="ada", helpful=bad),
    "success": lambda memory, bad: memory.skill_outcome("some id", user_id="ada", success=bad),
    "archived": lambda memory, bad: memory.skills(user_id="ada", archived=bad),
    "skill_id": lambda memory, bad: memory.erase(user_id="ada", skill_id=bad),
}
BAD = {"limit": "5", "top_k": "3", "top_k of search": 2.5, "helpful": "no", "success": 1}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_named(name: str, memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match=name.removesuffix(" of search")):
        CALLS[name](memory, BAD.get(name, 5))


@pytest.mark.parametrize("name", ["the question", "the situation", "the subject", "the relation"])
def test_no_words_at_all(name: str, memory: Memory) -> None:
    with pytest.raises(EmptyTextError, match=f"{name} is empty"):
        CALLS[name](memory, " ")


@pytest.mark.parametrize("count", [0, -1, True])
def test_a_number_of_results_is_at_least_one(count: int, memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        memory.decisions(user_id="ada", limit=count)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": None}, "the query must be a string, got NoneType"),
        ({"query": " "}, "the query is empty"),
        ({"threshold": "0.3"}, "threshold is '0.3', it must be a finite number"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"kinds": "chunk"}, "kinds is 'chunk', it must be a list"),
        ({"kinds": ()}, r"kinds is \(\), it must be a list"),
        ({"kinds": ["chunks"]}, "unknown kind 'chunks'"),
    ],
)
def test_searches_that_mean_nothing(arguments: dict[str, Any], said: str, filled: Memory) -> None:
    with pytest.raises(InvalidInputError, match=said):
        filled.search(**{"query": "lantern", "user_id": "ada", **arguments})
