"""What is said again word for word is deferred, and is a new statement where something else was said in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ReplyError
from nscma_torch.core.records import Message

Open = Callable[..., Memory]
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory(open_memory: Open) -> Memory:
    return open_memory(config={"hierarchy": {"enabled": False}})


def tell(memory: Memory, texts: Sequence[str], *, runs: bool = False, flush: bool = False) -> list[bool]:
    """Add a message a day, each to the same run or one of its own; whether the gate wrote each."""
    written = []
    for day, text in enumerate(texts):
        run = f"run {day}" if runs else None
        (added,) = memory.add(text, user_id="u", run_id=run, timestamp=AT + timedelta(days=day))
        assert added.decision is not None
        written.append(added.decision.write)
        if flush:
            memory.flush()
    memory.flush()
    return written


def known(memory: Memory, relation: str) -> set[str]:
    return {fact.object for fact in memory.facts(user_id="u") if fact.relation == relation}


@pytest.mark.parametrize("runs", [False, True], ids=["one run", "runs"])
@pytest.mark.parametrize("flush", [False, True], ids=["at the end", "at once"])
def test_what_changed_back_holds_again(memory: Memory, runs: bool, flush: bool) -> None:
    texts = ["I live in Rome.", "I live in Oslo.", "I live in Rome.", "I live in Oslo.", "I live in Rome."]
    written = tell(memory, texts, runs=runs, flush=flush)
    assert written == [True, True, False, False, False], "the gate goes by the words"
    assert known(memory, "lives_in") == {"Rome"}
    assert memory.ask("Where do I live?", user_id="u").text == "Rome"
    past = [fact.object for fact in memory.timeline("user", "lives_in", user_id="u")]
    assert past == ["Rome", "Oslo", "Rome", "Oslo", "Rome"]


def test_many_changes_are_all_followed(open_memory: Open) -> None:
    """More repetitions than a batch has jobs, which wait for each other's extraction."""
    memory = open_memory(config={"hierarchy": {"enabled": False}, "worker": {"batch_size": 6}})
    tell(memory, ["I live in Rome.", "I live in Oslo."] * 5)
    assert known(memory, "lives_in") == {"Oslo"}
    assert len(memory.timeline("user", "lives_in", user_id="u")) == 10


def test_each_speaker_repeats_themself(open_memory: Open) -> None:
    memory = open_memory(config={"hierarchy": {"enabled": False}})
    said = [("Ana", "Rome"), ("Bob", "Oslo"), ("Bob", "Rome"), ("Ana", "Oslo"), ("Bob", "Rome"), ("Ana", "Rome")]
    for day, (name, city) in enumerate(said):
        memory.add(Message("user", f"I live in {city}.", AT + timedelta(days=day), name=name), user_id="u")
    memory.flush()
    assert [memory.ask(f"Where does {name} live?", user_id="u").text for name in ("Ana", "Bob")] == ["Rome", "Rome"]


def test_the_order_is_that_of_saying(memory: Memory) -> None:
    for day, city in ((100, "Oslo"), (10, "Rome"), (200, "Rome")):
        memory.add(f"I live in {city}.", user_id="u", timestamp=AT + timedelta(days=day))
        memory.flush()
    assert known(memory, "lives_in") == {"Rome"}


def test_what_was_undone_or_deleted_can_be_said_again(memory: Memory) -> None:
    tell(memory, ["I live in Rome."])
    (decision,) = [one for one in memory.decisions(user_id="u") if one.action == "ADD"]
    memory.undo(decision.id, user_id="u")
    assert known(memory, "lives_in") == set()
    tell(memory, ["I live in Rome."])
    assert known(memory, "lives_in") == {"Rome"}
    first, second = (entry.id for entry in memory.log(user_id="u"))
    (third,) = memory.add("I live in Rome.", user_id="u", timestamp=AT + timedelta(days=9))
    for id in (first, second):
        memory.delete(id, user_id="u")
    memory.flush()
    assert known(memory, "lives_in") == {"Rome"} and memory.log(user_id="u")[-1].id == third.id


def test_what_fails_is_not_taken_for_unchanged(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def unusable(*_: object, **__: object) -> None:
        raise ReplyError("not what was asked for")

    with monkeypatch.context() as broken:
        broken.setattr(memory.components.tasks, "extract", unusable)
        tell(memory, ["I live in Rome.", "I live in Oslo.", "I live in Rome."])
        assert memory.stats().jobs_failed == 3
    memory.retry_failed()
    memory.flush()
    assert known(memory, "lives_in") == {"Rome"}


def test_a_replay_that_defers_looks_at_what_was_said_before(open_memory: Open) -> None:
    config = {"hierarchy": {"enabled": False}}
    with open_memory("replay.db", config={**config, "gate": {"rule": "everything"}}) as memory:
        for day, city in enumerate(("Rome", "Oslo", "Rome")):
            memory.add(f"I live in {city}.", user_id="u", timestamp=AT + timedelta(days=day))
    memory = open_memory("replay.db", config=config)
    memory.replay(user_id="u", dry_run=False)
    memory.flush()
    assert [entry.decision is not None and entry.decision.write for entry in memory.log(user_id="u")][2] is False
    assert known(memory, "lives_in") == {"Rome"}


def test_what_was_denied_holds_again(memory: Memory) -> None:
    tell(memory, ["I like jazz.", "I don't like jazz anymore.", "I like jazz."])
    assert known(memory, "likes") == {"jazz"}


@pytest.mark.parametrize("between", [[], ["I like blues."], ["Ana lives in Oslo."], ["I work at Bosch."]])
def test_what_still_holds_is_not_read_again(memory: Memory, between: list[str]) -> None:
    for text in ("I live in Rome.", "I like jazz."):
        tell(memory, [text, *between, text])
    log = memory.log(user_id="u", limit=100)
    repeated = [entry for entry in log if entry.decision is not None and not entry.decision.write]
    assert len(repeated) >= 2 and not any(entry.encoded for entry in repeated)


def test_other_agents_do_not_count(memory: Memory) -> None:
    """Facts of an agent are its own: what another one was told does not replace them."""
    for agent, text in (("a", "I live in Rome."), ("b", "I live in Oslo."), ("a", "I live in Rome.")):
        memory.add(text, user_id="u", agent_id=agent, timestamp=AT)
    memory.flush()
    entries = memory.log(user_id="u", agent_id="a")
    assert [entry.encoded for entry in entries if entry.decision is not None and not entry.decision.write] == [False]


def test_an_erased_repetition_leaves_nothing_behind(memory: Memory) -> None:
    for day, text in enumerate(("I live in Rome.", "I live in Oslo.", "I live in Rome.")):
        (added,) = memory.add(text, user_id="u", timestamp=AT + timedelta(days=day))
    memory.erase(user_id="u", memory_id=added.id)
    memory.flush()
    assert known(memory, "lives_in") == {"Oslo"}
    assert not memory.verify()
