"""Sleep through `Memory`: twice is once, dry runs, failing language, forgetting over a year, promotion, the profile."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.errors import NotFoundError
from nscma_torch.memory import Memory
from nscma_torch.records import Message, SleepReport, Stats
from nscma_torch.storage import decisions as decision_log
from nscma_torch.storage.streams import derive_id
from tests.noting import DEFERRED, NotedTasks, bare, day, everything, held, log, opener, say, tell

Open = Callable[..., Memory]
FADING: dict[str, Any] = {"curator": {"initial_strength": 30.0}}  # below the floor of 5 % after 90 days


@pytest.fixture
def noted(open_memory: Open, light_proxy: Any) -> Open:
    return opener(open_memory, light_proxy)


@pytest.fixture
def memory(noted: Open) -> Memory:
    return noted()


def a_life(memory: Memory) -> None:
    """Messages of each kind that a stage of sleep works on."""
    for at, name, text in (
        (0, "Ann", "{Ann|lives_in|Oslo}"),
        (5, "Ann", "{Ann|lives_in|Rome}"),
        (6, "Ann", "The zebra says {Ann|likes|tea}"),
        (7, "Ann", "{Ann|likes|jazz} {Ann|favourite/colour|blue}"),
        (8, "Ann", "{Bob|lives_in|Bonn}"),
        (9, "Carl", "{Bob|lives_in|Kyoto}"),
        (9, "Ann", "{Konstantin|lives_in|Lima}"),
        (9, "Ann", "{Konstantyn|lives_in|Lima}"),
        (10, "Ann", "haha ok"),
    ):
        say(memory, text, at, name=name)


def timeless(stats: Stats) -> Stats:
    return replace(stats, stage_seconds={}, file_bytes=0)


# Twice is once


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("now", [11, 700])
def test_sleeping_twice_is_sleeping_once(deferred: bool, now: int, noted: Open) -> None:
    memory = noted(config=DEFERRED if deferred else None)
    a_life(memory)
    memory.search("zebra", user_id="ada", top_k=2, now=day(10))
    memory.feedback(memory.get_all(user_id="ada", now=day(10))[0].id, user_id="ada", helpful=True, now=day(10))
    first = memory.sleep(now=day(now))
    assert first.users == ("ada",) and not first.dry_run and first.failures == ()
    state = (memory.digest(), log(memory), everything(memory), memory.profile(user_id="ada"))
    for _ in range(2):
        again = memory.sleep(now=day(now))
        assert again == SleepReport(("ada",), disputed=len(memory.conflicts(user_id="ada")))
        assert (memory.digest(), log(memory), everything(memory), memory.profile(user_id="ada")) == state
    assert memory.verify() == []
    assert memory.stats().jobs_queued == memory.stats().recalls_queued == 0


def test_the_report_counts_what_changed(noted: Open) -> None:
    memory = noted(config=DEFERRED)
    a_life(memory)
    report = memory.sleep(user_id="ada", now=day(11))
    assert (report.replayed, report.disputed, report.proposed) == (9, 1, 1)
    assert (report.forgotten_facts, report.forgotten_messages, report.promoted) == (0, 0, 0)
    assert report.profile_lines == len(memory.profile(user_id="ada")) == 3
    zebra = memory.search("zebra", user_id="ada", top_k=1, now=day(12))
    assert len(zebra) == 1 and memory.sleep(now=day(12)).promoted == 1
    late = memory.sleep(now=day(900))
    assert late.forgotten_facts == 7 and late.forgotten_messages == 8, "all but what was recalled"
    assert held(memory) == ["tea"]


def test_one_user_sleeps_and_the_others_are_left_alone(memory: Memory) -> None:
    for user in ("ada", "bob"):
        tell(memory, "{Ann|lives_in|Rome}", 1, name="Ann", user_id=user)
    before = memory.digest(user_id="bob")
    assert memory.sleep(user_id="ada", now=day(800)).users == ("ada",)
    assert memory.digest(user_id="bob") == before
    assert (held(memory), held(memory, user_id="bob")) == ([], ["Rome"])
    with pytest.raises(NotFoundError):
        memory.sleep(user_id="nobody", now=day(800))
    assert memory.sleep(now=day(800)).users == ("ada", "bob")


def test_an_empty_store_sleeps(memory: Memory) -> None:
    assert memory.sleep(now=day(1)) == SleepReport(())
    assert memory.sleep(now=day(1), dry_run=True) == SleepReport((), dry_run=True)


# Dry runs


@pytest.mark.parametrize("deferred", [False, True])
def test_a_dry_run_changes_nothing(deferred: bool, noted: Open, contents: Any, tmp_path: Path) -> None:
    memory = noted(config=DEFERRED if deferred else None)
    a_life(memory)
    memory.flush()
    memory.sleep(now=day(11))
    say(memory, "{Ann|lives_in|Lima}", 12, name="Ann")
    memory.flush()
    memory.search("zebra", user_id="ada", now=day(13))
    memory.feedback(memory.get_all(user_id="ada", now=day(13))[0].id, user_id="ada", helpful=True, now=day(13))
    rows, digest, stats = contents(tmp_path / "store.db"), memory.digest(), timeless(memory.stats())
    for now in (14, 900):
        report = memory.sleep(now=day(now), dry_run=True)
        assert report.dry_run and report.promoted and report.replayed == deferred
        assert contents(tmp_path / "store.db") == rows
        assert memory.digest() == digest
        assert timeless(memory.stats()) == stats
    assert report.forgotten_facts and report.forgotten_messages


def test_a_dry_run_tells_what_the_sleep_then_does(memory: Memory) -> None:
    a_life(memory)
    memory.flush()
    memory.search("zebra", user_id="ada", top_k=1, now=day(11))
    for now in (11, 700):
        planned = memory.sleep(now=day(now), dry_run=True)
        done = memory.sleep(now=day(now))
        assert planned == replace(done, dry_run=True)
    assert done.forgotten_facts and done.forgotten_messages and done.profile_lines


def test_a_dry_run_counts_what_was_deferred_and_reads_nothing(noted: Open) -> None:
    tasks = NotedTasks()
    memory = noted(config=DEFERRED, tasks=tasks)
    a_life(memory)
    tasks.broken = ""  # any call would fail
    report = memory.sleep(now=day(11), dry_run=True)
    assert (report.replayed, report.failures) == (9, ())
    assert memory.stats().jobs_queued == memory.stats().jobs_failed == 0


# Failing language


@pytest.fixture
def worn(noted: Open) -> tuple[Memory, NotedTasks]:
    """A store with work for each stage, where one message that was deferred waits."""
    tasks = NotedTasks()
    memory = noted(tasks=tasks)
    a_life(memory)
    memory.flush()
    memory.sleep(now=day(11))
    memory.close()
    memory = noted(config=DEFERRED, tasks=tasks)
    say(memory, "The poison says {Ann|lives_in|Lima}", 650, name="Ann")
    memory.search("zebra", user_id="ada", top_k=1, now=day(651))
    return memory, tasks


def test_a_failing_language_call_leaves_the_store_as_it_was(worn: Any, contents: Any, tmp_path: Path) -> None:
    memory, tasks = worn
    tasks.broken = "poison"
    digest, facts, decisions = memory.digest(), everything(memory), log(memory)
    report = memory.sleep(now=day(700))
    assert len(report.failures) == 1 and "the language model is away" in report.failures[0]
    assert (report.forgotten_facts, report.promoted, report.profile_lines, report.proposed) == (0, 0, 0, 0)
    assert memory.digest() == digest
    assert (everything(memory), log(memory)) == (facts, decisions)
    assert memory.stats().jobs_failed == 1
    assert memory.stats().failures == report.failures
    assert memory.verify() == []
    tasks.broken = None
    assert memory.retry_failed() == 1
    done = memory.sleep(now=day(700))
    assert done.failures == () and done.forgotten_facts and done.profile_lines
    assert held(memory, "lives_in", subject="Ann") == ["Lima"]


def test_after_a_failure_was_mended_all_is_as_if_it_had_not_been(noted: Open) -> None:
    digests = set()
    for name in ("failed", "never"):
        tasks = NotedTasks()
        memory = noted(f"{name}.db", DEFERRED, tasks=tasks)
        a_life(memory)
        if name == "failed":
            tasks.broken = "zebra"
            assert memory.sleep(now=day(11)).failures
            tasks.broken = None
            memory.retry_failed()
        memory.sleep(now=day(11))
        digests.add(memory.digest())
    assert len(digests) == 1


def test_an_old_failure_does_not_keep_the_store_awake(worn: Any) -> None:
    memory, tasks = worn
    tasks.broken = "poison"
    assert memory.sleep(now=day(700)).failures
    again = memory.sleep(now=day(700))
    assert again.failures == () and again.replayed == 0
    assert again.forgotten_facts and again.promoted
    assert memory.stats().jobs_failed == 1, "it stays visible until it is tried again"


def test_an_error_that_is_not_the_librarys_own_comes_through_and_harms_nothing(worn: Any) -> None:
    memory, tasks = worn
    tasks.broken, tasks.error = "poison", ZeroDivisionError
    digest, decisions = memory.digest(), log(memory)
    with pytest.raises(ZeroDivisionError):
        memory.sleep(now=day(700))
    assert (memory.digest(), log(memory)) == (digest, decisions)
    tasks.broken = None
    assert memory.sleep(now=day(700)).failures == ()
    assert held(memory, "lives_in", subject="Ann") == ["Lima"]


def test_failing_summaries_keep_the_later_stages_from_beginning(noted: Open) -> None:
    tasks = NotedTasks()
    hierarchy = {"enabled": True, "min_members": 2, "gamma": 0.0, "neighbours": 2}
    memory = noted(config={"hierarchy": hierarchy}, tasks=tasks)
    for at in range(6):
        say(memory, f"The poison of the zebra {at}: {{Ann|likes|thing {at}}}", at, name="Ann")
    tasks.broken = "poison"
    report = memory.sleep(now=day(900))
    assert report.failures and report.forgotten_facts == 0 and memory.stats().jobs_failed
    tasks.broken = None
    memory.retry_failed()
    assert memory.sleep(now=day(900)).forgotten_facts == 6
    assert memory.verify() == []


# Forgetting


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
    for number in (5, 40):
        memory, ids = noted(f"{number}.db"), []
        for i in range(number):
            say(memory, f"The zebra {i} says {{Rex|likes|thing {i}}}", 0)
        memory.flush()
        with monkeypatch.context() as patched:
            patched.setattr(decision_log, "derive_id", lambda *parts, ids=ids: ids.append(parts) or derive_id(*parts))
            report = memory.sleep(now=day(800))
        assert (report.forgotten_facts, report.forgotten_messages) == (number, number)
        tried.append(len(ids))
    assert tried == [10, 80]


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


# Promotion and feedback


def test_what_is_recalled_grows_stronger_once_for_each_recall(noted: Open) -> None:
    memory = noted()
    zebra = say(memory, "The zebra says hello.", 0).id
    say(memory, "The lion says hello.", 0)
    memory.flush()

    def kept() -> tuple[float, float, int]:
        episode = memory.get(zebra, user_id="ada", now=day(50))
        assert episode is not None
        return episode.importance, episode.strength, episode.accesses

    before = kept()
    for _ in range(3):
        memory.search("zebra", user_id="ada", top_k=1, now=day(1))
    assert kept() == before, "search itself writes nothing"
    assert memory.sleep(now=day(1)).promoted == 1
    after = kept()
    assert after[0] > before[0] and after[1] > before[1] and after[2] == before[2] + 3
    assert memory.sleep(now=day(1)).promoted == 0
    assert kept() == after
    memory.search("zebra", user_id="ada", top_k=1, now=day(2))
    memory.sleep(now=day(2))
    assert after[0] < kept()[0] <= 1 and kept()[1] > after[1]


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


# The profile


def test_a_profile_is_bounded_dated_and_sourced(noted: Open) -> None:
    memory = noted(config={"curator": {"profile_lines": 3, "profile_objects": 2}})
    relations = ("lives_in", "works_at", "job", "speaks", "owns", "likes")
    for at, relation in enumerate(relations):
        for thing in range(4):
            say(memory, f"{{Ann|{relation}|{relation} {thing}}}", at, name="Ann")
    say(memory, "{Zoe|lives_in|Paris}", 9, name="Ann")
    memory.sleep(now=day(10))
    lines = memory.profile(user_id="ada")
    assert len(lines) == 3
    facts = {fact.id: fact for fact in memory.facts(user_id="ada")}
    for number, line in enumerate(lines):
        assert line.number == number and isinstance(line.day, date)
        assert 1 <= len(line.fact_ids) <= 2
        for source in line.fact_ids:
            assert facts[source].object in line.text and facts[source].subject == "Ann"
            assert memory.get(facts[source].episode_ids[0], user_id="ada", now=day(10)) is not None
        newest = max(facts[source].valid_from for source in line.fact_ids)  # type: ignore[type-var]
        assert newest is not None and line.day == newest.date()
        assert "Paris" not in line.text, "it is about who speaks"


def test_a_profile_follows_the_facts(memory: Memory) -> None:
    tell(memory, "{Ann|lives_in|Oslo} {Ann|likes|tea}", 1, name="Ann")
    memory.sleep(now=day(2))
    assert any("Oslo" in line.text for line in memory.profile(user_id="ada"))
    moved = tell(memory, "{Ann|lives_in|Rome} {Ann|likes|tea|not}", 5, name="Ann")
    assert memory.sleep(now=day(6)).profile_lines
    (line,) = memory.profile(user_id="ada")
    assert "Rome" in line.text and line.day == day(5).date()
    memory.delete(moved, user_id="ada", now=day(7))
    memory.sleep(now=day(8))
    assert sorted(line.text for line in memory.profile(user_id="ada")) == ["Ann lives in Oslo", "Ann likes tea"][::-1]


def test_a_profile_holds_nothing_disputed_corrected_past_or_only_said_by_an_assistant(memory: Memory) -> None:
    tell(memory, "{Ann|works_at|Acme} {Ann|favourite/colour|red}", 1, name="Ann")
    tell(memory, "{Ann|favourite/colour|blue|sorry}", 1.1, name="Ann", stored=2)
    tell(memory, "{Ann|owns|car|once}", 2, name="Ann")
    tell(memory, "{Ann|works_at|Initech}", 2, name="Bob")
    memory.sleep(now=day(3))
    assert [line.text for line in memory.profile(user_id="ada")] == ["Ann's favourite colour is blue"]


def test_profiles_belong_to_an_agent(memory: Memory) -> None:
    tell(memory, "{Ann|lives_in|Oslo}", 1, name="Ann")
    tell(memory, "{Ann|lives_in|Rome}", 1, name="Ann", agent_id="cook")
    tell(memory, "{Ann|lives_in|Bern}", 1, name="Ann", user_id="eve")
    memory.sleep(now=day(2))
    assert [line.text for line in memory.profile(user_id="ada", agent_id="cook")] == ["Ann lives in Rome"]
    assert sorted(line.text for line in memory.profile(user_id="ada")) == ["Ann lives in Oslo", "Ann lives in Rome"]
    assert [line.text for line in memory.profile(user_id="eve")] == ["Ann lives in Bern"]
    assert memory.profile(user_id="nobody") == []


def test_disputes_are_settled_when_newer_evidence_outweighs(noted: Open) -> None:
    """Under rules by which the older side has faded, the dispute ends in the night."""
    memory = noted()
    tell(memory, "{Bob|lives_in|Bonn}", 1, name="Ann")
    tell(memory, "{Bob|lives_in|Kyoto}", 9, name="Carl")
    assert memory.sleep(now=day(10)).disputed == 1
    memory.close()
    memory = noted(config={"curator": {"half_life": 2.0}})
    report = memory.sleep(now=day(10))
    assert (report.settled, report.disputed) == (1, 0)
    assert memory.conflicts(user_id="ada") == [] and held(memory) == ["Kyoto"]
