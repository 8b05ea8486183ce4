"""Notes between the actions: in the trace and in the next prompt, within their budget, and gone after the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.llm.engines.contract import Request
from nscma_torch.llm.engines.structured import schema_of
from nscma_torch.llm.prompts.acting import NotedAct, NotedSearchAct
from tests.controller.scripted import ScriptedEngine, act, quoted_in

START = datetime(2026, 3, 1, tzinfo=UTC)
Opener = Callable[..., Controller]
NOTES = ("the lamp may be in one of two rooms", "zebra4711quux", "room 12 is the newer one")


def noting(form: str, quoted: Mapping[str, Any], _: Request) -> Any:
    """Looks twice, each time with a note, then answers with a third; for a question it searches with the first note."""
    if form == "ContainedForm":
        return {"contain_answer": False}
    if form == "NotedSearchAct":
        return {"note": NOTES[0], **act("retrieve_episodic", query="room")}
    if form == "DraftForm":
        return {"known": False, "text": "?"}
    done = len(quoted.get("done", []))
    if form == "Act":
        return act("retrieve_episodic", query=f"lamp {done}") if done < 2 else act("answer", text="12", evidence=[])
    move = act("answer", text="room 12", evidence=[]) if done == 2 else act("retrieve_episodic", query=f"lamp {done}")
    return {"note": NOTES[done], **move}


def notes_in(engine: ScriptedEngine) -> list[list[str]]:
    return [quoted_in(one).get("notes", []) for one in engine.requests]


def later(hours: int) -> datetime:
    return START + timedelta(hours=hours)


def test_off_by_default(converse: Opener) -> None:
    engine = ScriptedEngine(noting)
    answer = converse(engine).turn("Find the lamp.")
    assert engine.forms() == ["DraftForm", "Act", "Act", "Act"] and not any(notes_in(engine))
    assert not any(line.startswith("note:") for line in answer.trace)
    assert all('"note"' not in str(request.turns) for request in engine.requests)


def test_notes_are_in_the_trace_and_in_the_next_prompt(converse: Opener, tmp_path: Path) -> None:
    engine = ScriptedEngine(noting)
    controller = converse(engine, note_tokens=100)
    answer = controller.turn("Find the lamp.", now=START)
    assert engine.forms() == ["DraftForm", "NotedAct", "NotedAct", "NotedAct"] and answer.text == "room 12"
    assert notes_in(engine) == [[], [], [NOTES[0]], [*NOTES[:2]]], "as data, before each step"
    assert [line for line in answer.trace if line.startswith("note:")] == [f"note: {note}" for note in NOTES]
    order = [line.partition("(")[0].partition(":")[0] for line in answer.trace]
    assert order[2:] == ["note", "retrieve_episodic", "note", "retrieve_episodic", "note", "answer"]
    assert '"note": "…", "act"' in engine.requests[1].turns[-1].content
    for path in tmp_path.glob("store.db*"):
        assert NOTES[1].encode() not in path.read_bytes(), "they are not stored"
    engine.requests.clear()
    controller.turn("And the ladder.", now=later(1))
    assert notes_in(engine)[0] == [] == notes_in(engine)[1]


def test_the_search_for_a_question_is_noted(converse: Opener) -> None:
    engine = ScriptedEngine(noting)
    answer = converse(engine, note_tokens=100).turn("Where is my lamp?", now=START)
    assert engine.forms() == ["NotedSearchAct"] and f"note: {NOTES[0]}" in answer.trace
    assert '"note": "…", "act"' in engine.requests[0].turns[-1].content


def test_the_oldest_leave_where_the_budget_is_full(converse: Opener) -> None:
    engine = ScriptedEngine(noting)
    controller = converse(engine, note_tokens=12)  # a note of eight words is longer, with its spaces
    answer = controller.turn("Find the lamp.", now=START)
    assert notes_in(engine) == [[], [], [], [NOTES[1]]]
    assert sum(line.startswith("note:") for line in answer.trace) == 3, "the trace has them all"


def test_kept_notes_open_the_next_turn_and_go_with_what_they_rest_on(converse: Opener, tmp_path: Path) -> None:
    engine = ScriptedEngine(noting)
    controller = converse(engine, note_tokens=100, keep_notes=True)
    memory = controller.memory
    stored = memory.add("I put the lamp 0 in room 12.", user_id="ada", now=START)[0].id
    first = controller.turn("Find the lamp.", now=START)
    reply = memory.get(first.reply_id, user_id="ada")
    assert reply is not None and reply.metadata["notes"] == [*NOTES]
    engine.requests.clear()
    second = controller.turn("And the ladder.", now=later(1))
    assert notes_in(engine)[0] == [*NOTES] and notes_in(engine)[2] == [*NOTES, NOTES[0]]
    again = memory.get(second.reply_id, user_id="ada")
    assert again is not None and again.metadata["notes"] == [*NOTES], "each keeps its own"
    assert memory.erase(user_id="ada", memory_id=stored).found == 0
    assert memory.get(first.reply_id, user_id="ada") is None
    for path in tmp_path.glob("store.db*"):
        assert NOTES[1].encode() not in path.read_bytes()


def test_rules_note_nothing(converse: Opener) -> None:
    answer = converse(note_tokens=100, keep_notes=True).turn("Where is the lamp?")
    assert not any(line.startswith("note:") for line in answer.trace)


@pytest.mark.parametrize("form", [NotedAct, NotedSearchAct])
def test_the_form_is_bounded_and_the_note_comes_first(form: Any) -> None:
    schema = schema_of(form)
    assert list(schema["properties"]) == ["note", "act"] and schema["required"] == ["note", "act"]
