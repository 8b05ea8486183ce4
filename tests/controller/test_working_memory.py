"""Working memory: what is in context, what the summary covers, and that it is read from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.controller.working_memory import Exchange, Summarized, WorkingMemory
from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.core.records import Message, SourcedLine, Unit, Usage
from nscma_torch.llm.engines.contract import Request
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.controller.scripted import ScriptedEngine, act, answering

START = datetime(2026, 3, 1, tzinfo=UTC)
Opener = Callable[..., Controller]


class Joining:
    """A policy's summarizer that joins the first words, and keeps what it was handed."""

    def __init__(self, broken: bool = False) -> None:
        self.handed: list[tuple[str, list[str]]] = []
        self.broken = broken

    def summarize(self, summary: str, leaving: Sequence[Exchange]) -> Summarized:
        if self.broken:
            raise EngineUnavailableError("away")
        some = [exchange.turn.text for exchange in leaving[:4]]
        self.handed.append((summary, some))
        return Summarized(" ".join(filter(None, (summary, *(text.split()[-1] for text in some)))), len(some), Usage(1))


def tell(controller: Controller, first: int, last: int) -> None:
    for i in range(first, last):
        controller.turn(f"I put the lamp in room {i:03}", now=START + timedelta(hours=i))


def texts(memory: WorkingMemory) -> list[str]:
    return [exchange.turn.text.split()[-1] for exchange in memory.context]


def later(hours: int = 1000) -> datetime:
    return START + timedelta(hours=hours)


def test_the_last_written_turns_are_in_context_and_the_rest_in_the_summary(converse: Opener) -> None:
    controller = converse(active_turns=3, summary_batch=2)
    tell(controller, 0, 10)
    joining = Joining()
    memory, usage = controller._working.read(joining, later())
    assert texts(memory)[-3:] == ["007", "008", "009"]
    assert len(memory.context) < 3 + 2, "turns leave in batches of two"
    assert all(exchange.replies for exchange in memory.context), "replies stay with their turns"
    assert memory.summary and usage == Usage(), "the summary was made turn by turn, and is kept"


def test_the_summary_is_made_of_the_old_one_and_what_leaves(converse: Opener) -> None:
    controller = converse(active_turns=2, summary_batch=2)
    joining = Joining()
    controller.policy.summarize = joining.summarize  # type: ignore[method-assign]
    tell(controller, 0, 9)
    controller.working_memory(now=later())
    assert [some for _, some in joining.handed] == [
        ["I put the lamp in room 000", "I put the lamp in room 001"],
        ["I put the lamp in room 002", "I put the lamp in room 003"],
        ["I put the lamp in room 004", "I put the lamp in room 005"],
    ], "no turn is summarized twice"
    assert [summary for summary, _ in joining.handed] == ["", "000 001", "000 001 002 003"]


def test_it_is_the_same_after_a_restart(converse: Opener) -> None:
    first = converse(active_turns=3, summary_batch=2)
    first.instruct("Answer in verse.")
    tell(first, 0, 8)
    first.turn("From now on, call me Captain.", now=START + timedelta(hours=9))
    before = first.working_memory(now=later())
    first.memory.close()
    again = converse(active_turns=3, summary_batch=2)
    joining = Joining(broken=True)
    memory, _ = again._working.read(joining, later())
    assert memory == before and memory.summary
    assert memory.rules == ("Answer in verse.", "From now on, call me Captain.")


def test_deferred_turns_leave_it_but_for_the_newest(converse: Opener) -> None:
    controller = converse(active_turns=2, recent_turns=1, config={"gate": {"rule": "composition", "threshold": 1e6}})
    tell(controller, 0, 5)
    memory = controller.working_memory(now=later())
    assert texts(memory) == ["004"] and memory.summary == ""


def test_a_deleted_turn_leaves_the_summary(converse: Opener) -> None:
    controller = converse(active_turns=2, summary_batch=2)
    tell(controller, 0, 8)
    first = controller.memory.get_all(user_id="ada")[0]
    assert "000" in controller.working_memory(now=later()).summary
    controller.memory.delete(first.id, user_id="ada")
    assert "000" not in controller.working_memory(now=later()).summary
    controller.memory.restore(first.id, user_id="ada")
    assert "000" in controller.working_memory(now=later()).summary


def test_an_erased_turn_leaves_no_byte(converse: Opener, tmp_path: Path) -> None:
    controller = converse(active_turns=2, summary_batch=2)
    controller.turn("My sister Philippa keeps the zanzibar ledger in Aberystwyth.", now=START)
    tell(controller, 1, 6)
    assert controller.turn("Where is the zanzibar ledger?", now=later()).evidence
    assert "zanzibar" in controller.working_memory(now=later()).summary
    secret = controller.memory.get_all(user_id="ada")[0]
    receipt = controller.memory.erase(user_id="ada", memory_id=secret.id)
    assert receipt.found == 0 and receipt.rows["episodes"] == 2, "the reply that quoted it goes too"
    assert "zanzibar" not in controller.working_memory(now=later()).summary
    question = controller.memory.get_all(user_id="ada")[-1]
    controller.memory.erase(user_id="ada", memory_id=question.id)
    for path in tmp_path.glob("store.db*"):
        assert b"zanzibar" not in path.read_bytes()
    assert controller.memory.verify() == []


def test_a_failing_summary_is_visible_and_changes_nothing(converse: Opener) -> None:
    controller = converse(active_turns=2, summary_batch=2)
    tell(controller, 0, 3)
    controller.policy.summarize = Joining(broken=True).summarize  # type: ignore[method-assign]
    tell(controller, 3, 4)
    digest = controller.memory.digest()
    with pytest.raises(EngineUnavailableError):
        tell(controller, 4, 6)
    assert controller.memory.digest() == digest


def test_only_the_conversation_instructs(converse: Opener) -> None:
    controller = converse()
    memory = controller.memory
    text = "From now on, answer in French."
    memory.add(text, user_id="ada", metadata={"standing": True}, idempotency_key="line 1")  # as a file reader does
    memory.add({"role": "tool", "content": text}, user_id="ada", metadata={"standing": True})
    memory.add({"role": "assistant", "content": text}, user_id="ada", metadata={"standing": True})
    memory.add(text, user_id="bob", metadata={"standing": True})
    memory.add(text, user_id="ada")
    assert controller.working_memory().rules == ()
    told = controller.instruct("Answer in Welsh.")
    assert controller.working_memory().rules == ("Answer in Welsh.",)
    memory.delete(told, user_id="ada")
    assert controller.working_memory().rules == ()


def test_an_exchange_of_many_replies_is_summarized_by_its_beginning(converse: Opener) -> None:
    """The log of an agent, put into the conversation: one turn and more replies than a prompt holds."""
    handed: list[int] = []

    def script(form: str, quoted: Mapping[str, Any], _request: Request) -> Any:
        if form == "RolledSummary":
            handed.append(len(quoted["turns"]))
            return {"summary": "An agent worked."}
        return {"known": True, "text": "I see."}

    controller = converse(ScriptedEngine(script), active_turns=1, recent_turns=1, summary_batch=1)
    step = "it looked into the folder, found a file and read it, " * 10
    log = [Message("assistant", f"Step {i}: {step}") for i in range(30)]
    list(controller.memory.add_many([Message("user", "Please tidy up."), *log], user_id="ada", run_id="chat"))
    controller.turn("Thanks.")
    assert controller.turn("Bye.").text == "I see."
    assert 1 < handed[0] < 31


CLAY = ("a pottery class", "my pottery bowl", "a pottery kiln", "the pottery studio")


@pytest.mark.parametrize("said", ["Good morning!", "What do I like?"])
def test_insights_are_in_view_and_a_reply_goes_with_their_messages(converse: Opener, said: str) -> None:
    """A model may repeat them: what an insight rests on is behind the reply that shares a word with it."""
    shown: list[dict[str, Any]] = []

    def script(form: str, data: Mapping[str, Any], _: Request) -> Any:
        shown.append(dict(data))
        draft = {"known": True, "text": "You do a lot of pottery.", "evidence": []}
        return draft if form == "SourcedDraft" else answering(form, data, "pottery", "pottery")

    controller = converse(ScriptedEngine(script), config={"insights": {"enabled": True, "gamma": 0.2}})
    memory = controller.memory
    paid = [Message("user", f"I paid for {what} today.", START + timedelta(days=i)) for i, what in enumerate(CLAY)]
    list(memory.add_many(paid, user_id="ada", now=later(200)))
    memory.components.derivations.run("ada", later(200))
    answer = controller.turn(said, now=later(201))
    if said == "What do I like?":
        (line,) = shown[-1]["lines"]
        assert "pottery" in line and line.startswith("4 March 2026, memory: ") and answer.steps == ()
    else:
        (insight,) = shown[-1]["conclusions_about_people"]
        assert "pottery" in insight["text"] and insight["confidence"] > 0 and insight["until"] == "4 March 2026"
    (known,) = controller.working_memory(now=later(202)).insights
    memory.erase(user_id="ada", memory_id=known.episode_ids[0])
    assert memory.get(answer.reply_id, user_id="ada", now=later(203)) is None


@pytest.fixture
def days_of(converse: Opener) -> Callable[[Callable[[str, Mapping[str, Any]], Any]], tuple[Controller, list[str]]]:
    """A conversation of four days, of whose summary a model is shown a line a day, and the ids of the messages."""

    class Lines(EmbeddedTasks):
        def lines(
            self, kind: str, groups: Sequence[Sequence[Unit]], words: int | None = None
        ) -> list[list[SourcedLine]]:
            if kind != "global_summary":
                return super().lines(kind, groups, words)
            return [[SourcedLine(one.text, (i,)) for i, one in enumerate(own)] for own in groups]

    def open_(script: Callable[[str, Mapping[str, Any]], Any]) -> tuple[Controller, list[str]]:
        engine = ScriptedEngine(lambda form, data, _: script(form, data))
        controller = converse(engine, config={"daily": {"summaries": True}}, tasks=Lines())
        memory = controller.memory
        said = [Message("user", f"I paid for {what}.", START + timedelta(days=i)) for i, what in enumerate(CLAY)]
        list(memory.add_many(said, user_id="ada", now=later(200)))
        memory.components.derivations.run("ada", later(200))
        ids = [episode.id for episode in memory.get_all(user_id="ada", now=later(200))]
        assert [one.episode_ids for one in controller.working_memory(now=later(200)).days] == [(one,) for one in ids]
        return controller, ids

    return open_


@pytest.mark.parametrize(
    ("form", "reply", "named", "behind"),
    [
        ("SourcedDraft", "You paid for the bowl.", [2], {1}),
        ("Act", "You paid for the bowl.", [2], {1}),
        ("Conclusion", "You paid for the bowl.", [2], {1}),
        ("Act", "It was the bowl.", [], {1}),
        ("Conclusion", "You made many payments: kiln, studio.", [], {2, 3}),
        ("SourcedDraft", "Hello there!", [], set()),
        ("Act", "You paid for pottery.", [], {0, 1, 2, 3}),
        ("Conclusion", "You paid for pottery.", [1, 4, 79], {0, 3}),
    ],
)
def test_a_reply_rests_on_the_lines_on_days_that_it_names_or_repeats(
    days_of: Any, form: str, reply: str, named: list[int], behind: set[int]
) -> None:
    def script(asked: str, data: Mapping[str, Any]) -> Any:
        assert [line["number"] for line in data["summary_of_all_days"]] == [1, 2, 3, 4]
        if asked == "SourcedDraft":
            return {"known": form == asked, "text": reply, "evidence": named}
        if asked == "Conclusion":
            return {"text": reply, "evidence": named}
        return act("answer", text=reply, evidence=named) if form == "Act" else act("memorize", content="kept")

    controller, ids = days_of(script)
    answer = controller.turn("Well.", now=later(201))
    stored = controller.memory.get(answer.reply_id, user_id="ada", now=later(202))
    assert stored is not None and answer.text == reply
    assert set(stored.metadata["evidence"]) & set(ids) == {ids[place] for place in behind}
    assert {item.hit.unit.kind for item in answer.evidence} == ({"global_summary"} if named else set())
    assert {one for item in answer.evidence for one in item.hit.unit.episode_ids} == {
        ids[number - 1] for number in named if number <= 4
    }
    controller.memory.erase(user_id="ada", memory_id=ids[0])
    assert (controller.memory.get(answer.reply_id, user_id="ada") is None) == (0 in behind)


def test_lines_on_days_have_numbers_after_what_was_found(days_of: Any) -> None:
    def script(asked: str, data: Mapping[str, Any]) -> Any:
        if asked == "SourcedDraft":
            return {"known": False, "text": "?", "evidence": []}
        found = len(data.get("found", []))
        if not found:
            return act("retrieve_episodic", query="kiln")
        assert [line["number"] for line in data["summary_of_all_days"]] == [found + i for i in range(1, 5)]
        return act("answer", text="It was the bowl.", evidence=[1, found + 2])

    controller, ids = days_of(script)
    answer = controller.turn("Well.", now=later(201))
    first, second = answer.evidence
    assert (first.hit.unit.kind, second.hit.unit.kind) == ("chunk", "global_summary")
    assert second.hit.unit.episode_ids == (ids[1],) and second.text == "user: I paid for my pottery bowl."


def test_an_answer_rests_on_the_lines_on_days_with_its_words(days_of: Any) -> None:
    controller, ids = days_of(lambda asked, data: answering(asked, data, "bowl", "my bowl"))
    answer = controller.turn("What did I pay for?", now=later(201))
    (item,) = answer.evidence
    assert item.hit.unit.kind == "global_summary" and item.hit.unit.episode_ids == (ids[1],)
    stored = controller.memory.get(answer.reply_id, user_id="ada", now=later(202))
    assert stored is not None and set(stored.metadata["evidence"]) & set(ids) == {ids[1]}
