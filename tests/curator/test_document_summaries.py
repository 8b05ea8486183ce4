"""Units of kind `document_summary`: S = LLM(D) of each session and added document, gone with any message of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.core.records import Message, Unit
from tests.helpers.noting import NotedTasks, day, opener

Open = Callable[..., Memory]
WHOLE: dict[str, Any] = {"facts": {"units": ["document_summary"]}, "retrieval": {"kinds": ["document_summary"]}}


class Joining(NotedTasks):
    """A summary is the last words of all texts, or what it is told."""

    def __init__(self) -> None:
        self.summed: list[list[str]] = []
        self.told: list[str] | None = None

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        self.summed += [[unit.text for unit in group] for group in groups]
        return (
            [" ".join(unit.text.split()[-1] for unit in group) for group in groups] if self.told is None else self.told
        )


def add(memory: Memory, text: str, at: float, session: str | None = None, source: str | None = None) -> str:
    role = "document" if source else "user"
    message = Message(role, text, day(at), session=session, source=source)
    return memory.add([message], user_id="ada", now=day(at))[0].id


@pytest.fixture
def tasks() -> Joining:
    return Joining()


@pytest.fixture
def memory(open_memory: Open, light_surprise: Any, tasks: Joining) -> Memory:
    return opener(open_memory, light_surprise)(config=WHOLE, tasks=tasks)


def documents(memory: Memory) -> dict[str, tuple[str, ...]]:
    return {one.text: one.episode_ids for one in memory.derived("document_summary", user_id="ada")}


def test_each_document_has_one(memory: Memory, tasks: Joining) -> None:
    said = [
        ("I like tea", 1.0, "s1", None),
        ("I like rice", 1.1, "s1", None),
        ("My boat is red", 2.0, "s2", None),
        ("It leaks", 3.0, None, None),
        ("It sank", 3.1, None, None),
        ("We swam", 4.0, None, None),
        ("Chapter one: whales", 1.0, None, "book.md"),
        ("Chapter two: ships", 9.0, None, "book.md"),
    ]
    ids = {text: add(memory, text, *more) for text, *more in said}  # type: ignore[arg-type]
    assert memory.sleep(user_id="ada", now=day(10)).failures == ()
    expected: dict[tuple[Any, ...], list[str]] = {}
    for text, at, session, source in said:  # of a session, of a day without sessions, of a file
        key = (source,) if source else (session,) if session else (int(at),)
        expected.setdefault(key, []).append(text)
    whole = {" ".join(text.split()[-1] for text in own): tuple(ids[text] for text in own) for own in expected.values()}
    assert documents(memory) == whole and sorted(tasks.summed) == sorted(expected.values())
    hits = memory.search("whales ships", user_id="ada", now=day(10))
    assert {hit.text: hit.unit.episode_ids for hit in hits} == {
        text: whole[text] for text in (hit.text for hit in hits)
    }
    assert hits[0].text == "whales ships" and {hit.unit.kind for hit in hits} == {"document_summary"}
    assert memory.verify() == []
    tasks.summed.clear()
    assert memory.sleep(user_id="ada", now=day(11)).derived_texts == 0 and tasks.summed == []


def test_a_change_makes_it_anew_and_an_erasure_leaves_nothing(memory: Memory, tasks: Joining) -> None:
    first = add(memory, "I like tea", 1, "s1")
    add(memory, "I like rice", 2, "s1")
    add(memory, "My boat is red", 3, "s2")
    memory.sleep(user_id="ada", now=day(4))
    memory.update(first, "I like zanzibar", user_id="ada", now=day(5))
    assert documents(memory).keys() == {"red"}, "at once"
    memory.sleep(user_id="ada", now=day(6))
    assert documents(memory).keys() == {"red", "zanzibar rice"}
    assert memory.erase(user_id="ada", memory_id=first).found == 0
    assert documents(memory).keys() == {"red"}
    memory.sleep(user_id="ada", now=day(7))
    assert documents(memory).keys() == {"red", "rice"} and memory.verify() == []


def test_it_is_named_where_it_is_searched(open_memory: Open, light_surprise: Any, tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=r"add it to facts\.units"):
        Memory(tmp_path / "store.db", config={"retrieval": {"kinds": ["document_summary"]}})
    plain = opener(open_memory, light_surprise)("plain.db")
    add(plain, "I like tea", 1)
    assert plain.sleep(user_id="ada", now=day(2)).derived_texts == 0
    with pytest.raises(InvalidInputError, match=r"add it to facts\.units"):
        plain.search("tea", user_id="ada", kinds=["document_summary"])


@pytest.mark.parametrize("told", [[], ["one", "two"], [" "]])
def test_bad_summaries_are_not_stored(memory: Memory, tasks: Joining, told: list[str]) -> None:
    add(memory, "I like tea", 1)
    tasks.told = told
    (failure,) = memory.sleep(user_id="ada", now=day(2)).failures
    assert "JobError" in failure and documents(memory) == {}
