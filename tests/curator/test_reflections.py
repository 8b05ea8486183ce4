"""Reflections: when they are due, what they look back on, what they cite, and when they go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ReflectionConfig
from nscma_torch.core.records import Message, SourcedLine, Unit
from nscma_torch.curator.derived.derivations import Derivations
from nscma_torch.curator.derived.reflection import Reflections
from nscma_torch.curator.store import derived_sources
from nscma_torch.curator.store.derived_sources import Heard
from nscma_torch.curator.store.derived_texts import Run
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.helpers.telling import day

ON: dict[str, Any] = {
    "reflection": {"enabled": True, "threshold": 20.0, "recent": 8, "questions": 2, "insights": 2, "memories": 4},
    "score": {"importance": "model"},
    "gate": {"rule": "everything"},
    "hierarchy": {"enabled": False},
}


class Noting(EmbeddedTasks):
    """A message's rating is the number at its end; every reflection cites the first two memories found."""

    def __init__(self) -> None:
        super().__init__()
        self.recent: list[list[str]] = []
        self.asked: list[tuple[str, list[str], list[str]]] = []  # question, kinds, texts
        self.most: set[tuple[int, int]] = set()

    def rate(self, units: Sequence[Unit]) -> list[int]:
        return [7 if unit.kind == "reflection" else int(unit.text.rsplit(" ", 1)[1]) for unit in units]

    def questions(self, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
        self.recent += [[unit.text for unit in group] for group in groups]
        return [
            [f"What about {group[-1].text}?", "What about the message and Thought 1.0 of 2?"][:most] for group in groups
        ]

    def reflections(self, asked: Sequence[tuple[str, Sequence[Unit]]], most: int) -> list[list[SourcedLine]]:
        self.asked += [(question, [u.kind for u in found], [u.text for u in found]) for question, found in asked]
        self.most.add((len(asked), most))
        number = len(self.recent)
        return [
            [SourcedLine(f"Thought {number}.{i} of {len(asked)}", tuple(range(min(2, len(found)))), 0.6)]
            for i, (_, found) in enumerate(asked)
        ]


def say(memory: Memory, *ratings: int, first: int = 0, user: str = "ada") -> None:
    said = [
        Message("user", f"message {first + i} rated {rating}", day(1) + timedelta(minutes=first + i), name="Mel")
        for i, rating in enumerate(ratings)
    ]
    list(memory.add_many(said, user_id=user, now=day(2)))


@pytest.fixture
def tasks() -> Noting:
    return Noting()


@pytest.fixture
def memory(open_memory: Callable[..., Memory], tasks: Noting) -> Memory:
    return open_memory(config=ON, tasks=tasks)


def thoughts(memory: Memory) -> list[str]:
    return sorted(one.text for one in memory.derived("reflection", user_id="ada"))


def test_due_where_the_sum_of_importance_exceeds_the_threshold(memory: Memory, tasks: Noting) -> None:
    say(memory, 10, 10)
    assert memory.sleep(now=day(2)).derived_texts == 0, "20 does not exceed 20"
    say(memory, 1, 9, 9, 3, 5, first=2)
    report = memory.sleep(now=day(2))
    assert (report.failures, report.derived_texts) == ((), 4)
    assert [texts[-1] for texts in tasks.recent] == ["message 2 rated 1", "message 5 rated 3"]
    assert tasks.most == {(2, 2)}
    assert memory.sleep(now=day(2)).derived_texts == 0 and len(tasks.recent) == 2
    assert memory.verify() == []


def test_reflections_are_memories_and_become_a_tree(memory: Memory, tasks: Noting) -> None:
    say(memory, 9, 9, 9, 9, 9, 9, 9, 9, 9)
    memory.sleep(now=day(2))
    messages = [f"message {i} rated 9" for i in range(9)]
    first = ["Thought 1.0 of 2", "Thought 1.1 of 2"]
    assert tasks.recent[1] == [*messages[:3], *first, *messages[3:6]], "each after the stretch that it is on"
    assert len(tasks.recent[2]) == 8 and tasks.recent[2][-3:] == messages[6:], "the most recent"
    for number, (_, kinds, texts) in enumerate(tasks.asked):
        stretch = number // 2
        assert 3 <= len(texts) <= 4 and set(texts) & set(messages[3 * stretch + 3 :]) == set(), (
            "nothing that came later"
        )
        assert ("reflection" in kinds) <= (stretch > 0)
    found = memory.derived("reflection", user_id="ada")
    by_id = {one.id: one for one in found}
    above = [one for one in found if one.derived_ids]
    assert above, "a search for a question finds reflections, too"
    for one in above:
        for below in one.derived_ids:
            assert set(by_id[below].episode_ids) <= set(one.episode_ids)
    (hit, *_) = memory.search("Thought 2", user_id="ada", kinds=["reflection"], now=day(2), explain=True)
    assert hit.text.startswith("Thought") and hit.parts["importance"] == pytest.approx(6 / 9), "rated as well"


def test_what_rests_on_a_changed_message_goes_and_the_stretch_is_reflected_on_anew(
    memory: Memory, tasks: Noting
) -> None:
    say(memory, *[9] * 9)
    memory.sleep(now=day(2))
    ids = [episode.id for episode in memory.get_all(user_id="ada", now=day(2))]
    memory.update(ids[4], "another thing rated 9", user_id="ada")
    assert thoughts(memory) == ["Thought 1.0 of 2", "Thought 1.1 of 2"], "all that came after had it in view"
    assert memory.verify() == []
    memory.sleep(now=day(2))
    assert [texts[-1] for texts in tasks.recent[3:]] == ["message 5 rated 9", "message 8 rated 9"]
    assert "another thing rated 9" in tasks.recent[3]
    assert len(thoughts(memory)) == 6


def test_a_message_that_comes_back_is_reflected_on_without_moving_the_rest(memory: Memory, tasks: Noting) -> None:
    say(memory, 9, 9, 9, 9, 9, 9, 9)
    ids = [episode.id for episode in memory.get_all(user_id="ada", now=day(2))]
    memory.delete(ids[1], user_id="ada")
    memory.sleep(now=day(2))
    parts = {one.part for one in memory.derived("reflection", user_id="ada")}
    assert parts == {f"{ids[0]}:{ids[3]}", f"{ids[4]}:{ids[6]}"}
    memory.restore(ids[1], user_id="ada")
    memory.sleep(now=day(2))
    assert {one.part for one in memory.derived("reflection", user_id="ada")} == parts
    assert "message 1 rated 9" in tasks.recent[2] and len(tasks.recent) == 4, "the one after it rested on the first"
    assert memory.sleep(now=day(2)).derived_texts == 0
    assert memory.verify() == []


@pytest.mark.parametrize("place", [0, 2], ids=["first", "last"])
def test_an_erased_message_is_named_by_no_stretch_of_which_nothing_was_written(
    open_memory: Callable[..., Memory], place: int
) -> None:
    class Silent(Noting):
        def questions(self, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
            return [[] for _ in super().questions(groups, most)]

    tasks = Silent()
    memory = open_memory(config=ON, tasks=tasks)
    say(memory, 9, 9, 9, 9, 9, 9)
    memory.sleep(now=day(2))
    ids = [episode.id for episode in memory.get_all(user_id="ada", now=day(2))]
    runs = [line for line in memory.export() if '"table": "derivations"' in line]
    assert [sum(one in line for line in runs) for one in ids] == [1, 0, 1, 1, 0, 1] and thoughts(memory) == []
    memory.erase(user_id="ada", memory_id=ids[place])
    left = "\n".join(memory.export())
    assert ids[place] not in left and f"{ids[3]}:{ids[5]}" in left
    memory.sleep(now=day(2))
    rest = [f"message {i} rated 9" for i in range(3) if i != place]
    assert tasks.recent[2:] == [rest], "what is left; the other stretch is not reflected on again"
    assert memory.verify() == []


@pytest.mark.parametrize(("place", "how"), [(0, "erase"), (1, "erase"), (2, "erase"), (1, "delete"), (1, "restore")])
def test_the_rest_of_a_stretch_is_reflected_on_and_stretches_that_saw_none_of_it_stay(
    open_memory: Callable[..., Memory], tasks: Noting, place: int, how: str
) -> None:
    near = {**ON["reflection"], "recent": 3, "questions": 1, "memories": 1}
    memory = open_memory(config={**ON, "reflection": near}, tasks=tasks)
    say(memory, *[9] * 9)
    ids = [episode.id for episode in memory.get_all(user_id="ada", now=day(2))]
    if how == "restore":
        memory.delete(ids[place], user_id="ada")
    memory.sleep(now=day(2))
    before = {one.part: one for one in memory.derived("reflection", user_id="ada")}
    if how == "restore":
        memory.restore(ids[place], user_id="ada")
    elif how == "erase":
        memory.erase(user_id="ada", memory_id=ids[place])
    else:
        memory.delete(ids[place], user_id="ada")
    stayed = {one.part for one in memory.derived("reflection", user_id="ada")}
    memory.sleep(now=day(2))
    found = {one.part: one for one in memory.derived("reflection", user_id="ada")}
    said = [episode.id for episode in memory.get_all(user_id="ada", now=day(2))]
    ends = {part: [said.index(one) for one in part.split(":")] for part in found}
    on = {part: said[first : last + 1] for part, (first, last) in ends.items()}
    assert all(found[part] == before[part] for part in stayed if ids[place] not in on[part])
    assert sorted(map(said.index, chain(*on.values()))) == list(range(7 if how == "restore" else 8)), "each once"
    assert memory.verify() == [] and memory.sleep(now=day(2)).derived_texts == 0


def test_what_is_left_before_a_stretch_that_stays_belongs_to_the_one_that_is_cut_there() -> None:
    def heard(number: int) -> Heard:
        return Heard(number, f"m{number}", "", "s", None, number, None, 1.0, echo=False)

    settings = ReflectionConfig(enabled=True, threshold=15.0)
    cut = Reflections(Noting(), lambda *_: [], settings)._stretches
    said = [heard(number) for number in range(9)]  # each weighs 10
    assert cut(said, {}) == [(0, 2), (2, 4), (4, 6), (6, 8)]
    assert cut(said, {"m3:m4": Run("", 0)}) == [(0, 3), (3, 5), (5, 7), (7, 9)]
    assert cut(said, {"m1:m2": Run("", 0), "m5:m6": Run("", 0)}) == [(0, 1), (1, 3), (3, 5), (5, 7), (7, 9)]
    assert cut(said, {"m0:m1": Run("", 0), "m3:m8": Run("", 0)}) == [(0, 2), (2, 3), (3, 9)]


def test_due_stretches_are_asked_for_once(memory: Memory, tasks: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    read: list[int] = []
    due, texts = Reflections.due, derived_sources.texts

    def counting_due(self: Reflections, *args: Any) -> Any:
        asked.append(1)
        return due(self, *args)

    def counting_texts(*args: Any) -> Any:
        found = texts(*args)
        read.append(len(found))
        return found

    monkeypatch.setattr(Reflections, "due", counting_due)
    monkeypatch.setattr(derived_sources, "texts", counting_texts)
    say(memory, *[9] * 24)
    assert memory.sleep(now=day(2)).derived_texts == 16
    assert (len(tasks.recent), len(asked)) == (8, 1)
    assert read == [0, 2, *[4] * 6], "of the stretches that ended among the last 8 messages"
    memory.update(memory.get_all(user_id="ada", now=day(2))[1].id, "new rated 9", user_id="ada")
    asked.clear()
    assert memory.sleep(now=day(2)).derived_texts > 0
    assert len(asked) == 1


def test_sleeping_often_or_once_is_the_same(open_memory: Callable[..., Memory]) -> None:
    once, often = (open_memory(f"{name}.db", config=ON, tasks=Noting()) for name in ("once", "often"))
    ratings = (9, 4, 8, 8, 2, 10, 9, 1, 1, 9, 9)
    say(once, *ratings)
    once.sleep(now=day(2))
    for i, rating in enumerate(ratings):
        say(often, rating, first=i)
        often.sleep(now=day(2))
    assert len(thoughts(once)) == 4
    assert once.digest() == often.digest()


def test_by_rules_topics_are_counted_anew_upon_the_reflection_before(open_memory: Callable[..., Memory]) -> None:
    settings = {**ON["reflection"], "threshold": 10.0, "recent": 50, "memories": 20}
    memory = open_memory(config={**ON, "reflection": settings, "score": {"importance": "cues"}})
    rounds = ("of the garden.", "for the garden!", "in my garden.")
    said = [
        Message("user", f"I {verb} {thing} {where}", day(i), name="Mel")
        for i, (verb, thing, where) in enumerate(
            (verb, thing, where)
            for verb in ("painted", "bought", "saw")
            for thing, where in zip(("a fence", "some seeds", "two foxes"), rounds, strict=True)
        )
    ]
    list(memory.add_many(said, user_id="ada", now=day(20)))
    memory.sleep(now=day(20))
    found = memory.derived("reflection", user_id="ada")
    garden = {one.id: one for one in found if one.text.startswith("Mel spoke of garden in at least ")}
    above = [one for one in garden.values() if one.derived_ids]
    assert above
    for one in above:
        assert set(one.derived_ids) <= garden.keys(), "on the same topic"
        assert {source for below in one.derived_ids for source in garden[below].episode_ids} <= set(one.episode_ids)
    assert memory.verify() == []


def test_each_user_and_agent_apart(memory: Memory, tasks: Noting) -> None:
    say(memory, 9, 9, 9)
    say(memory, 9, 9, 9, user="bob")
    memory.sleep(now=day(2))
    assert len(thoughts(memory)) == 2 and len(memory.derived("reflection", user_id="bob")) == 2
    assert all(len(texts) == 3 for texts in tasks.recent)


@pytest.mark.parametrize("ratings", [[], [0, 0]])
def test_ratings_that_do_not_fit_are_a_noted_failure(
    memory: Memory, tasks: Noting, monkeypatch: pytest.MonkeyPatch, ratings: list[int]
) -> None:
    say(memory, 9, 9, 9)
    memory.flush()
    monkeypatch.setattr(tasks, "rate", lambda _: ratings)
    (failure,) = memory.sleep(now=day(2)).failures
    assert failure.startswith("JobError: rate was given 2 texts") and thoughts(memory) == []


def test_a_message_that_is_erased_between_two_stretches_is_in_no_later_one(
    memory: Memory, tasks: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(memory, *[9] * 9)
    memory.flush()
    ids = [episode.id for episode in memory.get_all(user_id="ada", now=day(2))]
    store = Derivations._store

    def erasing(self: Derivations, *args: Any) -> Any:
        changed = store(self, *args)
        if len(tasks.recent) == 1:
            memory.erase(user_id="ada", memory_id=ids[4])
        return changed

    monkeypatch.setattr(Derivations, "_store", erasing)
    assert memory.sleep(now=day(2)).failures == ()
    stretches = [texts[-3:] for texts in tasks.recent]
    assert stretches == [[f"message {i} rated 9" for i in own] for own in ((0, 1, 2), (3, 5, 6))]
