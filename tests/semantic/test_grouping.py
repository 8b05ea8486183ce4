"""Groups of statements: the claims in them, and the order of saying."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.claims import UNKNOWN, Claim
from nscma_torch.semantic.timeline.grouping import begin_of, closed, fact_of, groups_of
from nscma_torch.semantic.timeline.timeline_records import ValidSpan


def row(seq: int, object_: str, episode: int, start: int, *, position: int, role: str = "user") -> StatementRow:
    return StatementRow(
        seq=seq,
        id=f"s{seq}",
        subject="ann",
        relation="lives_in",
        topic="",
        object=object_,
        object_key=object_.lower(),
        replaces="",
        replaces_key="",
        negated=False,
        correction=False,
        past=False,
        valid_from=None,
        valid_to=None,
        said_at=0,
        episode_seq=episode,
        start=start,
        speaker="ann",
        confidence=0.9,
        role=role,
        position=position,
        stored_at=0,
    )


def said(seq: int, object_: str, relation: str = "owns", **more: object) -> StatementRow:
    made = replace(row(seq, object_, seq, 0, position=seq), relation=relation, **more)  # type: ignore[arg-type]
    return replace(made, replaces_key=made.replaces.casefold())


def claimed(*rows: StatementRow, window: int = 0) -> dict[str, list[tuple[int, str, bool, str, bool]]]:
    """By object: the statement, value, negation, what is replaced and the correction of each claim."""
    found = groups_of(rows, load_relations(), window)
    return {
        group.object_key: [(one.seq, one.value, one.negated, one.replaces, one.correction) for one in group.claims]
        for group in found
    }


def test_claims_are_ordered_by_message_and_place_in_it_however_they_were_stored() -> None:
    rows = [
        row(1, "Oslo", 8, 0, position=4),
        row(2, "Rome", 7, 1 << 30, position=3),
        row(3, "Graz", 7, 40, position=3),
        row(4, "Bern", 7, 5, position=3),
    ]
    (group,) = groups_of(rows, load_relations(), correction_window=0)
    assert [claim.value for claim in sorted(group.claims, key=lambda claim: claim.order)] == [
        "bern",
        "graz",
        "rome",
        "oslo",
    ]


def test_whoever_knows_of_themselves_counts_most() -> None:
    roles = ("user", "document", "tool", "assistant", "system")
    rows = [row(seq, f"City {seq}", seq, 0, position=seq, role=role) for seq, role in enumerate(roles)]
    (group,) = groups_of(rows, load_relations(), correction_window=0)
    trust = [claim.trust for claim in sorted(group.claims, key=lambda claim: claim.order)]
    assert trust == sorted(set(trust), reverse=True) and trust[0] == 1 and trust[-1] > 0


def test_places_of_a_message_stay_within_it() -> None:
    rows = [row(1, "Oslo", 1, (1 << 20) - 1, position=3), row(2, "Rome", 1, 1 << 20, position=3),
            row(3, "Bern", 2, 0, position=4), row(4, "Graz", 1, 7, position=0)]  # fmt: skip
    (group,) = groups_of(rows, load_relations(), correction_window=0)
    assert [claim.order for claim in group.claims] == [(4 << 20) - 1, (4 << 20) - 1, 4 << 20, 7]


@pytest.mark.parametrize(
    ("owned", "denied", "meant"),
    [
        (("red Fiat Panda",), "Fiat", "red fiat panda"),
        (("red Fiat Panda",), "Panda Fiat", "red fiat panda"),
        (("Fiat",), "Fiat", "fiat"),
        (("red Fiat Panda", "Fiat"), "Fiat", "fiat"),
        (("racing bike",), "bike", "racing bike"),
        (("bike shed",), "bike", "bike"),
        (("bike",), "racing bike", "racing bike"),
        (("old racing bike",), "racing bikes", "old racing bike"),
        (("racing bike", "old bike"), "bike", "bike"),
        (("red Fiat Panda", "blue Fiat Uno"), "Fiat", "fiat"),
        (("the of",), "of", "of"),
        ((), "bike", "bike"),
    ],
)
def test_a_denied_thing_is_the_only_one_that_its_name_is_short_for(
    owned: tuple[str, ...], denied: str, meant: str
) -> None:
    """Of nothing else, neither another relation's object nor one that was denied before."""
    rows = [said(seq, name) for seq, name in enumerate(owned)]
    groups = claimed(*rows, said(8, "another red Fiat bike", "uses"), said(9, denied, negated=True))
    own = groups.pop("another red fiat bike")
    assert own == [(8, "uses", False, "", False)]
    assert (9, "owns", True, "", False) in groups[meant]
    assert sum(claim[0] == 9 for claims in groups.values() for claim in claims) == 1


def test_what_was_denied_is_not_meant_again() -> None:
    rows = [said(0, "racing bike"), said(1, "bike", negated=True), said(2, "old bike"), said(3, "bike", negated=True)]
    assert claimed(*rows) == {
        "racing bike": [(0, "owns", False, "", False), (1, "owns", True, "", False)],
        "old bike": [(2, "owns", False, "", False), (3, "owns", True, "", False)],
    }
    likes = [said(0, "racing bike", "likes"), said(1, "bike", "likes", negated=True)]
    assert set(claimed(*likes)) == {"racing bike", "bike"}, "only of particular things"


def test_a_denial_of_nothing_named_is_of_every_object() -> None:
    rows = [said(0, "tea", "likes"), said(1, "rain", "dislikes"), said(2, "jazz", "likes"),
            said(3, "", "likes", negated=True), said(4, "", "likes")]  # fmt: skip
    assert claimed(*rows) == {
        "tea": [(0, "likes", False, "", False), (3, "likes", True, "", False)],
        "rain": [(1, "dislikes", False, "", False)],
        "jazz": [(2, "likes", False, "", False), (3, "likes", True, "", False)],
    }


def test_a_correction_of_many_is_about_its_speakers_last_statement_within_the_window() -> None:
    first, other = said(0, "tea", "likes", said_at=10), said(1, "jazz", "likes", said_at=12, speaker="bob")
    right = said(2, "golf", "likes", said_at=15, correction=True)
    struck = [(0, "likes", False, "", False), (2, "likes", True, "likes", True)]
    assert claimed(first, other, right, window=5)["tea"] == struck
    assert claimed(first, other, right, window=4)["tea"] == struck[:1]
    assert claimed(first, other, right, window=4)["golf"] == [(2, "likes", False, "", False)]
    for last in (replace(first, negated=True), replace(first, relation="dislikes"), replace(first, speaker="eve")):
        assert not any(claim[4] for claims in claimed(last, other, right, window=9).values() for claim in claims)
    earlier = said(0, "golf", "likes", said_at=9)
    assert claimed(earlier, replace(first, seq=7), right, window=9)["golf"][-1][:2] == (2, "likes")
    named = replace(right, replaces="Jazz", replaces_key="jazz", said_at=99)
    assert claimed(first, other, named, window=5)["jazz"][-1] == (2, "likes", True, "likes", True)
    moved = said(3, "golf", "likes", replaces="Tea")
    assert claimed(first, moved)["tea"][-1] == (3, "", False, "likes", False)
    assert claimed(first, said(3, "tea", "likes", replaces="Tea"))["tea"] == [
        (0, "likes", False, "", False), (3, "likes", False, "", False),
    ]  # fmt: skip


def test_what_a_claim_takes_from_its_statement() -> None:
    def claim(**more: object) -> Claim:
        (group,) = groups_of([said(5, "Oslo", **{"relation": "lives_in", **more})], load_relations(), 0)  # type: ignore[arg-type]
        (made,) = group.claims
        return made

    plain = claim(said_at=9, confidence=0.7, speaker="The Ann")
    assert (plain.seq, plain.value, plain.said_at, plain.speaker, plain.confidence) == (5, "oslo", 9, "ann", 0.7)
    assert (plain.order, plain.trust, plain.begins, plain.ends, plain.replaces) == (5 << 20, 1.0, None, None, "")
    assert not (plain.past or plain.negated or plain.decisive or plain.vague or plain.correction)
    spanned = claim(valid_from=3, valid_to=7)
    assert (spanned.begins, spanned.ends) == (3, 7)
    denied = claim(valid_from=3, valid_to=7, negated=True, past=True)
    assert (denied.begins, denied.ends, denied.past, denied.negated) == (3, None, False, True)
    assert claim(valid_to=7, negated=True).begins == 7 and claim(valid_to=7).begins is None
    assert claim(past=True).past and not claim(relation="born_in", past=True).past
    lasting = claim(relation="born_in", valid_from=3, valid_to=7)
    assert (lasting.begins, lasting.ends) == (3, None)
    moved = claim(replaces="Rome")
    assert moved.replaces == "rome" and moved.decisive and not claim(replaces="Rome", correction=True).decisive
    assert claim(correction=True).correction
    assert claim(object="small flat").vague and not claim(object="small Flat").vague and not claim(object="小屋").vague
    assert not claim(object="cook", relation="job").vague
    assert claim(object="The Ann", object_key="ben", relation="named", replaces="The Bob").value == "ann"
    assert claim(object="Ann", object_key="ben", relation="named", replaces="The Bob").replaces == "bob"
    trust = [claim(role=role).trust for role in ("user", "document", "tool", "assistant", "system")]
    assert trust == [1.0, 0.9, 0.8, 0.6, 0.5]
    assert groups_of([said(1, "x", "gone")], load_relations(), 0)[0].object_key == "x", "no relation of the file"


def test_the_fact_of_a_span_is_written_as_it_was_said_first() -> None:
    rows = {one.seq: one for one in (said(1, "Small Flat", said_at=8), said(2, "small flat", said_at=4, episode_seq=3),
                                     said(3, "SMALL FLAT", said_at=4, episode_seq=2, start=7),
                                     said(4, "Small flat", said_at=4, episode_seq=2, start=6))}  # fmt: skip
    groups = groups_of(list(rows.values()), load_relations(), 0)
    span = ValidSpan(
        "owns", 4, 9, groups[0].claims, enders=[groups[0].claims[0]], reason="why", status="archived", sequence=6
    )
    made = fact_of(groups[0], span, rows)
    assert (made.subject, made.relation, made.topic, made.object, made.object_key) == (
        "ann", "owns", "", "Small flat", "small flat",
    )  # fmt: skip
    assert (made.valid_from, made.valid_to, made.status, made.strength, made.sequence) == (4, 9, "archived", 4, 6)
    assert (made.reason, made.statement_seqs, made.ended) == ("why", (1, 2, 3, 4), 64 << 20)
    assert made.confidence == pytest.approx(1 - 0.1**4)
    moved = said(1, "Oslo", "lives_in", replaces="Rome")
    (group,) = groups_of([moved], load_relations(), 0)
    left = fact_of(group, ValidSpan("rome", None, 4, group.claims, named=True), {1: moved})
    assert (left.relation, left.object, left.object_key) == ("lives_in", "Rome", "rome")


def test_keys_are_closed_under_opposites() -> None:
    keys = {Key("ann", "likes", "t"), Key("bob", "lives_in", "")}
    assert closed(keys, load_relations()) == keys | {Key("ann", "dislikes", "t")}


def test_an_unknown_begin_is_none_of_a_denial_or_a_fact() -> None:
    told = said(1, "Rome", "lives_in", valid_from=UNKNOWN, begun_by=UNKNOWN)
    (group,) = groups_of([told], load_relations(), 0)
    assert (group.claims[0].begins, group.claims[0].begun_by) == (UNKNOWN, UNKNOWN)
    assert fact_of(group, ValidSpan("rome", UNKNOWN, None, group.claims), {1: told}).valid_from is None
    assert begin_of(replace(told, negated=True)) is None
