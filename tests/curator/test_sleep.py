"""Sleep: every stage, twice is once, stopped anywhere and gone on, fail-closed, dry runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.config import Curator as CuratorSection
from nscma_torch.curator.sleep import Sleeper
from nscma_torch.errors import ModelError, NotFoundError
from nscma_torch.memory import Memory
from nscma_torch.records import Answer, Extraction, Hit, Message, SleepReport, Statement, Unit
from nscma_torch.storage import profiles
from nscma_torch.storage.database import ALL_USERS, Whose
from nscma_torch.storage.sqlite_database import SqliteDatabase
from tests.storage.telling import day, of_sentences

SETTINGS = CuratorSection(initial_strength=180.0)
DEFER = {"gate": {"rule": "composition", "threshold": 1e6}}


class Tasks:
    """Extracts "Ann lives in Oslo." and "Ann likes tea.", and summarises by the first message; fails while `broken`."""

    broken = False

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],  # noqa: ARG002
        before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
    ) -> list[Extraction]:
        if self.broken:
            raise ModelError("the language model is away")
        return [Extraction((), (*of_sentences(unit.text), *_likes(unit.text))) for unit in units]

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        return [group[0].text for group in groups]

    def answer(self, question: str, hits: Sequence[Hit], *, answerability: float) -> Answer:  # noqa: ARG002
        raise AssertionError("nothing is asked here")


def _likes(text: str) -> list[Statement]:
    words = text.rstrip(".").split()
    return [Statement(words[0], "likes", words[2])] if words[1:2] == ["likes"] else []


Bed = tuple[Memory, Sleeper, Tasks]


@pytest.fixture
def bed(open_memory: Callable[..., Memory], light_proxy: Any) -> Callable[..., Bed]:
    def make(name: str = "bed.db", config: dict[str, Any] | None = None) -> Bed:
        tasks = Tasks()
        memory = open_memory(name, config=config or DEFER, proxy=light_proxy, tasks=tasks)
        parts = memory.components
        return memory, Sleeper(parts.database, parts.curator, parts.relations, SETTINGS, memory.flush), tasks

    return make


SAID = (
    ("Ann lives in Oslo.", 0, "Ann"),
    ("Ann lives in Rome.", 5, "Ann"),
    ("Ann likes tea.", 6, "Ann"),
    ("Ann likes jazz.", 7, "Ann"),
    ("Bob lives in Bonn.", 8, "Ann"),
    ("Bob lives in Kyoto.", 9, "Carl"),
    ("Konstantin lives in Lima.", 9, "Ann"),
    ("Konstantyn lives in Lima.", 9, "Ann"),
    ("haha ok", 10, "Ann"),
)


def fill(memory: Memory) -> None:
    for text, at, name in SAID:
        memory.add(Message("user", text, day(at), name), user_id="ada", now=day(at))


def lines(memory: Memory) -> list[str]:
    with memory.components.database.read(ALL_USERS) as connection:
        return [line.text for line in profiles.lines(connection, "ada", None)]


def test_a_night(bed: Callable[..., Bed]) -> None:
    memory, sleeper, _ = bed()
    fill(memory)
    assert memory.facts(user_id="ada") == []
    report = sleeper.sleep("ada", now=day(20))
    assert (report.replayed, report.failures, report.dry_run, report.users) == (len(SAID), (), False, ("ada",))
    assert (report.disputed, report.proposed, report.forgotten_facts) == (1, 1, 0)
    homes = {fact.object for fact in memory.facts(user_id="ada", subject="Ann", relation="lives_in")}
    assert homes == {"Rome"}
    assert sorted(lines(memory)) == ["Ann likes jazz, tea", "Ann lives in Rome"]
    assert report.profile_lines == 2


def test_profile_lines_are_bounded_dated_and_have_sources(bed: Callable[..., Bed]) -> None:
    memory, _, _ = bed()
    fill(memory)
    parts = memory.components
    small = CuratorSection(profile_lines=1, profile_objects=1)
    Sleeper(parts.database, parts.curator, parts.relations, small, memory.flush).sleep("ada", now=day(20))
    with parts.database.read(ALL_USERS) as connection:
        (line,) = profiles.lines(connection, "ada", None)
    (source,) = line.fact_ids
    facts = {fact.id: fact for fact in memory.facts(user_id="ada")}
    assert facts[source].object in line.text
    assert facts[source].valid_from is not None and line.day == facts[source].valid_from.date()


def test_sleeping_twice_is_sleeping_once(bed: Callable[..., Bed]) -> None:
    memory, sleeper, _ = bed()
    fill(memory)
    sleeper.sleep("ada", now=day(20))
    digest, log = memory.digest(), memory.decisions(user_id="ada", limit=None)
    again = sleeper.sleep("ada", now=day(20))
    assert again == SleepReport(("ada",), disputed=1)
    assert memory.digest() == digest
    assert memory.decisions(user_id="ada", limit=None) == log


def test_a_dry_run_changes_nothing_and_plans_the_same(bed: Callable[..., Bed], contents: Any, tmp_path: Path) -> None:
    memory, sleeper, _ = bed()
    fill(memory)
    memory.flush()
    before = contents(tmp_path / "bed.db")
    first = sleeper.sleep("ada", now=day(20), dry_run=True)
    assert first.dry_run and first.replayed == len(SAID)
    assert contents(tmp_path / "bed.db") == before
    sleeper.sleep("ada", now=day(20))
    for text, at in (("Ann lives in Lima.", 30), ("Bob lives in Bonn.", 31)):
        memory.add(Message("user", text, day(at), "Ann"), user_id="ada", now=day(at))
        memory.search("Rome", user_id="ada", now=day(at))
    sleeper.sleep("ada", now=day(31))
    before = contents(tmp_path / "bed.db")
    planned = sleeper.sleep("ada", now=day(3000), dry_run=True)
    assert contents(tmp_path / "bed.db") == before
    assert planned.forgotten_facts and planned.profile_lines
    done = sleeper.sleep("ada", now=day(3000))
    assert {**_counts(done), "dry_run": True} == _counts(planned)


def _counts(report: SleepReport) -> dict[str, Any]:
    return {name: getattr(report, name) for name in SleepReport.__slots__}


def test_a_failing_language_call_leaves_the_store_as_it_was(bed: Callable[..., Bed]) -> None:
    memory, sleeper, tasks = bed()
    fill(memory)
    digest = memory.digest()
    tasks.broken = True
    report = sleeper.sleep("ada", now=day(20))
    assert report.failures == ("ModelError: the language model is away",)
    assert memory.digest() == digest
    assert memory.stats().jobs_failed == len(SAID)
    tasks.broken = False
    assert sleeper.sleep("ada", now=day(20)).replayed == 0, "what failed waits to be tried again on request"
    assert memory.retry_failed() == len(SAID)
    sleeper.sleep("ada", now=day(20))
    assert "Ann lives in Rome" in lines(memory)


class Killed(BaseException):
    """Stands for a kill."""


def test_a_sleep_that_was_stopped_anywhere_goes_on(bed: Callable[..., Bed], monkeypatch: pytest.MonkeyPatch) -> None:
    memory, sleeper, _ = bed("whole.db")
    fill(memory)
    for text in ("tea", "Rome"):
        memory.search(text, user_id="ada", now=day(19))
    sleeper.sleep("ada", now=day(900))
    digest = memory.digest()
    plain = SqliteDatabase.write
    stop = 0
    finished = False
    while not finished:
        memory, sleeper, _ = bed(f"stopped-{stop}.db")
        fill(memory)
        for text in ("tea", "Rome"):
            memory.search(text, user_id="ada", now=day(19))
        left = [stop]

        @contextmanager
        def write(self: SqliteDatabase, whose: Whose, left: list[int] = left, **waits: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                raise Killed
            with plain(self, whose, **waits) as connection:
                yield connection
                if left[0] == -2:
                    raise Killed

        monkeypatch.setattr(SqliteDatabase, "write", write)
        try:
            sleeper.sleep("ada", now=day(900))
            finished = True
        except Killed:
            pass
        monkeypatch.setattr(SqliteDatabase, "write", plain)
        sleeper.sleep("ada", now=day(900))
        assert memory.digest() == digest, f"stopped at transaction {stop}"
        stop += 3
    assert stop > 9


def test_recalled_messages_are_promoted_once(bed: Callable[..., Bed]) -> None:
    memory, sleeper, _ = bed()
    fill(memory)
    hit = memory.search("jazz", user_id="ada", top_k=1, now=day(19))[0]
    before = memory.get(hit.id, user_id="ada")
    assert sleeper.sleep("ada", now=day(20)).promoted == 1
    after = memory.get(hit.id, user_id="ada")
    assert before is not None and after is not None
    assert (after.strength, after.accesses) == (2.0, 1)
    assert after.importance == pytest.approx(1 - (1 - before.importance) * 0.95)
    assert sleeper.sleep("ada", now=day(20)).promoted == 0


def test_disputes_are_weighed_under_the_rules_of_now(bed: Callable[..., Bed]) -> None:
    memory, sleeper, _ = bed()
    fill(memory)
    sleeper.sleep("ada", now=day(20))
    assert len(memory.conflicts(user_id="ada")) == 1
    hasty = {**DEFER, "curator": {"half_life": 0.5}}
    memory, _, _ = bed(config=hasty)
    parts = memory.components
    report = Sleeper(parts.database, parts.curator, parts.relations, SETTINGS, memory.flush).sleep("ada", now=day(20))
    assert (report.settled, report.disputed) == (1, 0)
    assert memory.conflicts(user_id="ada") == []


def test_everyone_sleeps_and_nothing_crosses(bed: Callable[..., Bed]) -> None:
    memory, sleeper, _ = bed()
    fill(memory)
    memory.add(Message("user", "Eve lives in Bern.", day(1), "Eve"), user_id="eve", now=day(1))
    report = sleeper.sleep(now=day(20))
    assert report.users == ("ada", "eve")
    assert report.replayed == len(SAID) + 1
    assert not any("Eve" in line for line in lines(memory))
    with pytest.raises(NotFoundError):
        sleeper.sleep("nobody", now=day(20))
