"""Which users a background worker takes: its own, those that have waited, and alone all."""

from __future__ import annotations

from collections import Counter

from nscma_torch.core.jobs.rendezvous import worker_of
from nscma_torch.core.jobs.user_shares import UserShare

USERS = [f"user {number}" for number in range(3000)]
WORKERS = ["a 1 x", "a 2 y", "b 1 z"]


def test_users_are_spread_evenly_and_stay_where_they_are() -> None:
    of = {user: worker_of(user, WORKERS) for user in USERS}
    assert all(900 < count < 1100 for count in Counter(of.values()).values())
    assert {user: worker_of(user, WORKERS[::-1]) for user in USERS} == of, "whatever the order"
    fewer = {user: worker_of(user, WORKERS[:2]) for user in USERS}
    assert all(fewer[user] == of[user] for user in USERS if of[user] != WORKERS[2]), "only those of one that goes move"


def test_each_takes_its_own_and_together_they_take_all() -> None:
    shares = [UserShare(worker, lambda: WORKERS, most=10_000) for worker in WORKERS]
    taken = [user for share in shares for user in share.chosen(USERS)]
    assert sorted(taken) == sorted(USERS)


def test_alone_it_takes_all_and_beside_others_so_many_at_once() -> None:
    living: list[str] = []
    share = UserShare(WORKERS[0], lambda: living, most=10)
    assert share.chosen(USERS) == USERS, "also before its first sign of life is seen"
    living += WORKERS
    own = [user for user in USERS if worker_of(user, WORKERS) == WORKERS[0]]
    assert share.chosen(USERS) == own[:10]
    assert share.chosen(USERS, held=7) == own[:3]
    assert share.chosen(USERS, held=12) == []


def test_it_helps_those_who_have_waited() -> None:
    clock = [0.0]
    share = UserShare(WORKERS[0], lambda: WORKERS, most=10_000, clock=lambda: clock[0])
    others = [user for user in USERS if worker_of(user, WORKERS) != WORKERS[0]]
    assert share.chosen(others) == []
    clock[0] = 4.9
    assert share.chosen(others[1:]) == []
    clock[0] = 5.0
    assert share.chosen(others) == others[1:], "the first was taken meanwhile, and its time begins anew"
