"""What is recalled or helped grows stronger; what was deferred is read by sleep."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.records import Message
from nscma_torch.curator.forgetting import restarts, retained
from tests.helpers.noting import DEFERRED, a_life, bare, day, everything, held, log, say, tell

Open = Callable[..., Memory]
FADING: dict[str, Any] = {"curator": {"initial_strength": 30.0}}  # below the floor of 5 % after 90 days


def test_recalls_counted_at_once_or_night_by_night_come_to_the_same(noted: Open) -> None:
    found = []
    for name in ("at once", "nightly"):
        memory = noted(f"{name}.db")
        target = say(memory, "The zebra says hello.", 0).id
        for night in (1, 2, 3):
            memory.search("zebra", user_id="ada", top_k=1, now=day(night))
            if name == "nightly":
                memory.sleep(now=day(night))
        memory.sleep(now=day(3))
        episode = memory.get(target, user_id="ada", now=day(4))
        assert episode is not None
        found.append((round(episode.importance, 9), episode.strength, episode.accesses))
    assert found[0] == found[1]


def test_a_message_that_helped_lasts_longer_and_ranks_higher(noted: Open) -> None:
    memory = noted(config={**FADING, "score": {"gamma": 0.5}, "retrieval": {"lanes": ["vector"]}})
    plain_, helped, useless = (say(memory, f"zebra number {n}", 0).id for n in ("one", "two", "three"))
    memory.flush()
    memory.feedback(helped, user_id="ada", helpful=True, now=day(1))
    memory.feedback(useless, user_id="ada", helpful=False, now=day(1))
    memory.sleep(now=day(2))
    importance = {e.id: e.importance for e in memory.get_all(user_id="ada", now=day(2))}
    assert importance[helped] > importance[plain_] >= importance[useless]
    order = [hit.id for hit in memory.search("zebra", user_id="ada", now=day(2))]
    assert order[0] == helped and set(order) == {plain_, helped, useless}
    events = memory.history(useless, user_id="ada")
    assert [event.event for event in events] == ["ADD", "FEEDBACK"] and events[1].reason == "not helpful"
    memory.sleep(now=day(2))
    again = noted("again.db", FADING)
    kept, gone = (say(again, f"zebra number {n}", 0).id for n in ("one", "two"))
    again.feedback(kept, user_id="ada", helpful=True, now=day(1))
    again.sleep(now=day(150))
    assert [hit.id for hit in again.search("zebra", user_id="ada", now=day(151))] == [kept]
    assert again.get(gone, user_id="ada", now=day(151)) is not None


def test_feedback_is_for_messages_of_the_user(memory: Memory) -> None:
    target = tell(memory, "The zebra says hello.", 0)
    tell(memory, "Hello.", 0, user_id="eve")
    digest = memory.digest()
    for user, key in (("eve", target), ("ada", "no such id"), ("nobody", target)):
        for helpful in (True, False):
            with pytest.raises(NotFoundError):
                memory.feedback(key, user_id=user, helpful=helpful)
    assert memory.digest() == digest
    assert [event.event for event in memory.history(target, user_id="ada")] == ["ADD"]


# The backlog


def test_deferred_messages_are_read_by_sleep(noted: Open) -> None:
    memory = noted(config=DEFERRED)
    a_life(memory)
    memory.flush()
    assert everything(memory) == [] and memory.stats().deferred == 9
    assert memory.sleep(now=day(11)).replayed == 9
    assert held(memory, subject="Ann") == ["Rome", "blue", "jazz", "tea"]
    assert all(episode.encoded for episode in memory.log(user_id="ada"))


def test_deferring_changes_no_fact(noted: Open) -> None:
    """Read at once or in the night after: the same facts, profile and decisions."""
    seen = []
    for name, config in (("at once", None), ("deferred", DEFERRED)):
        memory = noted(f"{name}.db", config)
        a_life(memory)
        memory.sleep(now=day(11))
        seen.append((everything(memory), [line.text for line in memory.profile(user_id="ada")], bare(log(memory))))
    assert seen[0] == seen[1]


def test_deleted_and_expired_messages_are_not_read(noted: Open) -> None:
    memory = noted(config=DEFERRED)
    gone = say(memory, "{Ann|lives_in|Oslo}", 0).id
    memory.delete(gone, user_id="ada", now=day(1))
    memory.add(Message("user", "{Ann|lives_in|Rome}", day(1)), user_id="ada", expiration_date=day(3), now=day(1))
    assert memory.sleep(now=day(5)).replayed == 0
    assert everything(memory) == []


RESTART: dict[str, Any] = {"curator": {"initial_strength": 30.0, "recall": "restart"}}


@pytest.mark.parametrize(("config", "kept"), [(FADING, []), (RESTART, ["Rome"])])
def test_a_question_that_facts_answer_recalls_their_messages(noted: Open, config: Any, kept: list[str]) -> None:
    """One recall on day 80: S is 60 days, the floor is 180 days after the message, or with restart after the recall."""
    memory = noted(config=config)
    message = tell(memory, "{Ben|lives_in|Rome}", 0)
    answer = memory.ask("Where does Ben live?", user_id="ada", now=day(80))
    assert answer.facts, "it is the facts that answer"
    assert memory.sleep(now=day(80)).forgotten_facts == 0
    planned = memory.sleep(now=day(200), dry_run=True)
    memory.sleep(now=day(200))
    assert held(memory) == kept
    assert planned.forgotten_facts == 1 - len(kept)
    events = [event.event for event in memory.history(message, user_id="ada")]
    assert events == (["ADD", "RECALL"] if kept else ["ADD"])
    memory.sleep(now=day(300))
    assert held(memory) == []


def test_memory_bank_to_the_letter(noted: Open) -> None:
    """S is 1 at first, a recall adds 1 and sets t to 0: retention exp(-t / S), in days."""
    settings = CuratorConfig(initial_strength=1.0, gain=1.0, recall="restart", floor=0.0)
    memory = noted(config={"curator": settings.model_dump(exclude_defaults=True)})
    key = say(memory, "The zebra says hello.", 0).id
    memory.flush()
    strength, since = 1, 0
    for at in (1, 2, 5, 6):
        memory.search("zebra", user_id="ada", top_k=1, now=day(at))
        memory.sleep(now=day(at))
        strength, since = strength + 1, at
        episode = memory.get(key, user_id="ada", now=day(at))
        with memory.components.database.read(ALL_USERS) as connection:
            recalled = restarts(connection, "ada", settings)
        assert episode is not None
        for later in (0, 1, 3):
            wanted = math.exp(-(at + later - since) / strength)
            assert retained(episode, day(at + later), settings, recalled[key]) == pytest.approx(wanted)


def test_recalls_that_are_not_slept_on_yet_restart_a_dry_run_too_and_erasing_forgets_them(noted: Open) -> None:
    memory = noted(config=RESTART)
    message = tell(memory, "{Ben|lives_in|Rome}", 0)
    memory.search("Rome", user_id="ada", top_k=1, now=day(80))
    assert memory.sleep(now=day(120), dry_run=True).forgotten_facts == 0
    memory.feedback(message, user_id="ada", helpful=True, now=day(90))
    memory.sleep(now=day(90))
    assert [event.event for event in memory.history(message, user_id="ada")] == ["ADD", "FEEDBACK", "RECALL"]
    assert memory.history(message, user_id="ada")[-1].at == day(90)
    assert not memory.erase(user_id="ada", memory_id=message).found
