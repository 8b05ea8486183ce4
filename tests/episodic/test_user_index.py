"""The index in memory is derived: catching up step by step gives what reading everything at once gives."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import torch
from sqlalchemy import select

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import RetrievalConfig, ScoreConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Message
from nscma_torch.episodic.index import index_postings, unit_changes, unit_schema, units, user_index
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.episodic.index.vectors import TensorSearch
from nscma_torch.search.lexical import bm25
from nscma_torch.text.terms import terms
from tests.episodic.index_rows_of import assert_same, living

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
ACTIONS = (
    *("add", "add", "add", "add many", "add many", "flush", "flush", "update", "delete", "restore", "erase", "sleep"),
    *("undo", "rate", "skill", "reembed", "erase user", "other"),
)


def read(memory: Memory, index: UserIndex | None = None, user: str = "ada") -> UserIndex:
    if index is None:
        index = UserIndex(user, memory.components.embedder.dimension, torch.device("cpu"))
    with memory.components.database.read(ALL_USERS) as connection:
        index.catch_up(connection)
    return index


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(2, 20))])
def test_catching_up_equals_reading_everything(seed: int, open_memory: Open, conversation: Any) -> None:
    rng = random.Random(seed)
    memory = open_memory(config={"gate": {"rule": "everything"}})
    steady = read(memory)
    assert len(steady) == 0
    supply = iter(conversation(200, seed=seed, long=False))
    for _ in range(18):
        ids = [episode.id for episode in memory.log(user_id="ada")]
        action = rng.choice(ACTIONS)
        if action == "add" or not ids:
            memory.add(next(supply), user_id="ada", run_id=rng.choice([None, "r1"]), now=NOW)
        elif action == "add many":
            list(memory.add_many([next(supply) for _ in range(5)], user_id="ada", now=NOW))
        elif action == "flush":
            memory.flush()
        elif action == "update":
            memory.update(rng.choice(ids), f"Edited in round {rng.random()}.", user_id="ada")
        elif action == "delete":
            memory.delete(rng.choice(ids), user_id="ada")
        elif action == "restore":
            memory.restore(rng.choice(ids), user_id="ada")
        elif action == "erase":
            memory.erase(user_id="ada", memory_id=rng.choice(ids))
        elif action == "erase user":
            memory.erase(user_id="ada")
        elif action == "sleep":
            memory.sleep(user_id="ada", now=NOW + timedelta(days=rng.randrange(900)))
        elif action == "undo":
            undo_last(memory)
        elif action == "rate":
            memory.feedback(rng.choice(ids), user_id="ada", helpful=rng.random() < 0.5)
        elif action == "skill":
            memory.add_skill("kettle", trigger=f"when water boils {rng.random()}", steps=["pour"], user_id="ada")
        elif action == "reembed":
            memory.reembed()
        else:
            memory.add("Somebody else speaks.", user_id="bob")
        if rng.random() < 0.6:  # sometimes several changes are caught up with at once
            assert_same(read(memory, steady), read(memory))
            assert_found_alike(memory, steady, rng)
    assert_same(read(memory, steady), read(memory))


def undo_last(memory: Memory) -> None:
    """Take the last decision back that stands and has no later one on it."""
    for decision in memory.decisions(user_id="ada"):
        if not decision.undone:
            with contextlib.suppress(InvalidInputError):
                memory.undo(decision.id, user_id="ada")
                return


def assert_found_alike(memory: Memory, steady: UserIndex, rng: random.Random) -> None:
    """A search of the index that followed finds what one of a fresh index finds."""
    words = terms(rng.choice(["who moved to Kyoto?", "the bicycle in Porto", "warehouse 42", "Kim said the library"]))
    query = memory.components.embedder.embed_query(" ".join(words))
    scores = []
    for index in (steady, read(memory)):
        with memory.components.database.read(ALL_USERS) as connection:
            postings = index.postings(connection, words)
        mask = index.where(kinds=["chunk", "summary"], agent_id=None, run_id=None, at=2**62)
        found = bm25(index, postings, words, RetrievalConfig(), mask)
        values, rows = TensorSearch(ScoreConfig(beta=0.3, gamma=0.2)).search(index, query, now=2**51, mask=mask, k=20)
        found[rows] += values
        scores.append(dict(zip(index.seqs[mask].tolist(), found[mask].tolist(), strict=True)))
    assert scores[0] == pytest.approx(scores[1], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("few", [0, 256])
def test_tombstones_go_when_there_are_many(few: int, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_index, "_FEW", few)
    ids = [added.id for added in memory.add_many([Message("user", f"text {i}") for i in range(12)], user_id="ada")]
    index = read(memory)
    first, layouts = index.layout, []
    for one in ids[:9]:
        memory.delete(one, user_id="ada")
        assert_same(read(memory, index), read(memory))
        layouts.append((len(index), index.layout - first))
    assert layouts[-1] == (12, 0) if few else layouts[-1][0] < 6 and layouts[-1][1] >= 2


def test_a_renewed_summary_costs_what_changed(open_memory: Open, conversation: Any, light_surprise: Any) -> None:
    """The index read 1,034 of 1,034 rows again after each flush that renewed a summary."""
    memory = open_memory(
        surprise_model=light_surprise, config={"gate": {"rule": "everything"}, "hierarchy": {"enabled": True}}
    )
    said = conversation(40, seed=3, long=False)
    list(memory.add_many(said[:30], user_id="ada", now=NOW))
    memory.flush()
    index = read(memory)
    before = set(index.seqs[index.alive].tolist())
    gone = 0
    for message in said[30:]:
        memory.add(message, user_id="ada", now=NOW)
        memory.flush()
        rows_read = index.rows_read
        read(memory, index)
        after = set(index.seqs[index.alive].tolist())
        assert index.rows_read - rows_read == len(after - before)
        gone += len(before - after)
        before = after
    assert gone, "some summary was renewed"
    assert_same(index, read(memory))


@pytest.mark.parametrize("small", [0, 4096])
def test_postings_of_what_was_added_are_all_that_is_read(
    small: int, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_postings, "_SMALL", small)
    list(memory.add_many([Message("user", f"kettle {i}") for i in range(30)], user_id="ada"))
    index = read(memory)

    def held(one: UserIndex, word: str = "kettle") -> list[int]:
        (term,) = terms(word)
        with memory.components.database.read(ALL_USERS) as connection:
            return one.seqs[one.postings(connection, [term])[term].rows].tolist()

    everything = held(index)
    older = index.snapshot()
    assert len(everything) == index._postings.postings_read == 30
    ids = [memory.add(f"kettle and harp {i}", user_id="ada")[0].id for i in range(3)]
    assert held(read(memory, index)) == index.seqs.tolist() and index._postings.postings_read == 33
    assert held(older) == everything, "a snapshot finds what it found"
    memory.delete(ids[1], user_id="ada")
    assert held(read(memory, index)) == index.seqs[index.alive].tolist() == held(read(memory))
    assert len(held(index)) == 32 and index._postings.postings_read == 33
    memory.restore(ids[1], user_id="ada")
    assert held(read(memory, index)) == held(read(memory)) and len(held(index)) == 33
    assert held(older) == everything
    monkeypatch.setattr(user_index, "_FEW", 0)
    monkeypatch.setattr(user_index, "_MOST_GONE", 0.0)
    harps = held(index, "harp")
    memory.delete(memory.log(user_id="ada")[0].id, user_id="ada")  # rows move up
    assert held(read(memory, index)) == held(read(memory)) and len(held(index)) == len(index) == 32
    assert held(index, "harp") == harps == index.seqs[-3:].tolist()
    memory.add("kettle and harp", user_id="ada")
    both = terms("kettle harp and 5")  # some that are behind, and one that is new
    found = []
    for one in (read(memory, index), read(memory)):
        with memory.components.database.read(ALL_USERS) as connection:
            own = one.postings(connection, both)
        found.append([(one.seqs[own[term].rows].tolist(), own[term].tf.tolist()) for term in own])
    assert found[0] == found[1] and [len(seqs) for seqs, _ in found[0]] == [33, 4, 1]


def test_a_log_that_was_cut_is_not_believed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_changes, "_KEPT", 3)
    ids = [memory.add(f"text {i}", user_id="ada")[0].id for i in range(12)]
    near, far = read(memory), read(memory)
    for one in ids[:9]:
        memory.delete(one, user_id="ada")
        assert_same(read(memory, near), read(memory))
    with memory.components.database.read(ALL_USERS) as connection:
        logged = connection.execute(select(unit_schema.unit_changes.c.unit_seq)).scalars().all()
    assert len(logged) <= 7 and near.rows_read == 12
    assert_same(read(memory, far), read(memory))
    assert far.rows_read == 12 + 3, "who was further behind than the log goes read everything"


def test_erasing_leaves_no_entry_and_no_reader_keeps_what_it_held(memory: Memory) -> None:
    ids = [memory.add(f"text {i}", user_id="ada")[0].id for i in range(4)]
    index = read(memory)
    memory.update(ids[0], "text e", user_id="ada")
    memory.erase(user_id="ada", memory_id=ids[1])
    with memory.components.database.read(ALL_USERS) as connection:
        logged = connection.execute(select(unit_schema.unit_changes.c.unit_seq)).scalars().all()
    assert logged == [0], "what is logged says that all is to be read, and names no unit"
    assert len(read(memory, index)) == 3, "no tombstone holds the vector"
    memory.erase(user_id="ada")
    assert len(read(memory, index)) == 0
    memory.add("text f", user_id="ada")
    assert_same(read(memory, index), read(memory))


def test_a_snapshot_stays_as_it_was(memory: Memory, conversation: Any) -> None:
    ids = [one.id for one in memory.add_many(conversation(30, seed=5, long=False), user_id="ada", now=NOW)]
    index = read(memory)
    snapshot = index.snapshot()
    before = {name: value.clone() for name, value in living(snapshot).items() if isinstance(value, torch.Tensor)}
    names = snapshot.names
    memory.delete(ids[3], user_id="ada")
    memory.update(ids[7], "Edited, with other words.", user_id="ada")
    memory.add(Message("user", "Somebody new speaks.", name="Noor"), user_id="ada")
    read(memory, index)
    memory.restore(ids[3], user_id="ada")
    assert_same(read(memory, index), read(memory))
    now = living(snapshot)
    assert all(torch.equal(value, now[name]) for name, value in before.items())
    assert snapshot.names == names and "Noor" in index.names


def test_it_holds_what_the_rows_say(memory: Memory, embedder: Any, conversation: Any) -> None:
    messages = conversation(20, seed=4, long=False)
    list(memory.add_many(messages, user_id="ada", now=NOW))
    index = read(memory)
    with memory.components.database.read(ALL_USERS) as connection:
        rows = units.load(connection, "ada", index.seqs.tolist())
        postings = index.postings(connection, ["moved", "kyoto", "move", "nowhere"])
    texts = [rows[seq].text for seq in index.seqs.tolist()]
    assert texts == [message.content for message in messages]
    assert torch.equal(index.vectors, embedder.embed(texts))
    assert index.lengths.tolist() == [len(terms(text)) for text in texts]
    assert index.occurred_at.tolist() == [int(m.timestamp.timestamp() * 10**6) for m in messages if m.timestamp]
    assert set(postings) == {term for term in ("moved", "kyoto", "move") if any(term in terms(t) for t in texts)}
    for term, posting in postings.items():
        assert posting.rows.tolist() == [i for i, text in enumerate(texts) if term in terms(text)]
        assert posting.tf.tolist() == [terms(texts[i]).count(term) for i in posting.rows.tolist()]


def test_neighbours_are_of_the_same_stream_session_and_kind(memory: Memory) -> None:
    said = [("r1", "s1", "a"), ("r1", "s1", "b"), ("r2", "s1", "c"), ("r1", "s2", "d"), ("r1", "s1", "e")]
    for run, session, text in said:
        memory.add(Message("user", f"text {text}", session=session), user_id="ada", run_id=run)
    index = read(memory)
    assert index.previous.tolist() == [-1, 0, -1, -1, 1]
    assert index.following.tolist() == [1, 4, -1, -1, -1]


def test_turns_follow_the_links(memory: Memory) -> None:
    for session, text in (("s1", "a"), ("s1", "b"), ("s2", "c"), ("s1", "d"), ("s1", "e")):
        memory.add(Message("user", f"text {text}", session=session), user_id="ada")
    index = read(memory)
    before, after = [[5, 0, 5, 1, 3, 5], [5, 5, 5, 0, 1, 5]], [[1, 3, 5, 4, 5, 5], [3, 4, 5, 5, 5, 5]]
    assert [turn.tolist() for turn in index.turns(2)] == before + after
    assert [turn.tolist() for turn in index.turns(1)] == [before[0], after[0]]
    assert index.turns(0) == []
    memory.add(Message("user", "text f", session="s2"), user_id="ada")
    assert [turn.tolist() for turn in read(memory, index).turns(1)] == [[6, 0, 6, 1, 3, 2, 6], [1, 3, 5, 4, 6, 6, 6]]


def test_a_contextual_vector_takes_in_its_neighbours(memory: Memory) -> None:
    list(
        memory.add_many([Message("user", t, session="s") for t in ("the kettle", "is", "blue", "today")], user_id="ada")
    )
    index = read(memory)
    plain, mixed = index.vectors, index.contextual
    weights = torch.tensor([[1, 0.3, 0.15, 0], [0.3, 1, 0.3, 0.15], [0.15, 0.3, 1, 0.3], [0, 0.15, 0.3, 1]])
    expected = torch.nn.functional.normalize(weights @ plain, dim=1)
    torch.testing.assert_close(mixed, expected, atol=1e-6, rtol=0)


def test_masks(memory: Memory) -> None:
    memory.add("early", user_id="ada", timestamp=NOW, now=NOW, agent_id="cook")
    memory.add("late", user_id="ada", timestamp=NOW + timedelta(days=1), now=NOW + timedelta(days=1))
    memory.add("gone", user_id="ada", timestamp=NOW, now=NOW, expiration_date=NOW + timedelta(hours=1))
    index = read(memory)

    def seen(at: datetime, **ids: Any) -> list[bool]:
        asked = {"kinds": ["chunk"], "agent_id": None, "run_id": None, **ids}
        return index.where(**asked, at=int(at.timestamp() * 10**6)).tolist()

    assert seen(NOW - timedelta(seconds=1)) == [False, False, False]
    assert seen(NOW) == [True, False, True]
    assert seen(NOW + timedelta(hours=1)) == [True, False, False]
    assert seen(NOW + timedelta(days=1)) == [True, True, False]
    assert seen(NOW + timedelta(days=1), agent_id="cook") == [True, False, False]
    assert seen(NOW + timedelta(days=1), agent_id="guide") == [False, False, False]
    assert seen(NOW, kinds=["summary"]) == [False, False, False]


def test_deferred_messages_need_not_be_embedded(open_memory: Open) -> None:
    memory = open_memory(config={"embedder": {"model": "hash", "deferred": False}})
    fact = memory.add("My sister Ana was born in Kyoto in 1984.", user_id="ada", now=NOW)[0]
    talk = memory.add("haha ok", user_id="ada", now=NOW)[0]
    assert fact.decision is not None and talk.decision is not None
    assert (fact.decision.write, talk.decision.write) == (True, False)
    index = read(memory)
    assert index.embedded.tolist() == [True, False]
    assert index.vectors[1].abs().sum() == 0
    assert talk.id in [hit.id for hit in memory.search("haha", user_id="ada")], "the words still find it"
    assert memory.verify() == []


def test_bfloat16_takes_half_and_catches_up_to_the_same(memory: Memory, conversation: Any) -> None:
    said = conversation(20, seed=4, long=False)
    indexes = {}
    for name, parts in (("at once", [said]), ("in parts", [said[:7], said[7:8], said[8:]])):
        index = UserIndex(name, memory.components.embedder.dimension, torch.device("cpu"), torch.bfloat16)
        for part in parts:
            list(memory.add_many(part, user_id=name, now=NOW))
            with memory.components.database.read(ALL_USERS) as connection:
                index.catch_up(connection)
        indexes[name] = index
    whole, parts = indexes.values()
    assert torch.equal(whole.vectors, parts.vectors) and torch.equal(whole.contextual, parts.contextual)
    assert whole.vectors.element_size() == 2
    plain = UserIndex("at once", memory.components.embedder.dimension, torch.device("cpu"))
    with memory.components.database.read(ALL_USERS) as connection:
        plain.catch_up(connection)
    torch.testing.assert_close(whole.contextual.float(), plain.contextual, atol=0.01, rtol=0.01)


def test_an_edited_message_keeps_its_neighbours(memory: Memory) -> None:
    """Its new unit stands at the end of the rows, and in its old place in the conversation."""
    ids = [memory.add(f"text {name}", user_id="ada")[0].id for name in "abcd"]
    steady = read(memory)
    memory.update(ids[0], "text e", user_id="ada")
    index = read(memory)
    assert index.previous.tolist() == [3, 0, 1, -1] and index.following.tolist() == [1, 2, -1, 0]
    memory.add("text f", user_id="ada")
    assert read(memory, index).previous.tolist() == [3, 0, 1, -1, 2]
    assert_same(read(memory, steady), read(memory))
    assert_same(index, read(memory))


@pytest.mark.parametrize("step", ["_append", "_relink", "_blend"])
def test_an_interrupted_reading_is_done_again(step: str, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.add("text a", user_id="ada")
    index = read(memory)
    for name in "bc":
        memory.add(f"text {name}", user_id="ada")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(UserIndex, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            read(memory, index)
    assert_same(read(memory, index), read(memory))
