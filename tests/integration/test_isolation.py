"""Promise 2: nothing crosses a user. Random scopes, random messages, every way to read and write."""

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
from nscma_torch.core.errors import NotFoundError

Open = Callable[..., Memory]

# ids that look alike, prefixes, wildcards, quotes: whatever a sloppy comparison would mix up
USERS = ("a", "A", "a ", "ab", "%", "a_", "'; DROP TABLE episodes; --", "ä", "a/b")
IDS = (None, "x", "X", "%", "a")
WORDS = ("Kyoto", "lantern", "bicycle", "Ana", "moved", "蓝色", "seventeen", "harbour")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
scopes = st.tuples(st.sampled_from(USERS), st.sampled_from(IDS), st.sampled_from(IDS))
entries = st.lists(st.tuples(scopes, texts), min_size=2, max_size=9)
changes = st.lists(
    st.tuples(st.sampled_from(["update", "delete", "erase", "erase user"]), st.integers(0, 8)), max_size=3
)


def examples(n: int) -> settings:
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    phases = [Phase.explicit, Phase.generate]  # an example costs a second: no shrinking
    return settings(
        max_examples=n, deadline=None, derandomize=True, database=None, suppress_health_check=checks, phases=phases
    )


class Twin:
    """A store, and what it must hold, kept in a plain dictionary."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.held: dict[str, dict[str, tuple[tuple[str | None, str | None], str]]] = {}
        self.owner: dict[str, str] = {}

    def add(self, scope: tuple[str, str | None, str | None], text: str) -> None:
        user, agent, run = scope
        said = self.memory.add(text, user_id=user, agent_id=agent, run_id=run)[0]
        assert said.id not in self.owner, "an id was given out twice"
        self.owner[said.id] = user
        self.held.setdefault(user, {})[said.id] = ((agent, run), text)

    def change(self, action: str, which: int) -> None:
        if not self.owner:
            return
        memory_id = sorted(self.owner)[which % len(self.owner)]
        owner = self.owner[memory_id]
        for stranger in {*USERS} - {owner}:
            with pytest.raises(NotFoundError):
                self.memory.update(memory_id, "taken over", user_id=stranger)
            with pytest.raises(NotFoundError):
                self.memory.delete(memory_id, user_id=stranger)
            with pytest.raises(NotFoundError):
                self.memory.erase(user_id=stranger, memory_id=memory_id)
            with pytest.raises(NotFoundError):
                self.memory.history(memory_id, user_id=stranger)
            assert self.memory.get(memory_id, user_id=stranger) is None
        if action == "update":
            self.memory.update(memory_id, "bicycle harbour anew", user_id=owner)
            self.held[owner][memory_id] = (self.held[owner][memory_id][0], "bicycle harbour anew")
        elif action == "delete":
            self.memory.delete(memory_id, user_id=owner)
            del self.held[owner][memory_id], self.owner[memory_id]
        elif action == "erase":
            self.memory.erase(user_id=owner, memory_id=memory_id)
            del self.held[owner][memory_id], self.owner[memory_id]
        else:
            self.memory.erase(user_id=owner)
            for gone in self.held.pop(owner):
                del self.owner[gone]

    def check(self) -> None:
        for user in USERS:
            held = self.held.get(user, {})
            for agent in IDS:
                for run in IDS:
                    wanted = {
                        memory_id: text
                        for memory_id, ((its_agent, its_run), text) in held.items()
                        if agent in (None, its_agent) and run in (None, its_run)
                    }
                    got = self.memory.get_all(user_id=user, agent_id=agent, run_id=run)
                    assert {episode.id: episode.text for episode in got} == wanted
                    assert {episode.scope.user_id for episode in got} <= {user}
            hits = self.memory.search(" ".join(WORDS), user_id=user, top_k=50)
            assert {hit.id for hit in hits} == set(held)
            for agent in IDS[1:3]:
                found = self.memory.search("Kyoto lantern bicycle", user_id=user, agent_id=agent, top_k=50)
                assert {hit.id for hit in found} <= {i for i, (ids, _) in held.items() if ids[0] == agent}
            assert {e.id for e in self.memory.log(user_id=user) if e.status == "active"} == set(held)
            if held:  # the export of a user who never said anything is an error
                lines = [json.loads(line) for line in self.memory.export(user_id=user)][1:]
                assert {line["user_id"] for line in lines} <= {user}
                assert {line["id"] for line in lines if line["table"] == "episodes"} >= set(held)
        assert self.memory.verify() == []


def run_examples(open_memory: Open, n: int) -> None:
    @examples(n)
    @given(first=entries, done=changes, then=entries)
    def nothing_crosses(first: list[Any], done: list[Any], then: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            memory = open_memory(Path(folder) / "store.db")
            with closing(memory.components.database):
                twin = Twin(memory)
                for scope, text in first:
                    twin.add(scope, text)
                twin.check()
                for action, which in done:
                    twin.change(action, which)
                memory.flush()
                for scope, text in then:
                    twin.add(scope, text)
                twin.check()

    nothing_crosses()


def test_nothing_crosses_a_user(open_memory: Open) -> None:
    run_examples(open_memory, 4)


@pytest.mark.prove
def test_nothing_crosses_a_user_in_many_examples(open_memory: Open) -> None:
    run_examples(open_memory, 150)
    print("150 random programs over random scopes: no crossing")


def scores(memory: Memory, user: str) -> list[Any]:
    return [
        [(hit.id, hit.score, dict(hit.parts)) for hit in memory.search(query, user_id=user, explain=True, top_k=50)]
        for query in ("Kyoto lantern", "who moved the bicycle?", "蓝色")
    ]


def run_score_examples(open_memory: Open, n: int) -> None:
    @examples(n)
    @given(mine=st.lists(texts, min_size=1, max_size=6), theirs=st.lists(texts, min_size=1, max_size=12))
    def scores_stay(mine: list[str], theirs: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.db"
            reader, writer = open_memory(path), open_memory(path)
            with closing(reader.components.database), closing(writer.components.database):
                for text in mine:
                    writer.add(text, user_id="a")
                writer.flush()
                before, support = scores(reader, "a"), reader.ask("who moved to Kyoto?", user_id="a").confidence
                digest = reader.digest(user_id="a")
                for i, text in enumerate(theirs):
                    writer.add(text, user_id=USERS[1 + i % 3])
                writer.flush()
                for memory in (reader, writer):
                    assert scores(memory, "a") == before
                    assert memory.ask("who moved to Kyoto?", user_id="a").confidence == support
                    assert memory.digest(user_id="a") == digest

    scores_stay()


def test_no_score_is_changed_by_another_user(open_memory: Open) -> None:
    run_score_examples(open_memory, 5)


@pytest.mark.prove
def test_no_score_is_changed_by_another_user_in_many_examples(open_memory: Open) -> None:
    run_score_examples(open_memory, 200)
    print("200 random pairs of writers: no score changed")


def test_gate_decisions_are_not_changed_by_another_user(open_memory: Open, conversation: Any) -> None:
    """What one user said before must not make another's message a repetition."""
    alone, together = open_memory("alone.db"), open_memory("together.db")
    messages = conversation(12, long=False)
    list(together.add_many(messages, user_id="b"))
    for memory in (alone, together):
        list(memory.add_many(messages, user_id="a"))
    assert [e.decision for e in alone.log(user_id="a")] == [e.decision for e in together.log(user_id="a")]


def test_an_idempotency_key_belongs_to_its_user(memory: Memory) -> None:
    for user in ("a", "b"):
        assert memory.add(f"I am {user}.", user_id=user, idempotency_key="k")[0].event == "ADD"
    assert [memory.get_all(user_id=user)[0].text for user in ("a", "b")] == ["I am a.", "I am b."]


def test_failures_and_recalls_are_counted_per_user(open_memory: Open) -> None:
    with open_memory() as first:
        first.add("I moved to Kyoto.", user_id="a")
        first.add("I moved to Porto.", user_id="b")
        first.search("Kyoto", user_id="a")
    memory = open_memory()
    assert memory.stats(user_id="a").recalls_queued == 1
    assert memory.stats(user_id="b").recalls_queued == 0
    assert memory.stats(user_id="nobody").messages == 0
