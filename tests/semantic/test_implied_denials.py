"""Relations that hold both ways, with one other at a time: a new spouse ends the marriage before on both its sides."""

from __future__ import annotations

import random

from nscma_torch.core.records import Statement
from nscma_torch.extraction.symmetric_statements import with_symmetric
from nscma_torch.reading.relations import load_relations
from tests.helpers.told import Told

SCHEMA = load_relations()


def married(subject: str, spouse: str, **more: object) -> list[Statement]:
    said = Statement(subject, "married_to", spouse, **more)  # type: ignore[arg-type]
    return with_symmetric([said], SCHEMA)


def couples(told: Told) -> set[tuple[str, str]]:
    return {(f.subject, f.object) for f in told.facts(statuses=("active", "disputed"))}


def test_who_marries_again_leaves_the_spouse_before_on_both_sides(told: Told) -> None:
    told.tell(*married("Ben", "Ana"), at=1)
    told.tell(*married("Ben", "Bea"), at=9)
    assert couples(told) == {("Ben", "Bea"), ("Bea", "Ben")}
    spans = {(f.subject, f.object): (f.valid_from, f.valid_to) for f in told.facts()}
    assert spans["Ana", "Ben"] == spans["Ben", "Ana"]
    log = told.log()
    own = next(one for one in log if one.object == "Bea" and one.action == "UPDATE")
    ended = {f.id for f in told.facts() if f.status == "archived"}
    assert ended < set(own.fact_ids), "the decision names the facts of both sides"
    told.undo(log[-1])
    told.undo(own)
    assert couples(told) == {("Ben", "Ana"), ("Ana", "Ben")}
    assert told.memory.verify() == []


def test_a_divorce_that_names_nobody_ends_both_sides(told: Told) -> None:
    told.tell(*married("Ben", "Ana"), at=1)
    told.tell(*married("Ben", "", negated=True), at=9)
    assert couples(told) == set()
    told.tell(*married("Ben", "Ana"), at=20)
    assert couples(told) == {("Ben", "Ana"), ("Ana", "Ben")}


def test_a_marriage_of_the_past_ends_none(told: Told) -> None:
    told.tell(*married("Ben", "Ana"), at=1)
    told.tell(*married("Ben", "Bea", past=True), at=9)
    assert couples(told) == {("Ben", "Ana"), ("Ana", "Ben")}


def test_whatever_order_they_are_told_in_both_sides_agree(told: Told) -> None:
    chance = random.Random(5)
    said = [(married("Ben", spouse), at) for at, spouse in enumerate(("Ana", "Bea", "Ana", "Cleo", "Bea"), start=1)]
    chance.shuffle(said)
    for statements, at in said:
        told.tell(*statements, at=at)
    assert couples(told) == {("Ben", "Bea"), ("Bea", "Ben")}
    spans = {(f.subject, f.object, f.valid_from, f.valid_to) for f in told.facts()}
    assert spans == {(b, a, begin, end) for a, b, begin, end in spans}
    assert told.memory.verify() == []


def test_a_correction_strikes_both_sides(told: Told) -> None:
    told.tell(*married("Ben", "Ana"), at=1)
    told.tell(*married("Ben", "Bea", correction=True), at=2)
    assert couples(told) == {("Ben", "Bea"), ("Bea", "Ben")}
    assert {f.reason for f in told.facts() if "Ana" in (f.subject, f.object)} == {
        "never true: its speaker corrected it"
    }
