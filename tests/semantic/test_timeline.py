"""Timelines: examples of each rule, and what must hold for any claims."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.semantic.timeline.claims import UNKNOWN, Claim, Rules
from nscma_torch.semantic.timeline.resolve_claims import resolve
from nscma_torch.semantic.timeline.timeline_records import Timeline

DAY = 86_400_000_000
RULES = Rules(half_life=90 * DAY, decision_ratio=1.25, correction_window=DAY)
NUMBER = itertools.count(1)


def claim(value: str, day: float, speaker: str = "ben", **values: object) -> Claim:
    for name in ("begins", "ends"):
        if name in values:
            values[name] = int(float(str(values[name])) * DAY)
    number = next(NUMBER)
    return replace(Claim(number, value, int(day * DAY), number, speaker), **values)  # type: ignore[arg-type]


def shown(*claims: Claim) -> list[tuple[str, float | None, float | None, str]]:
    """Spans that held, in days."""
    return [
        (
            span.value,
            None if span.valid_from is None else round(span.valid_from / DAY, 3),
            None if span.valid_to is None else round(span.valid_to / DAY, 3),
            span.status,
        )
        for span in resolve(claims, RULES).spans
        if span.confidence
    ]


def test_a_newer_value_of_the_same_speaker_takes_the_place() -> None:
    assert shown(claim("red", 1), claim("blue", 5)) == [("red", 1, 5, "archived"), ("blue", 5, None, "active")]


def test_a_late_older_statement_goes_where_it_belongs() -> None:
    new, old = claim("oslo", 9), claim("rome", 2)
    assert shown(new, old) == [("rome", 2, 9, "archived"), ("oslo", 9, None, "active")]


def test_a_change_of_long_ago_leaves_the_present() -> None:
    present = claim("porto", 400)
    assert shown(present, claim("rome", 460, begins=10, begun_by=20 * DAY)) == [
        ("rome", 10, 400, "archived"),
        ("porto", 400, None, "active"),
    ]
    assert shown(present, claim("rome", 460, begins=380, begun_by=410 * DAY))[-1][0] == "rome", "it may have come after"
    assert shown(present, claim("rome", 460, begins=10))[-1] == ("rome", 400, None, "active"), (
        "it holds when it is said"
    )


def test_a_change_of_unknown_times_leaves_the_present() -> None:
    present = claim("porto", 400)
    long_ago = replace(claim("rome", 460), begins=UNKNOWN, begun_by=UNKNOWN)
    assert [(value, until) for value, _, until, _ in shown(present, long_ago)] == [("rome", 400), ("porto", None)]
    assert [value for value, *_ in shown(present, replace(long_ago, begun_by=None))] == ["porto", "rome"]
    spans = shown(present, long_ago, claim("tartu", 470, past=True))
    assert {value: until for value, _, until, _ in spans} == {"rome": 400, "porto": None, "tartu": 400}


def test_the_same_again_grows_stronger() -> None:
    (span,) = resolve([claim("rome", 1, confidence=0.5), claim("rome", 3, confidence=0.6)], RULES).spans
    assert len(span.claims) == 2
    assert abs(span.confidence - 0.8) < 1e-9
    assert (span.valid_from, span.valid_to) == (DAY, None)


def test_one_may_come_back() -> None:
    spans = shown(claim("rome", 1), claim("oslo", 3), claim("rome", 7))
    assert spans == [("rome", 1, 3, "archived"), ("oslo", 3, 7, "archived"), ("rome", 7, None, "active")]


def test_at_one_time_the_order_of_saying_decides() -> None:
    spans = resolve([claim("kitchen", 1), claim("garden", 1), claim("kitchen", 1)], RULES).spans
    assert [(span.value, span.status) for span in spans] == [
        ("kitchen", "archived"),
        ("garden", "archived"),
        ("kitchen", "active"),
    ]
    assert [span.sequence for span in spans] == sorted({span.sequence for span in spans})
    assert all(span.confidence for span in spans)


def test_what_is_replaced_ends_even_if_it_was_never_stated() -> None:
    moved = claim("oslo", 5, replaces="rome")
    assert shown(moved) == [("rome", None, 5, "archived"), ("oslo", 5, None, "active")]
    again = claim("oslo", 8, replaces="rome")
    assert shown(moved, again) == [("rome", None, 5, "archived"), ("oslo", 5, None, "active")]


def test_what_is_replaced_has_no_length_where_something_else_held() -> None:
    spans = shown(claim("paris", 1), claim("oslo", 5, replaces="rome"))
    assert spans == [("paris", 1, 5, "archived"), ("rome", 5, 5, "archived"), ("oslo", 5, None, "active")]


def test_what_is_replaced_by_another_speaker_ends() -> None:
    spans = shown(claim("rome", 1), claim("oslo", 2, "anna", replaces="rome"))
    assert spans == [("rome", 1, 2, "archived"), ("oslo", 2, None, "active")]


def test_a_restated_move_tells_what_came_before_a_known_value() -> None:
    spans = shown(claim("oslo", 5), claim("oslo", 9, replaces="rome"))
    assert spans == [("rome", None, 5, "archived"), ("oslo", 5, None, "active")]


def test_an_end_without_a_successor() -> None:
    left = claim("", 5, replaces="tennis")
    assert shown(left) == [("tennis", None, 5, "archived")]
    assert shown(claim("tennis", 1), left) == [("tennis", 1, 5, "archived")]


def test_speakers_who_differ_at_one_age_are_in_dispute() -> None:
    a, b = claim("rome", 1, "ben"), claim("oslo", 4, "anna")
    assert shown(a, b) == [("rome", 1, None, "disputed"), ("oslo", 4, None, "disputed")]
    assert shown(a, b, claim("oslo", 6, "carl")) == [("rome", 1, 4, "archived"), ("oslo", 4, None, "active")]
    assert shown(a, b, claim("oslo", 6, "ben")) == [("rome", 1, 4, "archived"), ("oslo", 4, None, "active")]
    assert shown(a, b, claim("rome", 6, "anna")) == [("rome", 1, None, "active")]
    third = [("rome", 1, 4, "archived"), ("oslo", 4, 6, "archived"), ("bonn", 6, None, "active")]
    assert shown(a, b, claim("bonn", 6, "carl", decisive=True)) == third


def test_of_speakers_who_both_say_since_when_the_later_one_is_followed() -> None:
    a, b = claim("rome", 6, "ben", begins=1), claim("oslo", 6, "anna", begins=4)
    assert shown(a, b) == [("rome", 1, 4, "archived"), ("oslo", 4, None, "active")]


def test_repeating_does_not_outvote() -> None:
    said = [claim("rome", 1 + i / 10, "ben") for i in range(9)]
    assert [span[3] for span in shown(*said, claim("oslo", 2, "anna"))] == ["disputed", "disputed"]


def test_a_clearly_better_side_holds_and_the_other_goes_to_the_archive_with_its_reason() -> None:
    user, assistant = claim("rome", 1, "ben"), claim("oslo", 2, "assistant", trust=0.6)
    held, lost = resolve([user, assistant], RULES).spans
    assert (held.value, held.status, held.valid_to) == ("rome", "active", None)
    assert (lost.value, lost.status, lost.confidence) == ("oslo", "archived", 0)
    assert "weighs less" in lost.reason
    assert shown(user, claim("oslo", 200, "assistant", trust=0.6))[-1] == ("oslo", 200, None, "active")


def test_what_lost_alone_may_win_together() -> None:
    held, wrong = claim("rome", 1, "ben", trust=0.9), claim("oslo", 2, "assistant", trust=0.6)
    again, backed = claim("oslo", 3, "assistant", trust=0.6), claim("oslo", 4, "page", trust=0.9)
    assert shown(held, wrong, again) == [("rome", 1, None, "active")]
    assert len(resolve([held, wrong, again], RULES).spans) == 2
    assert shown(held, wrong, backed) == [("rome", 1, 2, "archived"), ("oslo", 2, None, "active")]
    moved = claim("oslo", 5, "ben")
    assert shown(held, wrong, moved) == [("rome", 1, 5, "archived"), ("oslo", 5, None, "active")]


def test_a_negation_ends_what_is_held_and_nothing_else() -> None:
    assert shown(claim("rome", 1), claim("rome", 4, negated=True)) == [("rome", 1, 4, "archived")]
    assert shown(claim("rome", 1), claim("oslo", 4, negated=True)) == [("rome", 1, None, "active")]
    assert shown(claim("rome", 1), claim("", 4, negated=True)) == [("rome", 1, 4, "archived")]
    assert shown(claim("rome", 4), claim("rome", 1, negated=True)) == [("rome", 4, None, "active")]


def test_a_negation_by_another_speaker_is_weighed() -> None:
    held = claim("rome", 1, "ben")
    assert shown(held, claim("rome", 2, "assistant", negated=True, trust=0.6)) == [("rome", 1, None, "active")]
    denied = claim("rome", 2, "anna", negated=True)
    assert shown(held, denied) == [("rome", 1, None, "disputed")]
    assert shown(held, denied, claim("rome", 3, "carl", negated=True)) == [("rome", 1, 2, "archived")]
    assert shown(held, denied, claim("rome", 3, "carl")) == [("rome", 1, None, "active")]
    assert shown(held, denied, claim("rome", 3, "anna")) == [("rome", 1, None, "active")]


def test_a_correction_was_never_true_and_takes_over_its_begin() -> None:
    wrong, right = claim("rome", 1), claim("oslo", 1.001, correction=True)
    assert shown(wrong, right) == [("oslo", 1, None, "active")]
    struck = resolve([wrong, right], RULES).spans[0]
    assert (struck.value, struck.valid_from, struck.valid_to, struck.status) == ("rome", DAY, DAY, "archived")
    again = claim("rome", 1.002, correction=True)
    assert shown(wrong, right, again) == [("rome", 1, None, "active")]


def test_a_correction_leaves_what_held_before() -> None:
    spans = shown(claim("bonn", 1), claim("rome", 5), claim("oslo", 5.001, correction=True))
    assert spans == [("bonn", 1, 5, "archived"), ("oslo", 5, None, "active")]


def test_a_correction_may_name_what_was_wrong() -> None:
    early = claim("rome", 1)
    assert shown(early, claim("oslo", 50, correction=True, replaces="rome")) == [("oslo", 1, None, "active")]
    assert shown(early, claim("oslo", 50, correction=True))[0] == ("rome", 1, 50, "archived")
    retracted = claim("rome", 1.001, negated=True, correction=True)
    assert shown(early, retracted) == []
    told = claim("rome", 1, "assistant", trust=0.6)
    assert shown(told, claim("oslo", 2, correction=True, replaces="rome")) == [("oslo", 1, None, "active")]


def test_the_past_is_in_the_archive() -> None:
    assert shown(claim("rome", 9, past=True)) == [("rome", None, 9, "archived")]
    assert shown(claim("rome", 9, past=True, begins=2)) == [("rome", 2, 9, "archived")]
    assert shown(claim("rome", 9, past=True, ends=4)) == [("rome", None, 4, "archived")]
    assert shown(claim("rome", 9, past=True, begins=2, ends=4)) == [("rome", 2, 4, "archived")]
    assert shown(claim("oslo", 5), claim("rome", 9, past=True)) == [
        ("rome", None, 5, "archived"),
        ("oslo", 5, None, "active"),
    ]
    assert shown(claim("oslo", 5), claim("rome", 9, past=True, begins=2))[0] == ("rome", 2, 5, "archived")


def test_the_past_ends_what_is_held() -> None:
    assert shown(claim("rome", 1), claim("rome", 9, past=True)) == [("rome", 1, 9, "archived")]
    assert shown(claim("rome", 1), claim("rome", 9, past=True, ends=4)) == [("rome", 1, 4, "archived")]
    known = claim("rome", 1), claim("oslo", 3)
    assert shown(*known, claim("rome", 9, past=True)) == shown(*known)


def test_an_end_that_is_announced() -> None:
    until = claim("paris", 1, ends=5)
    assert shown(until) == [("paris", 1, 5, "active")]
    assert shown(until, claim("paris", 3, ends=8)) == [("paris", 1, 8, "active")]
    assert shown(until, claim("rome", 7)) == [("paris", 1, 5, "archived"), ("rome", 7, None, "active")]
    moving = claim("oslo", 2, begins=9)
    spans = [("rome", 1, 9, "active"), ("oslo", 9, None, "active")]
    assert shown(claim("rome", 1), moving) == spans
    assert shown(claim("rome", 1), moving, claim("rome", 3)) == spans


def test_a_begin_that_is_named() -> None:
    assert shown(claim("oslo", 9, begins=2)) == [("oslo", 2, None, "active")]
    two = claim("oslo", 9, begins=5), claim("rome", 10, begins=2)
    assert shown(*two) == [("rome", 2, 5, "archived"), ("oslo", 5, None, "active")]


def test_a_vague_begin_gives_way_to_what_was_said_after_it() -> None:
    rome, moved = claim("rome", 10), claim("oslo", 25, begins=1)
    spans = shown(rome, moved)
    assert [(span[0], span[3]) for span in spans] == [("rome", "archived"), ("oslo", "active")]
    told_again = claim("oslo", 3), claim("rome", 10), claim("oslo", 25, begins=1)
    assert [(span[0], span[3]) for span in shown(*told_again)] == [("oslo", "archived"), ("rome", "active")]


def test_every_effect_is_told() -> None:
    claims = [claim("rome", 1), claim("rome", 2), claim("oslo", 3), claim("bonn", 4, negated=True)]
    outcomes = resolve(claims, RULES).outcomes
    assert [outcomes[one.seq].effect for one in claims] == ["opens", "joins", "opens", "nothing"]
    assert outcomes[claims[2].seq].spans == (1, 0)


def whole(*claims: Claim) -> list[tuple[object, ...]]:
    """Every span in days and with its claims and sequence counted from the first claim, then each claim's effect."""
    timeline, first = resolve(claims, RULES), min(claim.seq for claim in claims)
    days = lambda time: None if time is None else round(time / DAY, 3)  # noqa: E731
    spans = [
        (span.value, days(span.valid_from), days(span.valid_to), span.status, round(span.confidence, 3),
         [seq - first for seq in span.claims], [seq - first for seq in span.ended_by], span.sequence - 64 * first,
         None if span.ended is None else span.ended - 64 * first, span.reason)
        for span in timeline.spans
    ]  # fmt: skip
    outcomes = [timeline.outcomes[claim.seq] for claim in claims]
    return [*spans, *((one.effect, one.spans, one.reason) for one in outcomes)]


HOLDS, ELSE = "nothing that weighs as much contradicts it", "another value took its place"
OVER, LESS = "it was said to hold no longer", "it weighs less than what others say"
NEVER = "never true: its speaker corrected it"


def test_whole_timelines() -> None:
    """All that a timeline says, at the places where two spans or two claims meet."""
    assert whole(claim("paris", 1), claim("oslo", 5, replaces="rome")) == [
        ("paris", 1, 5, "archived", 1, [0], [1], 1, 64, ELSE),
        ("rome", 5, 5, "archived", 1, [1], [], 64, 64, ELSE),
        ("oslo", 5, None, "active", 1, [1], [], 65, None, HOLDS),
        ("opens", (0,), ""),
        ("opens", (2, 0, 1), ""),
    ]
    assert whole(claim("rome", 1), claim("oslo", 5, replaces="rome"), claim("oslo", 6), claim("bonn", 5)) == [
        ("rome", 1, 5, "archived", 1, [0], [1], 1, 64, ELSE),
        ("oslo", 5, 5, "archived", 1, [1], [3], 65, 192, ELSE),
        ("bonn", 5, 6, "archived", 1, [3], [2], 193, 193, ELSE),
        ("oslo", 6, None, "active", 1, [2], [], 129, None, HOLDS),
        ("opens", (0,), ""),
        ("opens", (1, 0), ""),
        ("opens", (3, 2), ""),
        ("opens", (2, 1), ""),
    ]
    differ = claim("rome", 1), claim("oslo", 2, "anna"), claim("rome", 3, negated=True), claim("oslo", 4, "carl")
    assert whole(*differ) == [
        ("rome", 1, 2, "archived", 1, [0], [2], 1, 128, OVER),
        ("oslo", 2, None, "active", 1, [1, 3], [], 65, None, HOLDS),
        ("opens", (0,), ""),
        ("opens", (1,), ""),
        ("ends", (0,), ""),
        ("joins", (1,), ""),
    ]
    twice = claim("rome", 1, confidence=0.5), claim("rome", 1.5, confidence=0.5), claim("oslo", 1.6, correction=True)
    assert whole(*twice) == [
        ("rome", 1, 1, "archived", 0, [0, 1], [2], 1, 128, NEVER),
        ("oslo", 1, None, "active", 1, [2], [], 129, None, HOLDS),
        ("corrected", (0,), NEVER),
        ("corrected", (0,), NEVER),
        ("opens", (1, 0), ""),
    ]
    assert whole(claim("rome", 1), claim("rome", 1.1, negated=True, correction=True), claim("rome", 1.2)) == [
        ("rome", 1, 1, "archived", 0, [0], [1], 1, 64, NEVER),
        ("rome", 1.2, None, "active", 1, [2], [], 129, None, HOLDS),
        ("corrected", (0,), NEVER),
        ("corrects", (0,), "it takes back what its speaker said"),
        ("opens", (1,), ""),
    ]
    assert whole(claim("rome", 1), claim("rome", 9, past=True, ends=4), claim("rome", 10, past=True)) == [
        ("rome", 1, 4, "archived", 1, [0, 1, 2], [], 1, 64, OVER),
        ("opens", (0,), ""),
        ("ends", (0,), ""),
        ("joins", (0,), "it was known to have ended"),
    ]
    assert whole(claim("paris", 1, ends=5), claim("rome", 3), claim("bonn", 9, past=True, begins=2, ends=3)) == [
        ("paris", 1, 2, "archived", 1, [0], [2], 1, 128, ELSE),
        ("bonn", 2, 3, "archived", 1, [2], [1], 129, 129, ELSE),
        ("rome", 3, None, "active", 1, [1], [], 65, None, HOLDS),
        ("opens", (0,), ""),
        ("opens", (2, 1), ""),
        ("opens", (1, 0), ""),
    ]
    outweighed = (
        claim("rome", 1),
        claim("rome", 1, "anna"),
        claim("oslo", 2, "carl"),
        claim("oslo", 3, "d", negated=True),
    )
    assert whole(*outweighed) == [
        ("rome", 1, None, "active", 1, [0, 1], [], 1, None, HOLDS),
        ("oslo", 2, 2, "archived", 0, [2], [0, 1], 129, 129, LESS),
        ("opens", (0,), ""),
        ("joins", (0,), ""),
        ("loses", (1,), LESS),
        ("nothing", (), "what it denies was not held"),
    ]
    rome = claim("rome", 1)
    described = claim("cosy", 2, vague=True), claim("cosy", 3, "anna", vague=True), claim("", 4, replaces="oslo")
    assert whole(rome, *described) == [
        ("rome", 1, None, "active", 1, [0], [], 1, None, HOLDS),
        ("oslo", 4, 4, "archived", 1, [3], [], 192, 192, ELSE),
        ("opens", (0,), ""),
        *[("nothing", (), "it describes, and what holds has a name")] * 2,
        ("ends", (1,), ""),
    ]


VALUES = st.sampled_from(["a", "b", "c"])
DAYS = st.integers(0, 40)


@st.composite
def claims_at(draw: st.DrawFn, *, distinct: bool = False) -> list[Claim]:
    """Any claims; with `distinct`, no two of them share a time."""
    days = draw(st.lists(DAYS, min_size=1, max_size=9, unique=distinct))
    made = []
    for i, day in enumerate(days):
        negated = draw(st.integers(0, 4)) == 0
        past = not negated and draw(st.integers(0, 4)) == 0
        begins = draw(st.none() | DAYS) if draw(st.booleans()) else None
        shift = 100 * (i + 1) if distinct else 0
        made.append(
            Claim(
                seq=i,
                value=draw(VALUES if not negated else st.sampled_from(["", "a", "b", "c"])),
                said_at=day * DAY,
                order=i,
                speaker=draw(st.sampled_from(["x", "y", "z"])),
                negated=negated,
                replaces="" if negated or draw(st.booleans()) else draw(VALUES),
                correction=draw(st.integers(0, 5)) == 0,
                past=past,
                begins=None if begins is None or negated else begins * DAY + shift,
                ends=None if negated or draw(st.booleans()) else draw(DAYS) * DAY + 7 * shift,
                confidence=draw(st.sampled_from([1.0, 0.7])),
                trust=draw(st.sampled_from([1.0, 0.6])),
                decisive=draw(st.integers(0, 5)) == 0,
            )
        )
    return made


@settings(max_examples=60, deadline=None, derandomize=True)
@given(claims_at(distinct=True), st.randoms(use_true_random=False))
def test_arrival_order_does_not_matter(claims: list[Claim], chance: random.Random) -> None:
    shuffled = list(claims)
    chance.shuffle(shuffled)
    renumbered = [replace(one, order=place) for place, one in enumerate(shuffled)]

    def seen(timeline: Timeline) -> list[tuple[object, ...]]:
        """All of the spans but `sequence` and `ended`, which come from `order`."""
        return [
            (s.value, s.valid_from, s.valid_to, s.status, s.confidence, s.claims, s.ended_by, s.reason)
            for s in timeline.spans
        ]

    assert resolve(claims, RULES) == resolve(shuffled, RULES)
    assert seen(resolve(claims, RULES)) == seen(resolve(renumbered, RULES))


@settings(max_examples=75, deadline=None, derandomize=True)
@given(claims_at())
def test_spans_of_one_group_never_overlap_unless_disputed(claims: list[Claim]) -> None:
    spans = [span for span in resolve(claims, RULES).spans if span.valid_from != span.valid_to]
    for one, other in itertools.combinations(spans, 2):
        if one.status == other.status == "disputed":
            continue
        first, second = sorted((one, other), key=lambda span: (span.valid_from is not None, span.valid_from or 0))
        assert first.valid_to is not None and second.valid_from is not None, (first, second)
        assert first.valid_to <= second.valid_from, (first, second)


@settings(max_examples=75, deadline=None, derandomize=True)
@given(claims_at())
def test_every_claim_is_in_a_span_or_explained(claims: list[Claim]) -> None:
    timeline = resolve(claims, RULES)
    assert set(timeline.outcomes) == {one.seq for one in claims}
    for one in claims:
        outcome = timeline.outcomes[one.seq]
        own = [timeline.spans[i] for i in outcome.spans]
        assert outcome.reason or any(one.seq in span.claims + span.ended_by for span in own)


@settings(max_examples=75, deadline=None, derandomize=True)
@given(claims_at())
def test_spans_are_in_order_and_well_formed(claims: list[Claim]) -> None:
    spans = resolve(claims, RULES).spans
    latest = max(one.said_at for one in claims)
    for span in spans:
        assert span.claims and 0 <= span.confidence <= 1 and span.reason
        if span.valid_from is not None and span.valid_to is not None:
            assert span.valid_from <= span.valid_to
        assert (span.status == "archived") == (
            span.valid_to is not None and (span.valid_to <= latest or span.valid_to == span.valid_from)
        )
        assert span.status != "disputed" or span.valid_to is None
    for one, other in itertools.pairwise(spans):
        assert (one.valid_from or 0) <= (other.valid_from or 0) or one.valid_from is None
        if one.valid_from == other.valid_from:
            assert one.sequence < other.sequence


@settings(max_examples=40, deadline=None, derandomize=True)
@given(claims_at())
def test_the_same_in_the_same_breath_adds_strength_alone(claims: list[Claim]) -> None:
    plain = [one for one in claims if not (one.correction or one.past or one.ends is not None)]
    doubled = [
        replace(one, seq=2 * i + again, order=2 * i + again, speaker="x")
        for i, one in enumerate(plain)
        for again in range(2)
    ]

    def extents(given: Sequence[Claim]) -> list[tuple[str, int | None, int | None, str]]:
        return [(s.value, s.valid_from, s.valid_to, s.status) for s in resolve(given, RULES).spans]

    assert extents([one for one in doubled if one.seq % 2 == 0]) == extents(doubled)


def test_a_description_takes_no_names_place() -> None:
    """Who lives in Ghent may live in a flat; who lives in a flat may be found to live in Ghent."""
    flat, second = claim("flat", 0, vague=True), claim("second floor", 2, vague=True)
    claims = [flat, claim("ghent", 1), second, claim("ghent", 3)]
    assert shown(*claims) == [("flat", 0, 1, "archived"), ("ghent", 1, None, "active")]
    assert resolve(claims, RULES).outcomes[second.seq].effect == "nothing"
