"""What is said again word for word is deferred, and is a new statement where something else was said in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.memory import Memory

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
