"""Questions that facts answer: what is asked again is read again only when something was written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.semantic.store import facts

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.fixture
def memory(open_memory: Callable[..., Memory], light_surprise: Any) -> Memory:
    config = {"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}}
    return open_memory("asked.db", surprise_model=light_surprise, config=config)


def told(memory: Memory, text: str, days: int, **more: Any) -> None:
    memory.add(text, user_id="ada", timestamp=BEGIN + timedelta(days), now=BEGIN + timedelta(days), **more)
    memory.flush()


def home(memory: Memory, days: int = 99, **more: Any) -> str:
    return memory.ask("Where do I live?", user_id="ada", now=BEGIN + timedelta(days), **more).text


@pytest.mark.parametrize("form", ["What is my cat called?", "What is my cat's name?", "What is the name of my cat?"])
def test_a_kind_is_no_name(memory: Memory, form: str) -> None:
    told(memory, "We have a grey cat.", 0)
    assert "pet" in {fact.relation for fact in memory.facts(user_id="ada")}
    assert memory.ask(form, user_id="ada", now=BEGIN + timedelta(9)).text != "grey cat"
    told(memory, "My cat is called Pixel.", 1)
    assert memory.ask(form, user_id="ada", now=BEGIN + timedelta(9)).text == "Pixel"


def test_facts_are_read_once_until_something_is_written(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[object] = []
    select = facts.select_facts
    monkeypatch.setattr(facts, "select_facts", lambda *args, **more: reads.append(args) or select(*args, **more))
    told(memory, "I live in Rome.", 0)
    assert home(memory) == home(memory) == "Rome"
    assert len(reads) == 1
    told(memory, "I moved to Oslo.", 9)
    assert home(memory) == "Oslo"
    assert home(memory, as_of=BEGIN + timedelta(3)) == "Rome"
    assert home(memory, days=3) == "Rome", "what came later is not known at that time"
    assert home(memory) == "Oslo"
    assert len(reads) == 2


def test_another_scope_has_a_graph_of_its_own(memory: Memory) -> None:
    told(memory, "I live in Rome.", 0)
    told(memory, "I live in Oslo.", 1, agent_id="cook")
    assert home(memory, agent_id="cook") == "Oslo"
    memory.add("I live in Bern.", user_id="eve", timestamp=BEGIN, now=BEGIN)
    memory.flush()
    assert memory.ask("Where do I live?", user_id="eve", now=BEGIN + timedelta(9)).text == "Bern"
    assert home(memory, agent_id="cook") == "Oslo"


def test_the_evidence_is_the_part_of_a_long_message_that_tells(memory: Memory) -> None:
    told(memory, "The weather was fine, and so we walked along the river. " * 60 + "I live in Rome.", 0)
    answer = memory.ask("Where do I live?", user_id="ada", now=BEGIN + timedelta(9))
    assert answer.text == "Rome" and "I live in Rome." in answer.evidence[0].text and answer.evidence[0].hit.unit.start


def test_the_evidence_is_the_newest_messages_each_once(memory: Memory) -> None:
    for day, text in enumerate(("I like tea and golf.", "I like chess.", "I like opera.", "I like jazz.")):
        told(memory, text, day)
    answer = memory.ask("What do I like?", user_id="ada", now=BEGIN + timedelta(9))
    assert answer.text == "tea, golf, chess, opera, jazz"
    assert [evidence.text for evidence in answer.evidence] == ["I like jazz.", "I like opera.", "I like chess."]


@pytest.mark.parametrize(
    ("said", "asked", "answer"),
    [
        ("I moved to Oslo in 2024.", "When did I move to Oslo?", "2024"),
        ("I moved to Oslo last year.", "When did I move to Oslo?", "2025"),
        ("I moved to Oslo in March 2025.", "When did I move to Oslo?", "March 2025"),
        ("I moved to Oslo last week.", "When did I move to Oslo?", "29 December 2025 to 4 January 2026"),
        ("I moved to Oslo yesterday.", "When did I move to Oslo?", "4 January 2026"),
        ("我2024年搬到了奥斯陆。", "我什么时候搬到奥斯陆的？", "2024年"),
    ],
)
def test_a_year_is_no_day(memory: Memory, said: str, asked: str, answer: str) -> None:
    told(memory, said, 0)
    assert memory.ask(asked, user_id="ada", now=BEGIN + timedelta(9)).text == answer


def test_what_was_undone_is_seen(memory: Memory) -> None:
    told(memory, "I live in Rome.", 0)
    told(memory, "I moved to Oslo.", 9)
    assert home(memory) == "Oslo"
    memory.undo(memory.decisions(user_id="ada")[0].id, user_id="ada")
    assert home(memory) == "Rome"


def test_messages_that_wait_for_sleep_are_counted_in_the_trace(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    memory = open_memory("asked.db", surprise_model=light_surprise, config={"hierarchy": {"enabled": False}})
    told(memory, "I live in Rome.", 0)
    for day in range(1, 40):
        told(memory, "Thanks, bye!", day)
    waiting = memory.stats().deferred
    assert waiting
    trace = memory.ask("Where do I live?", user_id="ada", now=BEGIN + timedelta(99)).trace
    assert f"{waiting} messages are not read for facts yet; sleep reads them" in trace
