"""Lines by a model on days, on all days, and on questions: evidence for each, of parts of a large group too."""

from __future__ import annotations

from typing import Any

import pytest

from nscma_torch.core.errors import EngineRefusedError
from nscma_torch.core.records import SourcedLine
from nscma_torch.llm.prompted import PromptedTasks
from tests.llm.scripted import ScriptedEngine, unit

SAID = ("I moved to Bergen.", "Bergen is wet.", "I sold 2 boats.")


def line(text: str, *evidence: int, confidence: str = "high") -> dict[str, Any]:
    return {"text": text, "evidence": list(evidence), "confidence": confidence}


@pytest.mark.parametrize("kind", ["daily_summary", "global_summary", "daily_insight", "portrait"])
def test_a_line_needs_one_text_that_bears_it_out(kind: str) -> None:
    written = line("Ludger moved to Bergen.", 1), line("Ludger sold 3 boats.", 3), line("Ludger likes rain.", 2)
    tasks = PromptedTasks(ScriptedEngine(lambda _: {"lines": list(written)}))
    found = tasks.lines(kind, [[unit(text) for text in SAID]], None if kind == "daily_insight" else 50)
    assert found == [[SourcedLine("Ludger moved to Bergen.", (0,), 0.9), SourcedLine("Ludger likes rain.", (1,), 0.9)]]
    assert tasks.tally["ungrounded"] == 1


def test_the_words_are_asked_for() -> None:
    engine = ScriptedEngine(lambda _: {"lines": []})
    PromptedTasks(engine).lines("daily_summary", [[unit("hello")]], 37)
    assert "at most 37 words in total" in engine.batches[0][0].turns[0].content


def test_all_of_a_large_group_is_summed_up_with_the_places_of_its_texts() -> None:
    """100 lines are put in three parts; what is written on these is put once more, and cites the first ones."""
    asked: list[list[str]] = []

    def script(data: dict[str, Any]) -> Any:
        texts = [one["text"] for one in data["texts"].values()]
        asked.append(texts)
        return {"lines": [line("They told some.", 1, len(texts))] if len(texts) > 9 else [line("Joined.", 1, 3)]}

    group = [unit(f"I told {n} texts.") for n in range(100)]
    groups = [group, [unit("I told 2 texts.")] * 3]
    (found, small) = PromptedTasks(ScriptedEngine(script)).lines("global_summary", groups, 50)
    assert sorted(map(len, asked)) == [3, 3, 20, 40, 40]
    assert asked[-1] == ["They told some."] * 3
    assert found == [SourcedLine("Joined.", (0, 39, 80, 99), 0.9)]
    assert small == [SourcedLine("Joined.", (0, 2), 0.9)]


def test_parts_that_do_not_become_less_are_refused() -> None:
    def script(data: dict[str, Any]) -> Any:
        return {"lines": [line("So it is.", 1)] * min(20, len(data["texts"]))}

    tasks = PromptedTasks(ScriptedEngine(script, context=2600))
    group = [unit("word " * 300) for _ in range(4)]
    with pytest.raises(EngineRefusedError, match=r"raise llm\.context"):
        tasks.lines("global_summary", [group], 50)


def test_questions_and_what_is_concluded_about_them() -> None:
    def script(data: dict[str, Any]) -> Any:
        if "memories" in data:
            return {"questions": ["Where does Ludger live?", "Where does Ludger live?", "What does Ludger sell?"]}
        town = "Bergen" if "live" in data["question"] else "Oslo"
        return {"lines": [line(f"It is about {town}.", 1, 2, confidence="medium")]}

    tasks = PromptedTasks(ScriptedEngine(script))
    units = [unit(text) for text in SAID]
    assert tasks.questions([units], 3) == [["Where does Ludger live?", "What does Ludger sell?"]]
    asked = [("Where does Ludger live?", units[:2]), ("What does Ludger sell?", []), ("What else?", units[1:])]
    found = tasks.reflections(asked, 5)
    assert found == [[SourcedLine("It is about Bergen.", (0, 1), 0.6)], [], []]
    assert tasks.tally["ungrounded"] == 1, "nobody spoke of Oslo"
