"""Groups of statements: the claims in them, and the order of saying."""

from __future__ import annotations

from nscma_torch.curator.grouping import groups_of
from nscma_torch.relations import load_relations
from nscma_torch.storage.statements import StatementRow


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
