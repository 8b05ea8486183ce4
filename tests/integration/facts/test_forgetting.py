"""Forgetting: a year of nights, what lasts longer, and what is left alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import TimestampError
from nscma_torch.episodic.log.streams import derive_id
from nscma_torch.semantic.store import decisions as decision_log
from tests.helpers.noting import a_life, day, everything, held, log, say, tell

Open = Callable[..., Memory]
FADING: dict[str, Any] = {"curator": {"initial_strength": 30.0}}  # below the floor of 5 % after 90 days


def year(memory: Memory, days: int, step: int) -> dict[str, int]:
    """A year of nights. "tiger" is recalled once, "lion" often, "zebra" never: when each left search."""
    for word in ANIMALS:
        say(memory, f"The {word} says {{{word}|lives_in|{word} town}}", 0)
    left: dict[str, int] = {}
    for now in range(1, days + 1, step):
        for word in ("tiger", "lion") if now == 1 else ("lion",) if now % 4 == 0 else ():
            assert memory.search(word, user_id="ada", top_k=1, now=day(now))
        memory.sleep(now=day(now))
        for word in ANIMALS:
            visible = held(memory, subject=word) == [f"{word} town"]
            assert not (visible and word in left), "what has faded does not come back by itself"
            if not visible:
                left.setdefault(word, now)
    return left


ANIMALS = ("zebra", "tiger", "lion")


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.prove)])
def test_a_year_of_nights(step: int, noted: Open) -> None:
    memory = noted(config=FADING)
    left = year(memory, 365, step)
    assert 90 <= left["zebra"] < 90 + step + 1, "exp(-t/30) falls below 5 % after 89.9 days"
    assert 179 <= left["tiger"] < 180 + step + 1, "one recall doubles its strength"
    assert "lion" not in left
    # nothing is destroyed
    log_of_ada = memory.log(user_id="ada")
    assert len(log_of_ada) == 3 and all(episode.status == "active" for episode in log_of_ada)
    for episode in log_of_ada:
        assert memory.get(episode.id, user_id="ada", now=day(366)).text == episode.text  # type: ignore[union-attr]
        assert memory.history(episode.id, user_id="ada")[0].event == "ADD"
    assert len(memory.get_all(user_id="ada", now=day(366))) == 3
    assert len(memory.facts(user_id="ada", archived=True)) == 3
    assert held(memory, as_of=day(10)) == ["lion town", "tiger town", "zebra town"]
    assert [fact.status for fact in memory.timeline("zebra", "lives_in", user_id="ada")] == ["archived"]
    assert "zebra town" in "\n".join(memory.export(user_id="ada"))
    assert [hit.text.split()[1] for hit in memory.search("zebra tiger lion", user_id="ada", now=day(366))] == ["lion"]
    forgotten = [one for one in log(memory) if one.action == "ARCHIVE"]
    assert len(forgotten) == 4 and all(one.reason for one in forgotten)
    for decision in reversed(forgotten):
        memory.undo(decision.id, user_id="ada", now=day(367))
    assert held(memory) == ["lion town", "tiger town", "zebra town"]
    assert len(memory.search("zebra tiger lion", user_id="ada", now=day(368))) == 3
    assert memory.verify() == []
    print(
        f"a year of nights, one in {step}: zebra left on day {left['zebra']}, tiger, recalled once, on {left['tiger']}"
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 10))])
def test_how_often_one_sleeps_does_not_matter_to_what_is_forgotten(seed: int, noted: Open) -> None:
    rng = random.Random(seed)
    said = [(f"The word{i} says {{Rex|likes|thing {i}}}", rng.randrange(100)) for i in range(12)]
    wanted = None
    for name, nights in (("once", [250]), ("often", [*range(101, 250, 13), 250])):
        memory = noted(f"{name}.db", FADING)
        for text, at in said:
            say(memory, text, at, stored=100)
        memory.flush()
        for i in (1, 4, 4, 7):
            memory.search(f"word{i}", user_id="ada", top_k=1, now=day(100))
        for night in nights:
            memory.sleep(now=day(night))
        found = (everything(memory), {hit.text for hit in memory.search("word", user_id="ada", top_k=50, now=day(251))})
        wanted = wanted or found
        assert found == wanted
    assert 0 < len(held(memory)) < 12


def test_forgetting_costs_in_proportion(noted: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each decision is given an id of its own without a look at all those made for the same reason."""
    tried = []
    for number in (5, 20):
        memory, ids = noted(f"{number}.db"), []
        for i in range(number):
            say(memory, f"The zebra {i} says {{Rex|likes|thing {i}}}", 0)
        memory.flush()
        with monkeypatch.context() as patched:
            patched.setattr(decision_log, "derive_id", lambda *parts, ids=ids: ids.append(parts) or derive_id(*parts))
            report = memory.sleep(now=day(800))
        assert (report.forgotten_facts, report.forgotten_messages) == (number, number)
        tried.append(len(ids))
    assert tried == [10, 40]


def test_a_floor_of_zero_forgets_nothing(noted: Open) -> None:
    memory = noted(config={"curator": {"floor": 0.0}})
    a_life(memory)
    report = memory.sleep(now=day(0) + timedelta(days=900))
    assert (report.forgotten_facts, report.forgotten_messages) == (0, 0)


def test_by_default_a_year_without_recall_forgets_nothing(memory: Memory) -> None:
    a_life(memory)
    report = memory.sleep(now=day(375))
    assert (report.forgotten_facts, report.forgotten_messages) == (0, 0)


def test_what_is_told_often_lasts_longer(noted: Open) -> None:
    memory = noted(config=FADING)
    for at in (1, 2, 3):
        tell(memory, "{Rex|likes|tea}", at)
    tell(memory, "{Rex|likes|jazz}", 3)
    memory.sleep(now=day(120))
    assert held(memory) == ["tea"]
    memory.sleep(now=day(400))
    assert held(memory) == []


def test_what_ended_is_not_forgotten_again(memory: Memory) -> None:
    """The past is in the archive already: sleep changes neither its status nor its reason."""
    tell(memory, "{Rex|lives_in|Rome}", 1)
    tell(memory, "{Rex|lives_in|Oslo}", 5)
    (rome,) = [fact for fact in memory.timeline("Rex", "lives_in", user_id="ada") if fact.object == "Rome"]
    report = memory.sleep(now=day(800))
    assert report.forgotten_facts == 1
    assert memory.timeline("Rex", "lives_in", user_id="ada")[0] == rome


def test_a_forgotten_fact_answers_no_question_but_one_about_its_time(memory: Memory) -> None:
    tell(memory, "{Rex|lives_in|Rome}", 1)
    assert memory.ask("Where does Rex live?", user_id="ada", now=day(2)).facts
    memory.sleep(now=day(800))
    assert held(memory) == ["Rome"], "the answer recalled it"
    memory.sleep(now=day(1200))
    assert not memory.ask("Where does Rex live?", user_id="ada", now=day(1201)).facts
    assert held(memory, as_of=day(5)) == ["Rome"]


def test_what_changes_after_it_was_forgotten_keeps_its_past(memory: Memory) -> None:
    tell(memory, "{Rex|lives_in|Rome}", 1)
    memory.sleep(now=day(800))
    tell(memory, "{Rex|lives_in|Oslo}", 801)
    assert held(memory) == ["Oslo"]
    assert held(memory, as_of=day(400)) == ["Rome"]
    rome, _ = memory.timeline("Rex", "lives_in", user_id="ada")
    assert (rome.valid_from, rome.valid_to) == (day(1), day(801))


def test_a_right_clock_undoes_what_a_wrong_one_forgot(noted: Open) -> None:
    memory = noted(config=FADING)
    say(memory, "The zebra says {zebra|lives_in|Kent}", 0)
    memory.flush()
    say(memory, "The heron says {heron|lives_in|Bath}", 100)
    memory.flush()
    memory.sleep(now=day(101))
    assert held(memory) == ["Bath"], "by the right clock one is forgotten"
    memory.sleep(now=day(1500))
    assert held(memory) == [] == memory.search("zebra heron", user_id="ada", now=day(1501))
    for _ in range(2):
        memory.sleep(now=day(102))
        assert held(memory) == ["Bath"]
        (hit,) = memory.search("zebra heron", user_id="ada", now=day(102))
        assert hit.text.startswith("The heron says")
    assert memory.verify() == []
    memory.sleep(now=day(1000))
    assert held(memory) == [], "it is forgotten again when its time has come"


def test_a_clock_far_from_the_messages_is_refused(noted: Open) -> None:
    memory = noted(config=FADING)
    say(memory, "The zebra says {zebra|lives_in|Kent}", 0)
    memory.flush()
    for wrong in (29_000, -3_700):
        for dry_run in (False, True):
            with pytest.raises(TimestampError, match="the last message was stored at 2024-01-01"):
                memory.sleep(now=day(wrong), dry_run=dry_run)
    assert held(memory) == ["Kent"]
    memory.sleep(now=day(3_600))
