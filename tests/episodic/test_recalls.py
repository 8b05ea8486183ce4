"""Recalls of this process, until they are queued."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.controller.tools import MemoryTools
from nscma_torch.core.errors import StoreBusyError
from nscma_torch.core.records import Hit, Scope, Unit, UnitKind
from nscma_torch.episodic.log.recalls import Recalls
from nscma_torch.llm.prompts.acting import RetrieveEpisodic

NOW = datetime(2024, 9, 1, tzinfo=UTC)


def hit(kind: UnitKind, *episodes: str) -> Hit:
    return Hit(Unit(kind, Scope("ada"), kind, "text", episodes, NOW), 1.0)


def test_a_summary_recalls_none_of_its_messages() -> None:
    recalls = Recalls(cast("Any", None), timed=False)
    recalls.note("ada", [hit("chunk", "a"), hit("summary", "a", "b", "c"), hit("triple", "b")], at=NOW)
    assert recalls.waiting() == {"ada": ({"a": 1, "b": 1}, {})}


class BusyDatabase:
    """Refuses to be written; the message is erased meanwhile."""

    def __init__(self) -> None:
        self.recalls = Recalls(cast("Any", self), timed=True)

    def write(self, user_id: str) -> Any:
        self.recalls.forget(user_id, "a")
        raise StoreBusyError("busy")


def test_recalls_that_could_not_be_queued_stay_but_for_those_of_erased_messages() -> None:
    recalls = BusyDatabase().recalls
    recalls.note("ada", [hit("chunk", "a"), hit("chunk", "b")], at=NOW)
    with pytest.raises(StoreBusyError):
        recalls.queue()
    assert [(list(own.counts), list(own.times)) for own in recalls.waiting().values()] == [(["b"], ["b"])]


def test_recalls_of_a_controller_are_counted_with_those_of_the_memory(memory: Memory) -> None:
    memory.add("My codeword is xylophone.", user_id="ada", now=NOW)
    memory.search("xylophone", user_id="ada", now=NOW)
    MemoryTools(memory, Scope("ada"), top_k=3).episodic(
        RetrieveEpisodic(action="retrieve_episodic", query="xylophone"), NOW
    )
    memory.flush()
    assert [episode.accesses for episode in memory.log(user_id="ada")] == [2]
