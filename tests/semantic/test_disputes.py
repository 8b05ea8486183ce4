"""Disputes that weights leave open are put to the language tasks: what a verdict does, how long it lasts, its undo."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.core.records import Statement, Unit
from nscma_torch.curator.sleep import Sleeper
from nscma_torch.maintenance import file_erasure
from nscma_torch.semantic.store import decisions, namespaces
from tests.helpers.telling import day
from tests.helpers.told import Told

SETTINGS = CuratorConfig(initial_strength=180.0)


class Judge:
    """Decides for the side that says `word`; fails while `away`, and runs `meanwhile` before it decides."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.away = False
        self.asked: list[list[list[str]]] = []
        self.meanwhile: Callable[[], object] = str

    def adjudicate(self, disputes: Sequence[Sequence[Sequence[Unit]]]) -> list[int | None]:
        self.asked += [[[f"{unit.name}: {unit.text}" for unit in side] for side in sides] for sides in disputes]
        self.meanwhile()
        if self.away:
            raise EngineUnavailableError("the judge is away")
        found = [[any(self.word in unit.text for unit in side) for side in sides] for sides in disputes]
        return [sides.index(True) if any(sides) else None for sides in found]


def sleeper(told: Told, judge: object) -> Sleeper:
    parts = told.memory.components
    curator, relations = told.curator, parts.relations
    return Sleeper(parts.database, curator, relations, SETTINGS, told.memory.flush, tasks=judge, judge=lambda: "Judy")


def lives(place: str, **more: Any) -> Statement:
    return Statement("Bob", "lives_in", place, **more)


@pytest.fixture
def torn(told: Told) -> Told:
    """Ben (message 1) and Carl (message 2) say different things of Bob."""
    told.tell(lives("Bonn"), at=8, name="Ben")
    told.tell(lives("Kyoto"), at=9, name="Carl")
    assert told.held() == ["Bonn", "Kyoto"]
    return told


def statuses(told: Told) -> dict[str, str]:
    return {fact.object: fact.status for fact in told.facts()}


@pytest.mark.parametrize(("word", "place", "other"), [("message 1", "Bonn", "Kyoto"), ("message 2", "Kyoto", "Bonn")])
def test_a_verdict_settles_and_is_undone(torn: Told, word: str, place: str, other: str) -> None:
    before = torn.memory.digest()
    judge = Judge(word)
    report = sleeper(torn, judge).sleep("ada", now=day(20))
    assert judge.asked == [[["Ben: message 1 of day 8"], ["Carl: message 2 of day 9"]]]
    assert (report.settled, report.disputed, report.failures) == (1, 0, ())
    assert statuses(torn) == {place: "active", other: "archived"}
    assert torn.memory.conflicts(user_id="ada") == [] and torn.memory.verify() == []
    decision = next(one for one in reversed(torn.log()) if "Judy" in one.reason)
    assert (decision.action, decision.object) == ("ARCHIVE", other)
    torn.undo(decision)
    assert statuses(torn) == {"Bonn": "disputed", "Kyoto": "disputed"}
    judge.asked.clear()
    report = sleeper(torn, judge).sleep("ada", now=day(20))
    assert (judge.asked, report.disputed) == ([], 1), "what was undone is not asked for again"
    with torn.memory.components.database.write(ALL_USERS) as connection:
        connection.exec_driver_sql("delete from profile")
    assert torn.memory.digest() == before


def test_a_verdict_lasts_while_what_it_upheld_counts(torn: Told) -> None:
    judge = Judge("message 2")
    sleeper(torn, judge).sleep("ada", now=day(20))
    torn.tell(Statement("Bob", "likes", "tea"), at=10, name="Ben")
    assert torn.held("lives_in") == ["Kyoto"]
    sides = [episode for episode in torn.memory.get_all(user_id="ada") if "message 2" in episode.text]
    torn.memory.delete(sides[0].id, user_id="ada")
    torn.curate()
    assert torn.held("lives_in") == ["Bonn"]
    (bonn,) = torn.facts(relations=["lives_in"])
    assert bonn.status == "active" and bonn.confidence > 0.5, "nothing is left that it could be overruled for"
    torn.memory.restore(sides[0].id, user_id="ada")
    torn.curate()
    assert statuses(torn)["Kyoto"] == "active" and statuses(torn)["Bonn"] == "archived"


def test_what_is_said_later_weighs_as_ever(torn: Told) -> None:
    sleeper(torn, Judge("message 2")).sleep("ada", now=day(20))
    torn.tell(lives("Bonn"), at=11, name="Dora")
    assert sorted(torn.held("lives_in")) == ["Bonn", "Kyoto"], "one for each again"
    assert len(torn.memory.conflicts(user_id="ada")) == 1


def test_a_denial_is_a_side(told: Told) -> None:
    for place, word, held in (("Bonn", "message 1", ["Bonn"]), ("Kyoto", "message 4", ["Bonn"])):
        subject = f"Bob of {place}"
        told.tell(Statement(subject, "lives_in", place), at=8, name="Ben")
        told.tell(Statement(subject, "lives_in", place, negated=True), at=9, name="Carl")
        judge = Judge(word)
        report = sleeper(told, judge).sleep("ada", now=day(20))
        assert len(judge.asked) == 1 and (report.settled, report.disputed) == (1, 0)
        assert told.held("lives_in") == held
    for decision in [one for one in reversed(told.log()) if "Judy" in one.reason]:
        told.undo(decision)
    assert {fact.status for fact in told.facts()} == {"disputed"}


def test_who_cannot_tell_leaves_it(torn: Told) -> None:
    judge = Judge("nobody said this")
    report = sleeper(torn, judge).sleep("ada", now=day(20))
    assert (report.settled, report.disputed, report.failures) == (0, 1, ())
    assert set(statuses(torn).values()) == {"disputed"} and len(judge.asked) == 1
    digest, log = torn.memory.digest(), torn.log()
    assert [one.action for one in log if "left open: Judy" in one.reason] == ["NOOP"]
    assert sleeper(torn, judge).sleep("ada", now=day(20)) == report
    assert len(judge.asked) == 1, "the same is not asked again"
    assert (torn.memory.digest(), torn.log()) == (digest, log)


def test_what_was_left_open_is_asked_again_once_it_changed(torn: Told) -> None:
    judge = Judge("message 3")
    sleeper(torn, judge).sleep("ada", now=day(20))
    other = Judge("message 3")
    parts = torn.memory.components
    somebody = Sleeper(
        parts.database,
        torn.curator,
        parts.relations,
        SETTINGS,
        torn.memory.flush,
        tasks=other,
        judge=lambda: "somebody else",
    )
    somebody.sleep("ada", now=day(20))
    assert len(judge.asked) == len(other.asked) == 1, "another judge may tell"
    assert len(ids_in_verdicts(torn)) == 2 and torn.memory.verify() == []
    again = torn.tell(lives("Kyoto"), at=9, name="Carl")
    assert sleeper(torn, judge).sleep("ada", now=day(20)).settled == 1 and len(judge.asked) == 2
    torn.memory.erase(user_id="ada", memory_id=again)
    torn.curate()
    assert set(statuses(torn).values()) == {"disputed"} and torn.memory.verify() == []
    (left,) = [one for one in torn.log() if "left open: Judy" in one.reason]
    torn.undo(left)
    sleeper(torn, judge).sleep("ada", now=day(20))
    assert len(judge.asked) == 3, "undoing it puts it to the judge again"


def test_rules_leave_disputes(torn: Told) -> None:
    from nscma_torch.reading.embedded_tasks import EmbeddedTasks

    report = sleeper(torn, EmbeddedTasks()).sleep("ada", now=day(20))
    assert (report.settled, report.disputed, report.failures) == (0, 1, ())


def test_a_failure_leaves_the_dispute_and_is_listed(torn: Told) -> None:
    judge = Judge("message 1")
    judge.away = True
    log = torn.log()
    report = sleeper(torn, judge).sleep("ada", now=day(20))
    assert report.failures == ("EngineUnavailableError: the judge is away",)
    assert (report.settled, report.disputed) == (0, 1)
    assert set(statuses(torn).values()) == {"disputed"} and torn.log() == log
    judge.away = False
    assert sleeper(torn, judge).sleep("ada", now=day(20)).settled == 1


@pytest.mark.parametrize(
    ("verdicts", "told_of"),
    [
        ([], "adjudicate was given 1 disputes and returned 0 verdicts; correct it"),
        ([0, 1], "adjudicate was given 1 disputes and returned 2 verdicts; correct it"),
        ([2], "adjudicate was given a dispute of 2 sides and returned 2"),
        ([-1], "adjudicate was given a dispute of 2 sides and returned -1"),
    ],
)
def test_verdicts_that_do_not_fit_are_a_noted_failure(torn: Told, verdicts: list[int], told_of: str) -> None:
    class Wrong:
        def adjudicate(self, disputes: Any) -> list[int]:  # noqa: ARG002
            return verdicts

    digest, log = torn.memory.digest(), torn.log()
    report = sleeper(torn, Wrong()).sleep("ada", now=day(20))
    assert (report.failures, report.settled, report.disputed) == ((f"JobError: {told_of}",), 0, 1)
    assert set(statuses(torn).values()) == {"disputed"} and torn.log() == log
    with torn.memory.components.database.write(ALL_USERS) as connection:
        connection.exec_driver_sql("delete from profile")
    assert torn.memory.digest() == digest


def test_a_dispute_that_changed_meanwhile_is_left(torn: Told) -> None:
    judge = Judge("message 1")
    judge.meanwhile = lambda: torn.tell(lives("Kyoto"), at=12, name="Dora")
    report = sleeper(torn, judge).sleep("ada", now=day(20))
    assert not any("Judy" in one.reason for one in torn.log())
    assert report.failures == ()


def test_no_call_inside_a_transaction_and_none_in_a_dry_run(torn: Told) -> None:
    judge = Judge("message 1")
    dry = sleeper(torn, judge).sleep("ada", now=day(20), dry_run=True)
    assert judge.asked == [] and dry.disputed == 1

    def writes() -> None:
        with torn.memory.components.database.write(ALL_USERS) as connection:
            connection.exec_driver_sql("select 1")

    judge.meanwhile = writes
    assert sleeper(torn, judge).sleep("ada", now=day(20)).settled == 1


def test_what_a_verdict_was_about_is_erased_with_it(torn: Told) -> None:
    sleeper(torn, Judge("message 1")).sleep("ada", now=day(20))
    memory: Memory = torn.memory
    (lost,) = [episode for episode in memory.get_all(user_id="ada") if "message 2" in episode.text]
    assert memory.erase(user_id="ada", memory_id=lost.id).found == 0
    torn.curate()
    assert torn.held("lives_in") == ["Bonn"]
    assert not any("Judy" in one.reason for one in torn.log())
    assert memory.verify() == []


def test_an_export_carries_verdicts(torn: Told, open_memory: Callable[..., Memory], light_surprise: Any) -> None:
    sleeper(torn, Judge("message 1")).sleep("ada", now=day(20))
    other = open_memory("other.db", surprise_model=light_surprise)
    other.import_(torn.memory.export())
    assert other.digest() == torn.memory.digest()
    (verdict,) = [one for one in other.decisions(user_id="ada") if "Judy" in one.reason]
    other.undo(verdict.id, user_id="ada", now=day(1000))
    assert len(other.conflicts(user_id="ada")) == 1


def ids_in_verdicts(told: Told) -> set[str]:
    with told.memory.components.database.read(ALL_USERS) as connection:
        rows = [decisions.find(connection, "ada", one.id) for one in told.log()]
    return {one for row in rows if row is not None for one in decisions.cited(row.before)}


def test_erasing_part_of_an_upheld_denial_ends_the_verdict(told: Told) -> None:
    told.tell(lives("Rome"), at=8, name="Ann")
    first = told.tell(lives("Rome", negated=True), at=9, name="Carl")
    told.tell(lives("Rome", negated=True), at=10, name="Carl")
    assert sleeper(told, Judge("message 2")).sleep("ada", now=day(20)).settled == 1
    assert told.held() == [] and len(ids_in_verdicts(told)) == 3
    assert told.memory.erase(user_id="ada", memory_id=first).found == 0
    told.curate()
    assert ids_in_verdicts(told) == set() and told.memory.verify() == []
    assert statuses(told) == {"Rome": "disputed"}, "nothing overrules Ann now"


def test_erasing_one_of_those_upheld_ends_the_verdict(told: Told) -> None:
    told.tell(lives("Rome"), at=8, name="Ann")
    eve = told.tell(lives("Rome"), at=8, name="Eve")
    told.tell(lives("Oslo"), at=9, name="Carl")
    told.tell(lives("Oslo"), at=9, name="Dora")
    assert sleeper(told, Judge("message 1")).sleep("ada", now=day(20)).settled == 1
    assert told.held() == ["Rome"] and len(ids_in_verdicts(told)) == 4
    assert told.memory.erase(user_id="ada", memory_id=eve).found == 0
    told.curate()
    assert ids_in_verdicts(told) == set() and told.memory.verify() == []
    assert statuses(told)["Oslo"] != "archived", "two against one, and nothing overrules them"


def test_a_verdict_that_names_what_is_gone_is_found(torn: Told) -> None:
    sleeper(torn, Judge("message 1")).sleep("ada", now=day(20))
    (own,) = [one for one in torn.memory.get_all(user_id="ada") if "message 2" in one.text]
    database = torn.memory.components.database
    with database.read(ALL_USERS) as connection:
        (lost,) = connection.exec_driver_sql("select id from statements where object = 'Kyoto'").scalars()
    torn.memory.erase(user_id="ada", memory_id=own.id)
    assert torn.memory.verify() == []
    trace = json.dumps({"overruled": [lost], "upheld": []})
    with database.write(ALL_USERS) as connection:
        new = decisions.NewDecision("NOOP", "bob", "lives_in", "", "Bonn", "", None, (), json.loads(trace))
        decisions.insert(connection, namespaces.namespace_id("ada", None), "ada", [new], 0)
    assert [problem for problem in torn.memory.verify() if "names 1 statements that don't exist" in problem]
    assert file_erasure.remaining(database, [trace], [])[1] == 0, "a text that remains proves nothing"
    assert file_erasure.remaining(database, [], [lost])[1] > 0
