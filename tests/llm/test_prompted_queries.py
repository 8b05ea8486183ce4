"""Query strategies by a model: made-up passages and the parts of a question."""

from __future__ import annotations

import pytest

from nscma_torch.core.errors import ReplyError
from nscma_torch.llm.prompted import PromptedTasks
from tests.llm.scripted import ScriptedEngine


def test_the_question_is_quoted_and_each_part_is_given_once() -> None:
    asked: list[str] = []

    def reply(data: dict[str, str]) -> dict[str, list[str]]:
        asked.append(data["question"])
        return {"questions": ["Who is it?", "Where is it?", "Who is it?"]}

    assert PromptedTasks(ScriptedEngine(reply)).divide("Who, and where?") == ["Who is it?", "Where is it?"]
    assert asked == ["Who, and where?"]


def test_passages_are_made_up_without_hits() -> None:
    engine = ScriptedEngine(lambda _: {"passages": ["I moved to Porto."]})
    assert PromptedTasks(engine).imagine("Where do I live?", []) == ["I moved to Porto."]


def test_no_passage_at_all_is_an_error() -> None:
    with pytest.raises(ReplyError):
        PromptedTasks(ScriptedEngine(lambda _: {"passages": []})).imagine("Where do I live?", [])
