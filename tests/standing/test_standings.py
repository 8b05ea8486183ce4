"""The standing of messages: a function of the set of live messages and effects."""

from __future__ import annotations

import random

import pytest

from nscma_torch.standing.standings import ENDS, KINDS, RENEWS, Effect, Standing, standings

JOB, TRAM, PASS, QUIT, AGAIN = 1, 2, 3, 4, 5
SAID_AT = {JOB: 10, TRAM: 20, PASS: 30, QUIT: 40, AGAIN: 50}
CHAIN = (Effect(JOB, TRAM, "rests"), Effect(TRAM, PASS, "rests"), Effect(JOB, QUIT, "ends"))


def test_what_rests_on_something_past_is_in_doubt_through_the_chain() -> None:
    found = standings(SAID_AT, CHAIN)
    assert found == {
        JOB: Standing("past", QUIT, "ends"),
        TRAM: Standing("in doubt", QUIT, "ends", (JOB,)),
        PASS: Standing("in doubt", QUIT, "ends", (TRAM, JOB)),
    }


def test_a_later_message_that_confirms_it_makes_it_hold_again() -> None:
    found = standings(SAID_AT, (*CHAIN, Effect(TRAM, AGAIN, "confirms")))
    assert set(found) == {JOB}  # what rests on the tram holds with it


def test_a_message_confirmed_before_its_ground_went_is_in_doubt() -> None:
    found = standings({**SAID_AT, AGAIN: 35}, (*CHAIN, Effect(TRAM, AGAIN, "confirms")))
    assert found[TRAM].state == "in doubt"


def test_what_is_said_after_its_ground_went_holds() -> None:
    found = standings({**SAID_AT, TRAM: 45, PASS: 46}, CHAIN)
    assert set(found) == {JOB}


@pytest.mark.parametrize("kind", sorted(ENDS))
def test_a_direct_end_is_past_and_is_not_weakened_by_a_doubt(kind: str) -> None:
    found = standings(SAID_AT, (Effect(TRAM, PASS, kind), Effect(TRAM, QUIT, "voids")))
    assert found == {TRAM: Standing("past", PASS, kind)}


@pytest.mark.parametrize("kind", sorted(RENEWS))
def test_what_renews_a_message_undoes_its_end(kind: str) -> None:
    assert standings(SAID_AT, (Effect(JOB, QUIT, "ends"), Effect(JOB, AGAIN, kind))) == {}


def test_effects_on_later_and_of_missing_messages_do_not_count() -> None:
    assert standings(SAID_AT, (Effect(QUIT, JOB, "ends"), Effect(JOB, 99, "ends"), Effect(99, JOB, "ends"))) == {}


def test_any_history_has_one_state_whatever_its_order_and_what_was_deleted() -> None:
    rng = random.Random(0)
    for _ in range(10_000):
        said_at = {seq: rng.randrange(20) for seq in range(rng.randint(1, 12))}
        effects = [Effect(rng.randrange(12), rng.randrange(12), rng.choice(KINDS)) for _ in range(rng.randint(0, 14))]
        found = standings(said_at, effects)
        shuffled = [*rng.sample(effects, len(effects)), *effects[:2]]  # in another order, and some told twice
        assert standings(dict(rng.sample(list(said_at.items()), len(said_at))), shuffled) == found
        deleted = rng.choice(list(said_at))
        left = {seq: at for seq, at in said_at.items() if seq != deleted}
        without = standings(left, effects)
        assert without == standings(left, [e for e in effects if deleted not in (e.earlier, e.later)])
        assert not any(deleted in (seq, own.by, *own.through) for seq, own in without.items())
        assert standings({**left, deleted: said_at[deleted]}, effects) == found  # restored
        for seq, own in found.items():
            assert own.by is not None and (said_at[own.by], own.by) > (said_at[seq], seq)
            assert (own.state == "past") == (own.kind in ENDS and not own.through)
