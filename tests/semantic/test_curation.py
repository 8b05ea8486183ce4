"""The curate job: conflict sets by cardinality, decisions and their undoing."""

from __future__ import annotations

from typing import Any

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.jobs import jobs
from nscma_torch.core.records import Statement
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.store import namespaces
from nscma_torch.semantic.store.statements import CURATE
from nscma_torch.semantic.timeline.name_merging import propose
from tests.helpers.telling import day, micros
from tests.helpers.told import Told


def lives(place: str, subject: str = "Ben", **more: object) -> Statement:
    return Statement(subject, "lives_in", place, **more)  # type: ignore[arg-type]


def likes(thing: str, subject: str = "Ben", **more: object) -> Statement:
    return Statement(subject, "likes", thing, **more)  # type: ignore[arg-type]


def test_from_one_to_another_ends_the_first_of_many(told: Told) -> None:
    told.tell(Statement("Ben", "practises", "tennis"), at=1)
    told.tell(Statement("Ben", "practises", "chess"), at=2)
    told.tell(Statement("Ben", "practises", "golf", replaces="tennis"), at=5)
    assert sorted(told.held()) == ["chess", "golf"]
    assert told.log()[-1].action == "UPDATE"
    assert "tennis" in told.log()[-1].reason


def test_opposites_end_each_other(told: Told) -> None:
    told.tell(likes("tea"), at=1)
    told.tell(Statement("Ben", "dislikes", "tea"), at=4)
    (now,) = told.facts(statuses=("active",))
    assert (now.relation, now.object, now.valid_from) == ("dislikes", "tea", day(4))
    told.tell(likes("tea"), at=9)
    assert [f.relation for f in told.facts(statuses=("active",))] == ["likes"]


def test_opposites_by_two_speakers_are_in_dispute(told: Told) -> None:
    told.tell(likes("tea", "Anna"), at=1, name="Ben")
    told.tell(Statement("Anna", "dislikes", "tea"), at=2, name="Carl")
    assert {(f.relation, f.status) for f in told.facts()} == {("likes", "disputed"), ("dislikes", "disputed")}
    told.tell(Statement("Anna", "dislikes", "tea"), at=3, name="Anna")
    assert [f.relation for f in told.facts(statuses=("active",))] == ["dislikes"]


def test_of_a_correction_the_decision_is_about_what_it_says_and_not_about_what_it_corrects(told: Told) -> None:
    told.tell(likes("ballet"), at=0)
    told.tell(likes("opera"), at=1)
    told.tell(likes("ballet", correction=True, replaces="opera"), at=2)
    made = told.log()[-1]
    assert (made.action, made.object, made.reason) == ("NOOP", "ballet", "known: stated 2 times")
    assert told.held() == ["ballet"] and len(made.fact_ids) == 2


def test_messages_of_one_time_follow_the_order_of_saying(told: Told) -> None:
    for place in ("kitchen", "garden", "kitchen", "attic"):
        told.hear(Statement("Ben", "located_in", place), at=1)
    told.curate()
    assert told.held() == ["attic"]
    facts = told.facts()
    assert [f.object for f in sorted(facts, key=lambda f: f.sequence)] == ["kitchen", "garden", "kitchen", "attic"]
    assert len({f.id for f in facts}) == 4
    assert [d.action for d in told.log()] == ["ADD", "UPDATE", "UPDATE", "UPDATE"]


def test_what_happened_once_stays(told: Told) -> None:
    told.tell(Statement("Ben", "visited", "Rome", past=True), at=5)
    assert told.held() == ["Rome"]


def test_to_leave_a_place_ends_it_though_no_other_is_named(told: Told) -> None:
    told.tell(lives("Rome"), at=1)
    told.tell(lives("", replaces="Rome"), at=5)
    (fact,) = told.facts()
    assert (fact.object, fact.status, fact.valid_to) == ("Rome", "archived", day(5))


def test_each_statement_has_its_decision_with_the_reason(told: Told) -> None:
    newer, dispute = "another value took its place", "others say otherwise, and neither side weighs clearly more"
    over = "it was said to hold no longer"
    steps: list[tuple[Statement, dict[str, Any], tuple[str, str, int]]] = [
        (lives("Rome"), {"at": 1}, ("ADD", "new", 1)),
        (lives("Rome"), {"at": 2}, ("NOOP", "known: stated 2 times", 1)),
        (lives("Oslo"), {"at": 9}, ("UPDATE", "takes the place of Rome", 2)),
        (lives("Bern"), {"at": 5}, ("ARCHIVE", f"said late: {newer}", 2)),
        (lives("Lima", past=True), {"at": 10}, ("ARCHIVE", "it held once", 1)),
        (lives("Oslo", negated=True), {"at": 11}, ("ARCHIVE", over, 1)),
        (lives("Oslo", negated=True), {"at": 12}, ("NOOP", "what it denies was not held", 0)),
        (lives("Graz"), {"at": 13}, ("ADD", "new", 1)),
        (lives("Linz", correction=True), {"at": 13}, ("UPDATE", "takes the place of Graz", 2)),
        (lives("Rome"), {"at": 14, "name": "Carl"}, ("ADD", dispute, 1)),
        (likes("tea"), {"at": 15}, ("ADD", "new", 1)),
        (likes("", negated=True), {"at": 16}, ("ARCHIVE", over, 1)),
        (likes(""), {"at": 16}, ("NOOP", "it says nothing of any object", 0)),
        (Statement("Ben", "dislikes", "tea"), {"at": 17}, ("ADD", "new", 1)),
        (Statement("Ben", "practises", "golf"), {"at": 19}, ("ADD", "new", 1)),
        (Statement("Ben", "practises", "chess", replaces="golf"), {"at": 20}, ("UPDATE", "takes the place of golf", 2)),
        (lives("Ulm", "Eva"), {"at": 30}, ("ADD", "new", 1)),
        (lives("Kiel", "Eva"), {"at": 31, "name": None, "role": "assistant"},
         ("ARCHIVE", "it weighs less than what others say", 1)),
        (lives("Ulm", "Eva", negated=True), {"at": 32, "name": None, "role": "assistant"},
         ("NOOP", "it does not weigh clearly more than what it denies", 1)),
        (lives("Ulm", "Eva", negated=True, correction=True), {"at": 30},
         ("ARCHIVE", "it takes back what its speaker said", 1)),
    ]  # fmt: skip
    for statement, said, (action, reason, facts) in steps:
        told.tell(statement, **said)
        made = told.log()[-1]
        assert (made.action, made.reason, len(made.fact_ids)) == (action, reason, facts), statement
        assert (made.relation, made.topic, made.object) == (statement.relation, "", statement.object)
    assert len(told.log()) == len(steps) and told.memory.verify() == []


def test_what_waits_is_resolved_with_what_is_undone_or_merged(told: Told) -> None:
    """Its job is done then, and whoever reads the user hears of it."""

    def waiting() -> int:
        with told.memory.components.database.read(ALL_USERS) as connection:
            return len(jobs.next_batch(connection, {CURATE: 10}))

    def version() -> tuple[int, int]:
        with told.memory.components.database.read(ALL_USERS) as connection:
            return user_versions.version(connection, "ada")

    told.tell(lives("Rome", "Konstantin"), lives("Rome", "Konstantyn"), at=1)
    told.hear(lives("Oslo"), at=2)
    before = version()
    assert waiting() == 1
    told.curate()
    assert waiting() == 0 and version()[0] > before[0] and version()[1] == before[1]
    told.hear(lives("Bern"), at=3)
    before = version()
    told.undo(told.log()[-1])
    assert told.held() == ["Bern", "Rome", "Rome"] and waiting() == 0
    assert version()[0] > before[0] and version()[1] > before[1]
    with told.memory.components.database.write(ALL_USERS) as connection:
        propose(connection, namespaces.namespace_id("ada", None), load_relations(), micros(4))
    told.hear(lives("Kiel"), at=4)
    before = version()
    told.curator.merge("ada", told.log(actions=["PROPOSE"])[0].id, at=day(5))
    assert waiting() == 0 and version()[0] > before[0] and told.held() == ["Kiel", "Rome"]
    merged = told.log()[-1]
    assert (merged.action, merged.reason) == ("MERGE", "the proposal was followed") and merged.fact_ids
