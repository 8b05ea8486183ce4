"""Replies may repeat what they were written from: they are erased, hidden and restored with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.core.errors import StoreBusyError
from nscma_torch.ingest.writer import Writer
from nscma_torch.llm.engines.contract import Request
from nscma_torch.reading.unknown_answer import UNKNOWN
from tests.controller.scripted import ScriptedEngine, act, answering

SECRET = "zebra4711quux"
START = datetime(2026, 3, 1, tzinfo=UTC)
Opener = Callable[..., Controller]


def parrot(form: str, quoted: Mapping[str, Any], request: Request) -> Any:
    """Repeats the secret wherever a prompt shows it, searches for it where none does, and knows nothing else."""
    told = SECRET if SECRET in request.turns[-1].content else "ok"
    replies = {"RolledSummary": {"summary": told}, "SearchAct": act("retrieve_episodic", query=SECRET)}
    return replies.get(form) or answering(form, quoted, SECRET, SECRET) or {"known": True, "text": told}


def assert_no_byte(folder: Path, text: str = SECRET) -> None:
    for path in folder.glob("store.db*"):
        assert text.encode() not in path.read_bytes()


@pytest.mark.parametrize("turns", [1, 2, 4, 12])
def test_no_reply_keeps_an_erased_message(converse: Opener, tmp_path: Path, turns: int) -> None:
    controller = converse(ScriptedEngine(parrot), active_turns=2, recent_turns=1, summary_batch=2)
    before = controller.turn("I like tea.", now=START)
    secret = controller.turn(f"My locker code is {SECRET}.", now=START + timedelta(hours=1))
    for i in range(turns):
        repeated = controller.turn(f"I put lamp {i} into room {i + 20}.", now=START + timedelta(hours=2 + i))
        assert repeated.text == SECRET, "the context, the replies there or the summary showed it"
    controller.memory.erase(user_id="ada", memory_id=secret.turn_id)
    assert_no_byte(tmp_path)
    assert controller.memory.get(before.reply_id, user_id="ada") is not None, "what came before stays"
    assert len(controller.memory.get_all(user_id="ada", limit=None)) == 2 + turns
    assert controller.memory.verify() == []


def test_ids_of_messages_that_stay_are_no_remains(converse: Opener) -> None:
    controller = converse(ScriptedEngine(parrot))
    secret = controller.turn(f"My locker code is {SECRET}.", now=START)
    later = controller.turn("I put a lamp into room 20.", now=START + timedelta(hours=1))
    receipt = controller.memory.erase(user_id="ada", memory_id=secret.turn_id)
    assert controller.memory.get(later.turn_id, user_id="ada") is not None
    assert controller.memory.get(later.reply_id, user_id="ada") is None, "its metadata names the turn, which stays"
    assert receipt.found == 0


@pytest.mark.parametrize("said", ["Tell me all that I like.", "Count all that I like."])
def test_every_fact_that_was_shown_counts(converse: Opener, tmp_path: Path, said: str) -> None:
    liked = ["chess", "tennis", "jazz", "sushi", "opera", "hiking", "coffee", "poetry", "skiing", "yoga"]

    def script(form: str, quoted: Mapping[str, Any], request: Request) -> Any:
        if form == "DraftForm":
            return {"known": False, "text": "?"}
        if form == "SearchAct" or (form == "Act" and "found" not in quoted):
            return act("retrieve_semantic", entity="user")
        if form == "Act":
            return act("answer", text=" ".join(one["text"] for one in quoted["found"]), evidence=[1])
        shown = [name for name in liked if any(f" likes {name}" in line for line in quoted["lines"])]
        return answering(form, quoted, "user likes", ", ".join(shown))

    controller = converse(ScriptedEngine(script), flush=True, top_k=5, config={"facts": {"answer": False}})
    memory = controller.memory
    added = {name: memory.add(f"I like {name}.", user_id="ada")[0].id for name in liked}
    memory.flush()
    answer = controller.turn(said)
    told = [name for name in liked if name in answer.text]
    assert len(told) > 5
    reply = memory.get(answer.reply_id, user_id="ada")
    assert reply is not None and {added[name] for name in told} <= set(reply.metadata["evidence"])
    memory.erase(user_id="ada", memory_id=added[told[-1]])
    assert memory.get(answer.reply_id, user_id="ada") is None
    assert_no_byte(tmp_path, told[-1])


def test_replies_are_hidden_and_come_back_with_what_they_repeat(converse: Opener) -> None:
    engine = ScriptedEngine(parrot)
    controller = converse(engine)
    memory = controller.memory
    told = [controller.turn(text) for text in (f"My code is {SECRET}.", "I like tea.", "I like jam.")]
    assert memory.delete(told[0].turn_id, user_id="ada")
    for said in ("Say something.", "What is my code?"):
        controller.turn(said)
        assert SECRET not in engine.requests[-1].turns[-1].content.partition("\n\n")[0]
    assert not any(SECRET in hit.text for hit in memory.search(SECRET, user_id="ada"))
    memory.delete(told[2].turn_id, user_id="ada")
    memory.restore(told[0].turn_id, user_id="ada")
    there = [memory.get(answer.reply_id, user_id="ada") is not None for answer in told]
    assert there == [True, True, False], "the last one rests on a message that is still hidden"


@pytest.mark.parametrize(
    ("during", "said"),
    [("RolledSummary", ""), ("DraftForm", "Say something."), ("ShortAnswerForm", "What is my locker code?")],
)
def test_what_is_erased_while_a_model_writes_stays_erased(
    converse: Opener, tmp_path: Path, during: str, said: str
) -> None:
    ids: list[str] = []

    def script(form: str, quoted: Mapping[str, Any], request: Request) -> Any:
        if form == during and SECRET in request.turns[-1].content and ids:
            controller.memory.erase(user_id="ada", memory_id=ids.pop())
        return parrot(form, quoted, request)

    controller = converse(ScriptedEngine(script), active_turns=2, recent_turns=1, summary_batch=2)
    memory = controller.memory
    secret = memory.add(f"My locker code is {SECRET}.", user_id="ada", run_id="chat")[0].id
    for liked in ("tea", "jam", "figs"):
        memory.add(f"I like {liked}.", user_id="ada", run_id="chat")
    if said:
        controller.working_memory()
        ids.append(secret)
        with pytest.raises(StoreBusyError, match="nothing of this turn"):
            controller.turn(said)
        assert len(memory.get_all(user_id="ada")) == 3
    else:
        ids.append(secret)
        assert SECRET not in str(controller.working_memory())
    assert not ids
    assert_no_byte(tmp_path)


@pytest.mark.parametrize("said", ["Say something.", "What is my locker code?"])
@pytest.mark.parametrize("before", ["the turn", "the reply"])
def test_what_is_erased_while_a_turn_is_stored_stays_erased(
    converse: Opener, tmp_path: Path, before: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = converse(ScriptedEngine(parrot))
    memory = controller.memory
    secret = memory.add(f"My locker code is {SECRET}.", user_id="ada", run_id="chat")[0].id
    prepare, calls = Writer._prepare, 0

    def erasing(self: Writer, *arguments: Any) -> Any:
        """Weighs and indexes as ever; between that and the transaction somebody erases the secret."""
        nonlocal calls
        calls += 1
        weighed = prepare(self, *arguments)
        if calls == (1 if before == "the turn" else 2):
            memory.erase(user_id="ada", memory_id=secret)
        return weighed

    monkeypatch.setattr(Writer, "_prepare", erasing)
    stored = (
        "nothing of this turn was stored" if before == "the turn" else "what you said was stored, the reply was not"
    )
    with pytest.raises(StoreBusyError, match=stored):
        controller.turn(said)
    left = [episode.text for episode in memory.get_all(user_id="ada")]
    assert left == ([] if before == "the turn" else [said])
    assert_no_byte(tmp_path)
    monkeypatch.undo()
    assert controller.turn(said).text == ("ok" if said == "Say something." else UNKNOWN)
    assert memory.verify() == []
