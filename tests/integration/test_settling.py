"""A question first works off its own user's queue; what is left when the time is up is said, and facts are whole."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.async_memory import AsyncMemory
from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.core.database.database import ALL_USERS, ONE_BY_ONE
from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.core.jobs import leases
from nscma_torch.core.records import Answer, AskedQuestion, Extraction, Unit
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.helpers.plain_sentences import PlainSentences

Open = Callable[..., Memory]
BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
CONFIG: dict[str, Any] = {"gate": {"rule": "everything"}}


@pytest.fixture
def open_memory(open_memory: Open, light_surprise: Any) -> Open:
    return lambda name="store.db", config=None, **parts: open_memory(
        name, {**CONFIG, **(config or {})}, surprise_model=light_surprise, **parts
    )


class Slow(EmbeddedTasks):
    """Takes a while over each batch."""

    def __init__(self, seconds: float) -> None:
        super().__init__(read_facts=PlainSentences)
        self.seconds = seconds

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        time.sleep(self.seconds)
        return super().extract(units, listeners=listeners, before=before)


def told(memory: Memory, *texts: str, user: str = "ada", day: int = 0) -> list[str]:
    at = BEGIN + timedelta(day)
    return [memory.add(text, user_id=user, timestamp=at, now=at)[0].id for text in texts]


def home(memory: Memory, user: str = "ada", **more: Any) -> Answer:
    return memory.ask("Where do I live?", user_id=user, **{"now": BEGIN + timedelta(99), **more})


def test_what_was_said_last_is_in_the_answer(open_memory: Open) -> None:
    memory = open_memory()
    told(memory, "I live in Rome.")
    answer = home(memory)
    assert (answer.text, len(answer.facts), answer.notes) == ("Rome", 1, ())
    told(memory, "I moved to Oslo.", day=9)
    assert home(memory).text == "Oslo"
    assert home(memory, as_of=BEGIN + timedelta(3)).text == "Rome"


def test_only_the_askers_queue_is_worked_off(open_memory: Open) -> None:
    memory = open_memory()
    told(memory, "I live in Bern.", user="eve")
    told(memory, "I live in Rome.")
    assert home(memory).text == "Rome"
    assert memory.facts(user_id="eve") == [] and memory.stats(user_id="eve").jobs_queued


def test_search_reads_nothing(open_memory: Open) -> None:
    memory = open_memory()
    told(memory, "I live in Rome.")
    digest = memory.digest()
    assert memory.search("Where do I live?", user_id="ada", now=BEGIN) and memory.digest() == digest


def test_asking_in_between_changes_nothing_that_is_made_in_the_end(open_memory: Open, conversation: Any) -> None:
    """The hierarchy is left to `flush`, which builds it after everything is read: its batches shape it."""
    texts = [message.content for message in conversation(40, long=False)]
    digests = []
    for name, asks in (("plain.db", False), ("asked.db", True)):
        memory = open_memory(name)
        told(memory, *texts[:20])
        if asks:
            home(memory)
        told(memory, *texts[20:])
        memory.flush()
        digests.append(memory.digest())
    assert digests[0] == digests[1]


def test_when_the_time_is_up_the_facts_are_those_of_before(open_memory: Open) -> None:
    memory = open_memory()
    told(memory, "I live in Rome.")
    memory.flush()
    slow = open_memory(config={"retrieval": {"settle_seconds": 0.2}, "worker": {"batch_size": 1}}, tasks=Slow(0.3))
    told(slow, *(f"My aunt {i} lives in Porto." for i in range(4)), "I moved to Oslo.", day=9)
    begin = time.monotonic()
    answer = home(slow)
    assert time.monotonic() - begin < 3, "one batch beyond the limit, not five"
    assert "Rome" in answer.text and "Oslo" not in answer.text
    assert answer.notes == ("4 messages not yet read",) and answer.trace[0] == answer.notes[0]
    assert [fact.object for fact in slow.facts(user_id="ada", subject="user's aunt 0")] == ["Porto"], "of what was read"
    slow.flush()
    assert (home(slow).text, home(slow).notes) == ("Oslo", ())


def test_without_time_nothing_is_read_and_all_is_counted(open_memory: Open) -> None:
    memory = open_memory(config={"retrieval": {"settle_seconds": 0}})
    told(memory, "I live in Rome.")
    answer = home(memory)
    assert answer.facts == () and "Rome" in answer.text and answer.notes == ("1 message not yet read",)


@pytest.mark.parametrize("change", ["delete", "update", "erase"])
def test_facts_of_what_was_hidden_or_edited_are_not_shown(change: str, open_memory: Open) -> None:
    memory = open_memory(config={"retrieval": {"settle_seconds": 0}})
    told(memory, "I like tea.")
    (said,) = told(memory, "I live in Rome.")
    memory.flush()
    assert home(memory).text == "Rome"
    if change == "update":
        memory.update(said, "I live in Bern.", user_id="ada")
    elif change == "delete":
        memory.delete(said, user_id="ada")
    else:
        memory.erase(user_id="ada", memory_id=said)
    answer = home(memory)
    assert answer.facts == () and "Rome" not in answer.text


@pytest.mark.parametrize("change", ["delete", "update", "erase"])
def test_one_changed_message_takes_no_other_fact_out_of_an_answer(change: str, open_memory: Open) -> None:
    memory = open_memory(config={"retrieval": {"settle_seconds": 0}})
    ids = told(memory, "I like tea.", "I like jazz.", "I like chess.")
    memory.flush()
    if change == "update":
        memory.update(ids[1], "I like opera.", user_id="ada")
    elif change == "delete":
        memory.delete(ids[1], user_id="ada")
    else:
        memory.erase(user_id="ada", memory_id=ids[1])
    answer = memory.ask("What do I like?", user_id="ada", now=BEGIN + timedelta(99))
    left = ["tea"] if change == "erase" else ["chess", "tea"]  # what followed an erased message is read again, too
    assert sorted(fact.object for fact in answer.facts) == left and "jazz" not in answer.text
    assert answer.notes, "it says what is pending"


@pytest.mark.parametrize("again", ["reextract", "rebuild", "sleep"])
def test_what_waits_to_be_read_again_leaves_the_facts_in_the_answer(again: str, open_memory: Open) -> None:
    memory = open_memory(config={"retrieval": {"settle_seconds": 0}})
    told(memory, "I live in Rome.", "I like tea.")
    memory.flush()
    if again == "sleep":
        memory.sleep(now=BEGIN + timedelta(1))
        told(memory, "I like jazz.", day=2)
    else:
        assert getattr(memory, again)(user_id="ada") == 2
    assert memory.stats().jobs_queued
    answer = home(memory)
    assert (answer.text, len(answer.facts)) == ("Rome", 1)


def test_another_workers_lease_is_respected_and_the_limit_holds(open_memory: Open) -> None:
    memory = open_memory(config={"retrieval": {"settle_seconds": 0.3}})
    told(memory, "I live in Rome.")
    with memory.components.database.write(ONE_BY_ONE) as connection:
        leases.claim(
            connection, leases.JOBS, ["ada"], "elsewhere 1 x", now=0, until=leases.now(connection) + 60_000_000
        )
    begin = time.monotonic()
    answer = home(memory)
    assert 0.2 < time.monotonic() - begin < 5 and answer.notes == ("1 message not yet read",)
    with memory.components.database.read(ALL_USERS) as connection:
        assert leases.holder(connection, leases.JOBS, "ada") == "elsewhere 1 x"


def test_a_store_that_another_process_is_writing_to(open_memory: Open) -> None:
    memory, other = open_memory(config={"retrieval": {"settle_seconds": 0.3}}), open_memory()
    told(memory, "I live in Rome.")
    with other.components.database.write(ALL_USERS):
        begin = time.monotonic()
        answer = home(memory)
    assert time.monotonic() - begin < 5, "not the 30 s of store.busy_timeout"
    assert "Rome" in answer.text and "another thread of this process" in answer.notes[1]


def test_a_store_that_can_only_be_read_still_answers(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_memory()
    told(memory, "I live in Rome.")
    memory.flush()
    told(memory, "I moved to Oslo.", day=9)
    memory.components.database.close()  # connections from here on may not write
    monkeypatch.setitem(memory.components.database._pragmas, "query_only", "ON")
    answer = home(memory)
    assert answer.text == "Rome"
    assert answer.notes[0] == "1 message not yet read" and "cannot be written" in answer.notes[1]


def test_what_could_not_be_read_is_said(open_memory: Open) -> None:
    class Broken(EmbeddedTasks):
        def extract(
            self,
            units: Sequence[Unit],
            *,
            listeners: Sequence[str],
            before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
        ) -> list[Extraction]:
            raise EngineUnavailableError(f"away from {len(units)} units, {len(listeners)} listeners")

    memory = open_memory(tasks=Broken(), config={"worker": {"max_attempts": 1}})
    told(memory, "I live in Rome.")
    answer = home(memory)
    assert "Rome" in answer.text
    assert answer.notes == ("1 message could not be read; see `nscma stats`, then `nscma retry`",)


def test_a_model_of_the_users_own_reads_in_flush_alone(open_memory: Open) -> None:
    class Model:
        """Language tasks that may be slow or away."""

        reads = 0

        def extract(
            self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
        ) -> list[Extraction]:
            self.reads += 1
            return EmbeddedTasks(read_facts=PlainSentences).extract(units, listeners=listeners, before=before)

        def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
            return EmbeddedTasks().summarize(groups)

        def answer(self, question: AskedQuestion, hits: Any) -> Answer:
            return EmbeddedTasks().answer(question, hits)

    model = Model()
    memory = open_memory(tasks=model)
    told(memory, "I live in Rome.")
    assert home(memory).notes == ("1 message not yet read",) and model.reads == 0
    memory.flush()
    assert home(memory).text == "Rome" and model.reads == 1


def test_the_controller_takes_the_same_way(open_memory: Open) -> None:
    memory = open_memory()
    told(memory, "I live in Rome.")
    controller = Controller(memory, None, user_id="ada", flush=False)
    assert controller.turn("Where do I live?").text == "Rome"
    late = open_memory("late.db", config={"retrieval": {"settle_seconds": 0}})
    told(late, "I live in Rome.")
    answer = Controller(late, None, user_id="ada", flush=False).turn("Where do I live?")
    assert any("1 message not yet read" in line for line in answer.trace)


def test_asking_for_asyncio(tmp_path: Path, open_memory: Open) -> None:
    told(open_memory("async.db"), "I live in Rome.")

    async def ask() -> Answer:
        async with AsyncMemory(
            tmp_path / "async.db", config={"embedder": {"model": "hash"}, "device": "cpu"}
        ) as memory:
            return await memory.ask("Where do I live?", user_id="ada")

    assert asyncio.run(ask()).text == "Rome"
