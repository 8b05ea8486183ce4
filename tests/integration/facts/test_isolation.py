"""Promise 2 for facts: what users say, undo, merge, forget and erase leaves every other user's knowledge as it was."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from tests.helpers.noting import bare, day, everything, held, log, say, tell

Open = Callable[..., Memory]

USERS = ("a", "A", "a ", "%", "a_", "'; DROP TABLE facts; --")  # whatever a sloppy comparison would mix up
AGENTS = (None, "x", "%")

_marks = st.sampled_from(["", "", "", "|not", "|was Rome", "|sorry", "|once", "|sure 0.4"])
_texts = st.one_of(
    st.builds("{{Ben|lives_in|{}{}}}".format, st.sampled_from(["Rome", "Oslo", "Bern"]), _marks),
    st.builds("{{Anna|likes|{}{}}}".format, st.sampled_from(["tea", "jazz"]), _marks),
    st.builds("{{Anna|dislikes|{}}}".format, st.sampled_from(["tea", "jazz"])),
    st.builds("{{user|named|{}}}".format, st.sampled_from(["Ben", "Anna"])),
    st.builds("{{Konstant{}n|works_at|Acme}}".format, st.sampled_from("iy")),
)
_says = st.tuples(
    st.just("say"), _texts, st.integers(0, 50), st.sampled_from(["Ben", "Anna", None]), st.sampled_from(AGENTS)
)
_does = st.tuples(
    st.sampled_from(["undo", "merge", "sleep", "delete", "restore", "erase", "update", "flush", "skill", "feedback"]),
    st.integers(0, 5),
)
_programs = st.lists(st.tuples(st.sampled_from(USERS), st.one_of(_says, _says, _does)), min_size=6, max_size=24)


def examples(n: int) -> settings:
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    phases = [Phase.explicit, Phase.generate]  # an example costs a second: no shrinking
    return settings(
        max_examples=n, deadline=None, derandomize=True, database=None, suppress_health_check=checks, phases=phases
    )


def act(memory: Memory, user: str, what: tuple[Any, ...], at: float) -> None:
    """One step of a program; steps that find nothing to work on do nothing."""
    if what[0] == "say":
        _, text, said, name, agent = what
        say(memory, text, said, stored=60, name=name, agent_id=agent, user_id=user)
        return
    deed, which = what
    messages = [episode.id for episode in memory.log(user_id=user)]
    decisions = log(memory, user)
    when = day(100 + at)
    if deed == "undo" and decisions:
        try:
            memory.undo(decisions[-1 - which % len(decisions)].id, user_id=user, now=when)
        except InvalidInputError:
            return
    elif deed == "merge":
        for decision in [one for one in decisions if one.action == "PROPOSE" and not one.undone][:1]:
            try:
                memory.merge(decision.id, user_id=user, now=when)
            except InvalidInputError:
                return
    elif deed == "sleep" and messages:
        memory.sleep(user_id=user, now=day(1000) if which == 0 else when)
    elif deed == "flush":
        memory.flush()
    elif deed == "skill":
        skill = memory.add_skill(f"skill {which}", trigger="open the jar", steps=["twist"], user_id=user, now=when)
        memory.skill_outcome(skill.id, user_id=user, success=bool(which % 2), now=when)
    elif messages and deed in ("delete", "restore", "erase", "update", "feedback"):
        target = messages[which % len(messages)]
        if deed == "erase":
            memory.erase(user_id=user, memory_id=target)
        elif deed == "feedback":
            memory.feedback(target, user_id=user, helpful=bool(which % 2), now=when)
        elif deed == "update":
            if memory.get(target, user_id=user, now=when) is not None:
                memory.update(target, "{Ben|lives_in|Bern}", user_id=user, now=when)
        else:
            getattr(memory, deed)(target, user_id=user, now=when)


def knowledge(memory: Memory, user: str) -> tuple[Any, ...]:
    skills = [(one.skill.name, one.skill.successes) for one in memory.find_skills("jar", user_id=user)]
    return (
        memory.digest(user_id=user),
        everything(memory, user),
        bare(log(memory, user)),
        [(line.text, line.day) for line in memory.profile(user_id=user)],
        [tuple(side.object for side in sides) for sides in memory.conflicts(user_id=user)],
        skills,
        memory.stats(user_id=user).facts,
    )


def strangers_are_refused(memory: Memory) -> None:
    decisions = {user: [one.id for one in log(memory, user)] for user in USERS}
    messages = {user: [episode.id for episode in memory.log(user_id=user)] for user in USERS}
    for owner in USERS:
        for other in USERS:
            if other == owner:
                continue
            for key in decisions[owner][:2]:
                with pytest.raises(NotFoundError):
                    memory.undo(key, user_id=other)
                with pytest.raises(NotFoundError):
                    memory.merge(key, user_id=other)
            for key in messages[owner][:1]:
                with pytest.raises(NotFoundError):
                    memory.feedback(key, user_id=other, helpful=False)
            assert not set(decisions[owner]) & set(decisions[other])
            mine = {fact.id for fact in memory.facts(user_id=owner, archived=True)}
            assert not mine & {fact.id for fact in memory.facts(user_id=other, archived=True)}
    for user in USERS:
        for fact in memory.facts(user_id=user, archived=True):
            assert fact.scope.user_id == user and set(fact.episode_ids) <= set(messages[user])
        if messages[user]:  # the export of a user who never said anything is an error
            lines = [json.loads(line) for line in memory.export(user_id=user)][1:]
            assert {line["user_id"] for line in lines if "user_id" in line} <= {user}


def run_examples(noted: Open, n: int) -> None:
    @examples(n)
    @given(program=_programs)
    def nothing_crosses(program: list[tuple[str, tuple[Any, ...]]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            shared = noted(Path(folder) / "shared.db")
            with closing(shared.components.database):
                for at, (user, what) in enumerate(program):
                    act(shared, user, what, at)
                shared.flush()
                assert shared.verify() == []
                strangers_are_refused(shared)
                for user in {user for user, _ in program}:
                    alone = noted(Path(folder) / "alone.db")
                    with closing(alone.components.database):
                        for at, (owner, what) in enumerate(program):
                            if owner == user:
                                act(alone, user, what, at)
                            elif what[0] == "flush" or (what[0] == "sleep" and shared_slept(program[:at], owner)):
                                alone.flush()  # the store's background work is done for everyone at once
                        alone.flush()
                        assert knowledge(shared, user) == knowledge(alone, user)
                    for file in Path(folder).glob("alone.db*"):
                        file.unlink()

    nothing_crosses()


def shared_slept(before: list[tuple[str, tuple[Any, ...]]], owner: str) -> bool:
    """Whether a user had anything to sleep on, as far as the program tells."""
    return any(user == owner and what[0] == "say" for user, what in before)


def test_no_knowledge_crosses_a_user(noted: Open) -> None:
    run_examples(noted, 3)


@pytest.mark.prove
def test_no_knowledge_crosses_a_user_in_many_examples(noted: Open) -> None:
    run_examples(noted, 200)
    print("200 random programs of six users: each knows what he would know alone")


def test_the_same_words_of_two_users_are_two_facts(noted: Open) -> None:
    memory = noted()
    for user in USERS:
        tell(memory, "{Ben|lives_in|Rome}", 1, user_id=user)
    assert len({memory.facts(user_id=user)[0].id for user in USERS}) == len(USERS)
    assert all(memory.facts(user_id=user)[0].strength == 1 for user in USERS)
    memory.sleep(user_id="a", now=day(900))
    assert [held(memory, user_id=user) for user in USERS] == [[], *[["Rome"]] * (len(USERS) - 1)]
    memory.erase(user_id="%")
    assert [held(memory, user_id=user) for user in USERS] == [[], ["Rome"], ["Rome"], [], ["Rome"], ["Rome"]]
    assert memory.verify() == []


def test_names_of_one_user_mean_nothing_to_another(noted: Open) -> None:
    """One's merge, and a name that one stated, leave the other's entities apart."""
    memory = noted()
    for user in ("ada", "eve"):
        tell(memory, "{Konstantin|likes|tea} {Konstantyn|lives_in|Oslo} {Ben|likes|jazz}", 1, user_id=user)
    memory.sleep(now=day(2))
    before = memory.digest(user_id="eve")
    (proposal,) = [one for one in log(memory) if one.action == "PROPOSE"]
    memory.merge(proposal.id, user_id="ada", now=day(3))
    tell(memory, "{user|named|Ben}", 4, name=None)
    assert held(memory, subject="Konstantin") == ["Oslo", "tea"]
    assert held(memory, subject="user") == ["Ben", "jazz"]
    assert held(memory, subject="Konstantin", user_id="eve") == ["tea"]
    assert held(memory, subject="user", user_id="eve") == []
    assert memory.digest(user_id="eve") == before


def test_questions_are_answered_from_ones_own_facts(noted: Open) -> None:
    memory = noted()
    tell(memory, "{Anna|lives_in|Rome}", 1, name="Ben")
    tell(memory, "{Anna|lives_in|Oslo}", 2, name="Carl", user_id="eve")
    assert [memory.ask("Where does Anna live?", user_id=user, now=day(3)).text for user in ("ada", "eve")] == [
        "Rome",
        "Oslo",
    ]
    assert memory.conflicts(user_id="ada") == memory.conflicts(user_id="eve") == []
