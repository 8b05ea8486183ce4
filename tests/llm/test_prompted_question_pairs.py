"""Question-answer pairs by a model: of large sittings part by part, and no name that these lack."""

from __future__ import annotations

from typing import Any

from nscma_torch.core.records import QAPair
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.llm.prompts.question_pairs import MOST_SHOWN
from tests.llm.scripted import ScriptedEngine, unit

SAID = ("Where do you live now, Ben?", "I moved to Porto.", "I like tea.")


def pair(question: str, answer: str, *evidence: int) -> dict[str, Any]:
    return {"question": question, "answer": answer, "evidence": list(evidence)}


def test_pairs_have_the_places_of_their_evidence() -> None:
    told = pair("Where does Ben live?", "Porto", 2, 1, 2), pair("What does Ludger like?", "tea", 3)
    engine = ScriptedEngine(lambda _: {"pairs": list(told)})
    tasks = PromptedTasks(engine)
    (found,) = tasks.pairs([[unit(text) for text in SAID]])
    assert found == [
        QAPair("Where does Ben live?", "Porto", (0, 1), "Where does Ben live?"),
        QAPair("What does Ludger like?", "tea", (2,), "What does Ludger like?"),
    ]
    assert tasks.tally["ungrounded"] == 0


def test_a_question_about_what_nobody_named_is_dropped() -> None:
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"pairs": [pair("Where does Zoe live?", "Porto", 2)]}))
    assert tasks.pairs([[unit(text) for text in SAID]]) == [[]]
    assert tasks.tally["ungrounded"] == 1


def test_a_large_sitting_is_read_in_parts() -> None:
    said = [unit(f"I like number {i}.") for i in range(MOST_SHOWN + 5)]

    def reply(data: dict[str, Any]) -> dict[str, Any]:
        return {"pairs": [pair("What is liked?", data["texts"]["5"]["text"], 5)]}

    engine = ScriptedEngine(reply, context=32_768)
    (found,) = PromptedTasks(engine).pairs([said])
    assert [one.sources for one in found] == [(4,), (MOST_SHOWN + 4,)]
    assert [one.answer for one in found] == [said[4].text, said[MOST_SHOWN + 4].text]
