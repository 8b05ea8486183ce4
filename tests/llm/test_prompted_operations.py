"""mem0's operations by a language model: known facts are numbered, and what cannot be applied is asked once more."""

from __future__ import annotations

from typing import Any

import pytest

from nscma_torch.core.errors import ReplyError
from nscma_torch.core.records import FactOperation, ToldFact
from nscma_torch.llm.prompted import PromptedTasks
from tests.llm.scripted import ScriptedEngine, data_of, unit

NEW = ToldFact("new", "Ben lives in Oslo", unit("I moved to Oslo.", "Ben", "9"))
KNOWN = [
    ToldFact("f-rome", "Ben lives in Rome", unit("I live in Rome.", "Ben", "1")),
    ToldFact("f-tea", "Ben likes tea", unit("Tea for me.", "Ben", "2")),
]


def operate(reply: dict[str, Any], known: list[ToldFact] | None = None) -> tuple[FactOperation, ScriptedEngine]:
    engine = ScriptedEngine(lambda _: reply)
    (operation,) = PromptedTasks(engine).operate([(NEW, KNOWN if known is None else known)])
    return operation, engine


def test_numbers_stand_for_facts() -> None:
    assert operate({"operation": "UPDATE", "facts": [1]})[0] == FactOperation("UPDATE", ("f-rome",))
    assert operate({"operation": "DELETE", "facts": [2, 1]})[0] == FactOperation("DELETE", ("f-tea", "f-rome"))
    assert operate({"operation": "NOOP", "facts": [2]})[0] == FactOperation("NOOP", ("f-tea",))
    assert operate({"operation": "ADD", "facts": [1]})[0] == FactOperation("ADD"), "ADD changes no fact"
    operation, engine = operate({"operation": "ADD", "facts": []})
    assert operation == FactOperation("ADD")
    data = data_of(engine.batches[0][0].turns)
    assert data["new"]["fact"] == "Ben lives in Oslo" and data["new"]["text"] == "I moved to Oslo."
    assert {number: fact["fact"] for number, fact in data["known"].items()} == {
        "1": "Ben lives in Rome",
        "2": "Ben likes tea",
    }
    assert data["known"]["1"]["by"] == "Ben" and data["known"]["1"]["said"]
    assert "f-rome" not in engine.batches[0][0].turns[-1].content, "no id that a model could get wrong"


@pytest.mark.parametrize(
    "reply",
    [
        {"operation": "UPDATE", "facts": [3]},
        {"operation": "UPDATE", "facts": []},
        {"operation": "REMOVE", "facts": [1]},
        {"operation": "DELETE", "facts": "1"},
    ],
)
def test_what_cannot_be_applied_is_asked_once_more_and_then_fails(reply: dict[str, Any]) -> None:
    engine = ScriptedEngine(lambda _: reply)
    with pytest.raises(ReplyError):
        PromptedTasks(engine).operate([(NEW, KNOWN)])
    assert len(engine.batches) == 2


def test_a_second_reply_may_put_it_right() -> None:
    replies = iter([{"operation": "UPDATE", "facts": [9]}, {"operation": "UPDATE", "facts": [1]}])
    engine = ScriptedEngine(lambda _: next(replies))
    assert PromptedTasks(engine).operate([(NEW, KNOWN)]) == [FactOperation("UPDATE", ("f-rome",))]


def test_of_more_facts_than_fit_the_most_similar_are_shown() -> None:
    known = [ToldFact(f"f{i}", f"Ben likes thing {i}", unit("long " * 40, "Ben", str(i))) for i in range(40)]
    engine = ScriptedEngine(lambda _: {"operation": "ADD", "facts": []}, context=4096)
    PromptedTasks(engine).operate([(NEW, known)])
    shown = data_of(engine.batches[0][0].turns)["known"]
    assert 0 < len(shown) < 40
    assert [fact["fact"] for fact in shown.values()] == [f"Ben likes thing {i}" for i in range(len(shown))]
