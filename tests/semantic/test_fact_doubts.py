"""Facts that rest on another one are in doubt when that has ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Fact

NOW = datetime(2026, 4, 10, 10, tzinfo=UTC)
DOUBT = 'in doubt since 5 March 2026, when "user works at Bosch" ended'


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    config = {"gate": {"rule": "everything"}, "standing": {"neighbours": 0, "forget_requests": False}}
    return open_memory(config=config)


def tell(memory: Memory, day: str, text: str) -> None:
    memory.add(text, user_id="ada", timestamp=f"2026-{day}T09:00:00Z", now=NOW)
    memory.flush()


def manager(memory: Memory, now: datetime = NOW) -> Fact:
    (fact,) = memory.facts(user_id="ada", relation="manager", now=now)
    return fact


def test_a_manager_is_in_doubt_after_another_employer(memory: Memory) -> None:
    tell(memory, "01-05", "I work at Bosch.")
    tell(memory, "02-05", "My manager is Petra.")
    assert not manager(memory).in_doubt
    tell(memory, "03-05", "I work at Siemens now.")
    assert manager(memory).in_doubt == DOUBT
    assert not manager(memory, datetime(2026, 3, 4, tzinfo=UTC)).in_doubt
    answer = memory.ask("Who is my manager?", user_id="ada", now=NOW)
    assert answer.abstained and answer.short == f'I don\'t know: "Petra" is {DOUBT}'


def test_telling_it_again_settles_the_doubt(memory: Memory) -> None:
    tell(memory, "01-05", "I work at Bosch.")
    tell(memory, "02-05", "My manager is Petra.")
    tell(memory, "03-05", "I work at Siemens now.")
    tell(memory, "03-09", "My manager is Petra.")
    assert not manager(memory).in_doubt
    assert memory.ask("Who is my manager?", user_id="ada", now=NOW).short == "Petra"


def test_undoing_the_end_settles_the_doubt(memory: Memory) -> None:
    tell(memory, "01-05", "I work at Bosch.")
    tell(memory, "02-05", "My manager is Petra.")
    tell(memory, "03-05", "I work at Siemens now.")
    (siemens,) = (one for one in memory.get_all(user_id="ada", now=NOW) if "Siemens" in one.text)
    memory.delete(siemens.id, user_id="ada", now=NOW)
    memory.flush()
    assert not manager(memory).in_doubt
