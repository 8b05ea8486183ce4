"""Feedback and promotion: what a message gains by being recalled, and loses where it did not help."""

from __future__ import annotations

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Episode, Scope
from nscma_torch.curator.feedback import take_feedback
from nscma_torch.curator.promotion import importance, promote
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes
from nscma_torch.episodic.log.recalls import count_recalls
from tests.helpers.telling import day
from tests.helpers.told import Told

SETTINGS = CuratorConfig(promotion=0.25)


def give(memory: Memory, key: str, helpful: bool, user_id: str = "ada") -> None:
    with memory.components.database.write(ALL_USERS) as connection:
        take_feedback(connection, user_id, key, helpful=helpful, at=day(3))


def told_of(memory: Memory, key: str) -> tuple[Episode, list[float], int]:
    """The message, the importance of each of its units, and the version of its user."""
    with memory.components.database.read(ALL_USERS) as connection:
        seq, episode = episodes.require(connection, "ada", key)
        weights = units.weights(connection, units.seqs_of_episode(connection, seq))
        return episode, [one.importance for one in weights.values()], user_versions.version(connection, "ada")[0]


def test_what_did_not_help_is_half_as_important_each_time(told: Told) -> None:
    key, other = told.hear(at=1), told.hear(at=1)
    before, _, version = told_of(told.memory, key)
    assert before.importance > 0
    for share in (0.5, 0.25):
        give(told.memory, key, helpful=False)
        episode, of_units, after = told_of(told.memory, key)
        assert of_units == [episode.importance] == [pytest.approx(before.importance * share)]
        assert (episode.accesses, after > version) == (0, True)
    assert told_of(told.memory, other)[0].importance == before.importance
    events = told.memory.history(key, user_id="ada")[1:]
    assert [(one.event, one.reason, one.at) for one in events] == [("FEEDBACK", "not helpful", day(3))] * 2


def test_what_helped_counts_as_recalled_three_times(told: Told) -> None:
    key = told.hear(at=1)
    before, _, _ = told_of(told.memory, key)
    give(told.memory, key, helpful=True)
    assert told.memory.history(key, user_id="ada")[-1].reason == "helpful"
    assert told_of(told.memory, key)[0].importance == before.importance
    with told.memory.components.database.write(ALL_USERS) as connection:
        count_recalls(connection, "ada")
    assert told_of(told.memory, key)[0].accesses == 3
    for user, wrong in (("ada", "no such id"), ("eve", key)):
        with pytest.raises(NotFoundError):
            give(told.memory, wrong, helpful=True, user_id=user)


@pytest.mark.parametrize(
    ("before", "recalls", "share", "after"),
    [
        (0.0, 1, 0.25, 0.25),
        (0.5, 1, 0.5, 0.75),
        (0.2, 0, 0.9, 0.2),
        (0.0, 2, 0.5, 0.75),
        (0.4, 3, 1.0, 1.0),
        (0.75, -2, 0.5, 0.0),
        (0.1, -1, 0.5, 0.0),
        (1.0, -3, 1.0, 1.0),
    ],
)
def test_each_recall_closes_a_share_of_the_gap(before: float, recalls: int, share: float, after: float) -> None:
    assert importance(before, recalls, share) == pytest.approx(after)


def test_recalls_promote_once(told: Told) -> None:
    keys = [told.hear(at=1) for _ in range(3)]
    before = [told_of(told.memory, key)[0].importance for key in keys]

    def promoted(**recalls: int) -> int:
        with told.memory.components.database.write(ALL_USERS) as connection:
            for place, accesses in recalls.items():
                seq, _ = episodes.require(connection, "ada", keys[int(place[1:])])
                episodes.set_columns(connection, seq, accesses=accesses)
            return promote(connection, Scope("ada"), SETTINGS)

    version = told_of(told.memory, keys[0])[2]
    assert promoted() == 0 and told_of(told.memory, keys[0])[2] == version
    assert promoted(k0=1, k1=2) == 2 and promoted() == 0
    assert told_of(told.memory, keys[0])[2] == version + 1, "only what promotes is a write"
    for key, old, recalls in zip(keys, before, (1, 2, 0), strict=True):
        episode, of_units, _ = told_of(told.memory, key)
        assert of_units == [episode.importance] == [pytest.approx(1 - (1 - old) * 0.75**recalls)]
        assert episode.strength == 1 + recalls
    assert promoted(k0=2) == 1
    assert told_of(told.memory, keys[0])[0].importance == pytest.approx(1 - (1 - before[0]) * 0.75**2)
