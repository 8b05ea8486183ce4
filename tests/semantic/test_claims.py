"""Which claims count, in what order, and what a correction strikes."""

from __future__ import annotations

import pytest

from nscma_torch.core.config import CuratorConfig
from nscma_torch.semantic.timeline.claims import Claim, Rules, prepare

RULES = Rules(half_life=100, decision_ratio=1.5, correction_window=10)


def claim(value: str, at: int, speaker: str = "ben", **more: object) -> Claim:
    """Its number is the time at which it was said."""
    return Claim(seq=at, value=value, said_at=at, order=at, speaker=speaker, **more)  # type: ignore[arg-type]


def not_rome(**more: object) -> Claim:
    return claim("oslo", 50, correction=True, replaces="rome", **more)


def prepared(*claims: Claim) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(number, time) of each claim that counts, and the numbers of each struck claim and its correction."""
    counting, corrected = prepare(claims, RULES)
    assert prepare(claims[::-1], RULES) == (counting, corrected)
    return [(one.seq, one.time) for one in counting], [(wrong.seq, right.seq) for wrong, right in corrected]


def test_rules_of_a_configuration_are_microseconds() -> None:
    day = 86_400_000_000
    section = CuratorConfig(half_life=2.5, decision_ratio=1.5, correction_window=0.25)
    assert Rules.of(section) == Rules(half_life=5 * day // 2, decision_ratio=1.5, correction_window=day // 4)


def test_what_a_claim_says_of_time() -> None:
    assert claim("rome", 5).place == (5, 5, 5, 5) and claim("rome", 5).time == 5
    assert claim("rome", 5, begins=3).place == (3, 5, 5, 5)
    assert claim("rome", 5, begins=0).time == 0
    assert claim("rome", 5, begins=3, moved_to=(4, 1, 1, 1)).time == 4
    over = {(one.over, one.asserts) for one in (claim("a", 5, past=True), claim("a", 5, ends=5), claim("a", 5, ends=4))}
    assert over == {(True, False)}
    assert not claim("a", 5, ends=6).over and claim("a", 5, ends=6).asserts
    assert not claim("a", 5, past=True, negated=True).over and not claim("a", 5, negated=True).asserts
    assert not claim("", 5).asserts


def test_claims_count_in_the_order_of_world_time() -> None:
    assert prepared(claim("rome", 5), claim("oslo", 9, "eve", begins=2), claim("bonn", 7)) == (
        [(9, 2), (5, 5), (7, 7)],
        [],
    )


@pytest.mark.parametrize(
    ("before", "correction", "struck"),
    [
        # what its speaker said last, within the window
        ([claim("rome", 5)], claim("oslo", 15, correction=True), [5]),
        ([claim("rome", 5)], claim("oslo", 16, correction=True), []),
        ([claim("rome", 5), claim("rome", 6, "eve")], claim("oslo", 9, correction=True), [5]),
        ([claim("rome", 5, "eve")], claim("oslo", 9, correction=True), []),
        ([claim("bonn", 4), claim("rome", 5)], claim("oslo", 9, correction=True), [5]),
        # with all that it repeats, of one speaker and without anything else between
        ([claim("rome", 1), claim("rome", 3), claim("rome", 5)], claim("oslo", 9, correction=True), [1, 3, 5]),
        ([claim("rome", 1), claim("bonn", 3), claim("rome", 5)], claim("oslo", 9, correction=True), [5]),
        ([claim("rome", 1, "eve"), claim("rome", 3)], claim("oslo", 9, correction=True), [3]),
        ([claim("rome", 1), claim("x", 2, "eve"), claim("rome", 3)], claim("oslo", 9, correction=True), [1, 3]),
        ([claim("rome", 1, past=True), claim("rome", 3)], claim("oslo", 9, correction=True), [3]),
        ([claim("rome", 1, negated=True), claim("rome", 3)], claim("oslo", 9, correction=True), [3]),
        # it must say something else
        ([claim("oslo", 5)], claim("oslo", 9, correction=True), []),
        ([claim("oslo", 5, negated=True)], claim("oslo", 9, correction=True), [5]),
        ([claim("oslo", 5)], claim("oslo", 9, correction=True, negated=True), [5]),
        ([claim("oslo", 5)], claim("", 9, correction=True, negated=True), [5]),
        ([claim("oslo", 5)], claim("rome", 9, correction=True, negated=True), []),
        ([claim("oslo", 5, negated=True)], claim("oslo", 9, correction=True, negated=True), []),
        # what it names, however long ago: its speaker's, else anybody's that it weighs as much as
        ([claim("rome", 1), claim("bonn", 5)], not_rome(), [1]),
        ([claim("rome", 1), claim("rome", 5, "eve")], not_rome(), [1]),
        ([claim("rome", 1, "eve")], not_rome(), [1]),
        ([claim("rome", 1), claim("bonn", 2), claim("rome", 3)], not_rome(), [3]),
        ([claim("rome", 1), claim("rome", 3), claim("bonn", 4)], not_rome(), [1, 3]),
        ([claim("rome", 1, "eve"), claim("rome", 2, "dan")], not_rome(), [2]),
        ([claim("rome", 1, negated=True)], not_rome(), []),
        ([claim("rome", 1, trust=0.6)], not_rome(trust=0.6), [1]),
        ([claim("rome", 1)], not_rome(trust=0.9), []),
        ([claim("rome", 1)], claim("oslo", 50, correction=True, replaces="bonn"), []),
        ([claim("rome", 60)], not_rome(), []),
        ([claim("rome", 5)], claim("oslo", 9), []),
    ],
)  # fmt: skip
def test_what_a_correction_strikes(before: list[Claim], correction: Claim, struck: list[int]) -> None:
    counting, corrected = prepared(*before, correction)
    assert sorted(wrong for wrong, _ in corrected) == struck and {right for _, right in corrected} <= {correction.seq}
    assert {number for number, _ in counting} == {*(one.seq for one in before), correction.seq} - {*struck}
    first = min((one.seq for one in before if one.seq in struck), default=correction.said_at)
    assert dict(counting)[correction.seq] == first


def test_a_correction_takes_over_the_place_of_the_first_and_what_it_replaced() -> None:
    moved = claim("rome", 3, replaces="bonn", begins=1)
    counting, _ = prepare([moved, claim("rome", 4), claim("oslo", 8, correction=True)], RULES)
    (right,) = counting
    assert (right.seq, right.replaces, right.place) == (8, "bonn", (1, 3, 3, 3))
    (right,), _ = prepare([moved, claim("oslo", 8, correction=True, begins=6)], RULES)
    assert (right.replaces, right.place) == ("bonn", (6, 3, 3, 3))
    (plain,), _ = prepare([claim("oslo", 8, correction=True, replaces="rome")], RULES)
    assert plain.replaces == "", "it corrects nothing that was said"
    again = prepared(claim("rome", 3), claim("oslo", 5, correction=True), claim("bonn", 8, correction=True))
    assert again == ([(8, 3)], [(3, 5), (5, 8)])


@pytest.mark.parametrize(
    ("others", "time"),
    [
        ([], 2),
        ([claim("rome", 5)], 6),  # said otherwise after the begin that it names
        ([claim("rome", 2)], 3),
        ([claim("rome", 1)], 2),
        ([claim("rome", 5), claim("bonn", 7)], 8),
        ([claim("rome", 5), claim("bonn", 7, begins=1)], 6),
        ([claim("rome", 5, "eve")], 2),
        ([claim("rome", 5, past=True)], 2),
        ([claim("rome", 5, negated=True)], 2),
        ([claim("oslo", 5, negated=True)], 6),
        ([claim("", 5, negated=True)], 6),
        ([claim("oslo", 5)], 2),  # repeated
        ([claim("rome", 4), claim("oslo", 5)], 5),  # repeated after he had said otherwise
        ([claim("oslo", 4), claim("rome", 5)], 2),
        ([claim("rome", 12)], 2),
    ],
)
def test_a_begin_that_its_speaker_refuted_is_moved_to_after_that(others: list[Claim], time: int) -> None:
    named = claim("oslo", 9, begins=2)
    counting, corrected = prepared(*others, named)
    assert (dict(counting)[9], corrected) == (time, [])


def test_only_a_begin_before_the_claim_was_said_is_moved() -> None:
    rome = claim("rome", 5)
    assert dict(prepared(rome, claim("oslo", 9, begins=10))[0])[9] == 10
    assert dict(prepared(rome, claim("oslo", 9, begins=9))[0])[9] == 9
    assert dict(prepared(rome, claim("oslo", 9, begins=2, negated=True))[0])[9] == 2
    assert dict(prepared(rome, claim("oslo", 9, begins=2, past=True))[0])[9] == 2
