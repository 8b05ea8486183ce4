"""The hierarchy of a store: what `Memory` promises of it after any history, failures and edits by others included."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.errors import ConfigError, JobError, ModelError, ScopeError
from nscma_torch.hierarchy.cam import Cam
from nscma_torch.hierarchy.rows import cam_of
from nscma_torch.hierarchy.settings import CamSettings
from nscma_torch.llm.embedded import EmbeddedTasks
from nscma_torch.llm.passage import word_count
from nscma_torch.memory import Memory
from nscma_torch.records import Message, Unit
from nscma_torch.storage import hierarchies, jobs
from nscma_torch.storage.schema import drafts, episodes, node_units, unit_sources, units
from nscma_torch.text.hash_embedder import HashEmbedder
from nscma_torch.text.sentences import split_sentences

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
LIVELY = {"neighbours": 4, "min_members": 2, "max_members": 6}
SUBJECTS = ("My sister Ana", "The landlord", "Our cat Miso", "Dr. Okafor", "The team in Lisbon")
DEEDS = ("painted the harbour house", "moved to Kyoto with the bicycle", "signed the contract for warehouse 42")


def text_of(i: int) -> str:
    """A message of one of fifteen topics, with a word that no other has."""
    return f"{SUBJECTS[i % 5]} {DEEDS[i // 5 % 3]} again, and the reference is uniq{i}mark."


def word_of(i: int) -> str:
    return f"uniq{i}mark"


def said(numbers: Iterable[int], **more: Any) -> list[Message]:
    return [Message("user", text_of(i), NOW - timedelta(days=1000 - i), **more) for i in numbers]


class Tasks(EmbeddedTasks):
    """Records what it is asked to summarise; `before` runs in the middle of its work, with the call's number."""

    def __init__(self, before: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self.calls: list[list[list[str]]] = []
        self.before = before

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        self.calls.append([[unit.text for unit in group] for group in groups])
        if self.before is not None:
            self.before(len(self.calls))
        return super().summarize(groups)


@pytest.fixture
def open_lively(open_memory: Open, light_proxy: Any) -> Open:
    """Memories whose gate writes everything, and whose hierarchy has many small clusters."""

    def open_(name: str | Path = "store.db", hierarchy: dict[str, Any] | None = None, **more: Any) -> Memory:
        config = {
            "gate": {"rule": "everything"},
            "hierarchy": {**LIVELY, **(hierarchy or {})},
            **more.pop("config", {}),
        }
        return open_memory(name, config, **{"proxy": light_proxy, **more})

    return open_


def cam(memory: Memory, user: str = "ada", agent: str | None = None) -> Cam:
    with memory.parts.database.read() as connection:
        return cam_of(hierarchies.load(connection, user, agent).levels)


def settings_of(memory: Memory) -> CamSettings:
    section = memory.config.hierarchy.model_dump(exclude={"enabled", "batch_size", "summary_words"})
    return CamSettings(**section)


def summaries(memory: Memory) -> list[str]:
    """The text of every summary in the store, active or not."""
    with memory.parts.database.read() as connection:
        return list(connection.execute(select(units.c.text).where(units.c.kind == "summary")).scalars())


def chunks_due(memory: Memory, user: str, agent: str | None) -> set[int]:
    """Chunks that must be in a hierarchy: active ones of episodes that were encoded."""
    own = episodes.c.agent_id.is_(None) if agent is None else episodes.c.agent_id == agent
    query = (
        select(units.c.seq)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(episodes.c.user_id == user, own, episodes.c.encoded, episodes.c.status == "active")
        .where(units.c.kind == "chunk")
    )
    with memory.parts.database.read() as connection:
        return set(connection.execute(query).scalars())


def sentences(text: str) -> set[str]:
    return {" ".join(text[span.start : span.end].split()) for span in split_sentences(text)}


@pytest.fixture
def assert_whole(hierarchy_problems: Callable[..., list[str]]) -> Callable[..., None]:
    """After `flush`: the structure is sound, all that is due is in it, and every node speaks for its leaves alone."""

    def check(memory: Memory, user: str = "ada", agent: str | None = None) -> None:
        assert memory.verify() == []
        assert (memory.stats().jobs_queued, memory.stats().jobs_failed) == (0, 0)
        held = cam(memory, user, agent)
        assert hierarchy_problems(held, settings_of(memory)) == []
        key = hierarchies.hierarchy_id(user, agent)
        with memory.parts.database.read() as connection:
            of_node = hierarchies.units_of(connection, key)
            assert connection.execute(select(drafts).where(drafts.c.hierarchy_id == key)).all() == []
        numbers = {(depth, n) for depth, level in enumerate(held.levels) for n in level.nodes.tolist()}
        assert set(of_node) == numbers, "every node has a unit, and no other has one"
        assert {seq for (depth, _), own in of_node.items() if not depth for seq in own} == chunks_due(
            memory, user, agent
        )
        nodes = memory.tree(user_id=user, agent_id=agent)
        assert len(nodes) == len(numbers)
        by_id = {node.id: node for node in nodes}
        assert len(by_id) == len(nodes)
        texts = {episode.id: episode.text for episode in memory.log(user_id=user)}
        expected = [{}, *held.members(settings_of(memory))]
        for node in nodes:
            assert node.text and not node.stale
            if node.level:
                below = [by_id[member] for member in node.members]
                assert {m.level for m in below} == {node.level - 1}
                assert set(node.episode_ids) == {i for member in below for i in member.episode_ids}
                own = set().union(*(sentences(texts[i]) for i in node.episode_ids))
                assert set(node.text.split("\n")) <= own, "every sentence is the members'"
        for depth, members in enumerate(expected[1:], start=1):
            assert sorted(len(own) for own in members.values()) == sorted(
                len(node.members) for node in nodes if node.level == depth
            )
        leaves = {node.text for node in nodes if node.level}
        provenance = {
            text: [set(node.episode_ids) for node in nodes if node.level and node.text == text] for text in leaves
        }
        for hit in memory.search(" ".join(SUBJECTS), user_id=user, agent_id=agent, kinds=("summary",), top_k=9999):
            if hit.unit.scope.agent_id == agent and hit.text in leaves:  # a long summary is found in parts
                assert set(hit.unit.episode_ids) in provenance[hit.text]

    return check


def assert_silent(memory: Memory, gone: Iterable[int], user: str = "ada") -> None:
    """No summary says anything of these messages: not in the tables, the tree, or a search."""
    words = [word_of(i) for i in gone]
    found = summaries(memory) + [node.text for node in memory.tree(user_id=user)]
    found += [hit.text for hit in memory.search("reference", user_id=user, kinds=("summary",), top_k=9999)]
    assert [word for word in words if any(word in text for text in found)] == []


# --- after any history


@pytest.mark.parametrize(
    "hierarchy", [{}, {"overlapping": False}, {"batch_size": 7}], ids=["", "whole", "small batches"]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 15))])
def test_any_history(seed: int, hierarchy: dict[str, Any], open_lively: Open, assert_whole: Any) -> None:
    rng = random.Random(seed)
    memory = open_lively(hierarchy=hierarchy)
    number_of: dict[str, int] = {}
    alive, hidden = set[str](), set[str]()
    gone, next_number = set[int](), 0

    def fresh(n: int) -> list[int]:
        nonlocal next_number
        next_number += n
        return list(range(next_number - n, next_number))

    for step in range(12):
        action = rng.choice(("add", "add", "delete", "restore", "update", "erase", "flush")) if step else "add"
        some = sorted(alive)
        if action == "add":
            numbers = fresh(30 if not step else rng.randint(1, 6))
            added = list(memory.add_many(said(numbers), user_id="ada"))
            number_of |= {a.id: i for a, i in zip(added, numbers, strict=True)}
            alive |= {a.id for a in added}
        elif action == "flush":
            memory.flush()
            assert_whole(memory)
        elif action == "restore":
            for memory_id in rng.sample(sorted(hidden), min(len(hidden), 2)):
                memory.restore(memory_id, user_id="ada")
                gone.discard(number_of[memory_id])
                alive.add(memory_id)
                hidden.discard(memory_id)
        else:
            for memory_id in rng.sample(some, 1 if action == "erase" else 3):
                gone.add(number_of[memory_id])
                if action == "delete":
                    memory.delete(memory_id, user_id="ada")
                    hidden.add(memory_id)
                    alive.discard(memory_id)
                elif action == "erase":
                    assert memory.erase(user_id="ada", memory_id=memory_id).found == 0
                    alive.discard(memory_id)
                else:
                    number_of[memory_id] = fresh(1)[0]
                    memory.update(memory_id, text_of(number_of[memory_id]), user_id="ada")
        assert_silent(memory, gone)
        assert memory.verify() == []
        if rng.random() < 0.4:
            memory.flush()
            assert_whole(memory)
            assert_silent(memory, gone)
    memory.flush()
    assert_whole(memory)
    assert {i for node in memory.tree(user_id="ada") if not node.level for i in node.episode_ids} == alive


def test_everything_may_be_deleted_and_come_back(open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(20)), user_id="ada")]
    memory.flush()
    assert memory.delete_all(user_id="ada") == 20
    assert all(node.stale for node in memory.tree(user_id="ada")) and summaries(memory) == []
    memory.flush()
    assert memory.tree(user_id="ada") == []
    for memory_id in ids:
        memory.restore(memory_id, user_id="ada")
    memory.flush()
    assert_whole(memory)
    assert max(node.level for node in memory.tree(user_id="ada")) >= 2


def test_a_deleted_message_is_out_of_the_tree_at_once(open_lively: Open) -> None:
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(30)), user_id="ada")]
    memory.flush()
    over = {node.id for node in memory.tree(user_id="ada") if node.level and ids[4] in node.episode_ids}
    assert over
    memory.delete(ids[4], user_id="ada")
    nodes = {node.id: node for node in memory.tree(user_id="ada")}
    assert all(ids[4] not in node.episode_ids for node in nodes.values())
    assert {node_id for node_id, node in nodes.items() if node.stale} == over & set(nodes)
    assert all(bool(node.text) != node.stale for node in nodes.values())
    assert set(nodes) >= {member for node in nodes.values() for member in node.members}


# --- determinism


def test_cutting_the_input_into_calls_changes_nothing(open_lively: Open) -> None:
    messages = [
        Message("user", text_of(i), NOW, session=f"s{i // 9}", source="a.md" if i % 4 == 3 else None) for i in range(30)
    ]
    digests = set()
    for name, batch, worker in (("one", 1, 32), ("seven", 7, 32), ("all", 64, 32), ("worker", 64, 3)):
        config = {"limits": {"max_batch": batch}, "worker": {"batch_size": worker}}
        memory = open_lively(f"{name}.db", config=config)
        if name == "one":
            for message in messages:
                memory.add(message, user_id="ada", now=NOW)
        else:
            list(memory.add_many(messages, user_id="ada", now=NOW))
        memory.flush()
        assert max(node.level for node in memory.tree(user_id="ada")) >= 2
        digests.add(memory.digest())
    assert len(digests) == 1


def test_the_digest_covers_the_hierarchy(open_lively: Open, tmp_path: Path) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(30)), user_id="ada", now=NOW))
    memory.flush()
    before = memory.digest()
    for change in (
        "UPDATE personas SET label = label + 1 WHERE level = 0 AND id = 0",
        "UPDATE links SET weight = weight / 2 WHERE level = 0",
        "UPDATE links SET cut = NOT cut",
        "UPDATE units SET text = 'x' || text WHERE kind = 'summary'",
        "DELETE FROM node_units WHERE level = 1",
    ):
        with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
            assert connection.execute(change).rowcount > 0
            connection.commit()
        after = memory.digest()
        assert after != before, change
        before = after


def test_export_and_import_carry_the_hierarchy(open_lively: Open, assert_whole: Any) -> None:
    full, empty = open_lively("full.db"), open_lively("empty.db")
    list(full.add_many(said(range(24)), user_id="ada", now=NOW))
    list(full.add_many(said(range(40, 52)), user_id="bob", agent_id="cook", now=NOW))
    full.flush()
    list(full.add_many(said(range(60, 66)), user_id="ada", now=NOW))  # still queued
    empty.add("Somebody else was here before.", user_id="cleo")
    empty.flush()
    for user in ("ada", "bob"):
        empty.import_(full.export(user_id=user))
        assert empty.digest(user_id=user) == full.digest(user_id=user)
    assert empty.verify() == []
    assert [n.text for n in empty.tree(user_id="ada")] == [n.text for n in full.tree(user_id="ada")]
    for memory in (full, empty):
        memory.delete(memory.log(user_id="ada")[3].id, user_id="ada")
        list(memory.add_many(said(range(70, 80)), user_id="ada", now=NOW))
        memory.flush()
        assert_whole(memory)
    assert empty.digest(user_id="ada") == full.digest(user_id="ada")
    assert_whole(empty, "bob", "cook")


# --- who may see what


def test_users_and_agents_have_hierarchies_of_their_own(open_lively: Open, assert_whole: Any) -> None:
    together, alone = open_lively("together.db"), open_lively("alone.db")
    for memory, scopes in ((together, (("ada", None), ("ada", "cook"), ("bob", None))), (alone, (("ada", "cook"),))):
        for user, agent in scopes:
            first = {"ada": 0, "bob": 100}[user] + 50 * (agent is not None)
            list(memory.add_many(said(range(first, first + 20)), user_id=user, agent_id=agent, now=NOW))
        memory.flush()
    trees = {}
    for user, agent in (("ada", None), ("ada", "cook"), ("bob", None)):
        assert_whole(together, user, agent)
        trees[user, agent] = together.tree(user_id=user, agent_id=agent)
        assert sum(not node.level for node in trees[user, agent]) == 20
    ids = [{node.id for node in nodes} for nodes in trees.values()]
    assert not ids[0] & ids[1] and not ids[0] & ids[2]
    assert [n.text for n in trees["ada", "cook"]] == [n.text for n in alone.tree(user_id="ada", agent_id="cook")]
    assert together.tree(user_id="bob", agent_id="cook") == together.tree(user_id="nobody") == []

    def found(**scope: Any) -> set[str]:
        return {h.text for h in together.search("sister Ana", kinds=("summary",), top_k=999, **scope)}

    texts = {key: {n.text for n in nodes if n.level} for key, nodes in trees.items()}
    assert found(user_id="ada", agent_id="cook") <= texts["ada", "cook"]
    assert found(user_id="bob") <= texts["bob", None]
    assert found(user_id="ada") & texts["ada", None] and found(user_id="ada") & texts["ada", "cook"]
    before = together.digest(user_id="bob"), together.tree(user_id="ada", agent_id="cook")
    together.delete(together.log(user_id="ada")[0].id, user_id="ada")
    together.flush()
    assert (together.digest(user_id="bob"), together.tree(user_id="ada", agent_id="cook")) == before


def test_a_run_narrows_to_what_belongs_to_it(open_lively: Open) -> None:
    """A summary is of many runs: a search within one must not show what others said."""
    memory = open_lively()
    for run in ("r1", "r2"):
        first = 0 if run == "r1" else 50
        list(memory.add_many(said(range(first, first + 20)), user_id="ada", run_id=run))
    memory.flush()
    other = {e.text for e in memory.log(user_id="ada", run_id="r2")}
    for hit in memory.search("sister Ana", user_id="ada", run_id="r1", kinds=("summary", "chunk"), top_k=999):
        assert not set(hit.text.split("\n")) & other
    assert memory.search("sister Ana", user_id="ada", kinds=("summary",))


def test_what_is_deferred_waits_until_it_is_recalled(open_memory: Open) -> None:
    memory = open_memory(config={"hierarchy": LIVELY})
    list(memory.add_many(said(range(20)), user_id="ada"))
    put_off = memory.add("haha ok", user_id="ada", now=NOW)[0]
    memory.flush()
    assert put_off.decision is not None and not put_off.decision.write

    def leaves() -> set[str]:
        return {i for node in memory.tree(user_id="ada") for i in node.episode_ids}

    assert leaves() == {e.id for e in memory.log(user_id="ada", deferred=False)}
    assert memory.search("haha ok", user_id="ada", top_k=1)[0].id == put_off.id
    assert put_off.id not in leaves()
    memory.flush()
    assert put_off.id in leaves()


def test_what_was_added_without_inference_never_goes_in(open_lively: Open) -> None:
    memory = open_lively()
    plain = memory.add(text_of(0), user_id="ada", infer=False)[0]
    list(memory.add_many(said(range(1, 15)), user_id="ada"))
    memory.search(text_of(0), user_id="ada", top_k=1)
    memory.flush()
    memory.delete(plain.id, user_id="ada")
    memory.restore(plain.id, user_id="ada")
    memory.update(plain.id, text_of(90), user_id="ada")
    memory.rebuild(user_id="ada")
    memory.flush()
    assert plain.id not in {i for node in memory.tree(user_id="ada") for i in node.episode_ids}
    assert not any(word_of(0) in text or word_of(90) in text for text in summaries(memory))


def test_as_of_and_expiry_reach_the_summaries(open_lively: Open) -> None:
    """At no time does a summary say what was said later, or what has expired."""
    memory = open_lively()
    rng = random.Random(4)
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=500)
    times: dict[str, tuple[datetime, datetime | None]] = {}
    for i in range(45):
        at = start + timedelta(days=rng.randrange(400))
        until = start + timedelta(days=600 + rng.randrange(400)) if rng.random() < 0.1 else None
        memory.add(Message("user", text_of(i), at), user_id="ada", expiration_date=until)
        times[text_of(i)] = (at, until)
        if i in (20, 35):
            memory.flush()
    memory.flush()
    shown = 0
    for day in range(0, 1050, 50):
        moment = start + timedelta(days=day)
        for hit in memory.search("sister Ana", user_id="ada", kinds=("summary",), top_k=999, as_of=moment):
            shown += 1
            for line in hit.text.split("\n"):
                at, until = times[line]
                assert at <= moment, "a summary tells what was said later"
                assert until is None, "a summary tells what is to expire"
    assert shown > 30
    with memory.parts.database.read() as connection:
        rows = connection.execute(select(units.c.expires_at).where(units.c.kind == "summary")).scalars().all()
    assert rows and not any(rows)


def test_an_expired_message_is_not_in_the_tree(open_lively: Open) -> None:
    """`expiration_date`: from then on it is in no read."""
    memory = open_lively()
    past = datetime.now(UTC) - timedelta(hours=1)
    list(memory.add_many(said(range(12)), user_id="ada"))
    memory.add(Message("user", text_of(15), NOW), user_id="ada", expiration_date=past)
    memory.flush()
    assert not any(word_of(15) in node.text for node in memory.tree(user_id="ada"))


def test_summaries_change_no_search_of_chunks(open_lively: Open) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(40)), user_id="ada"))

    def scores() -> list[Any]:
        hits = memory.search("which contract did Dr. Okafor sign?", user_id="ada", top_k=99, explain=True, now=NOW)
        return [(hit.id, hit.score, dict(hit.parts)) for hit in hits]

    before = scores()
    memory.flush()
    assert summaries(memory)
    assert scores() == before


def test_summaries_have_no_neighbours_in_time(open_lively: Open) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(60)), user_id="ada"))
    memory.flush()
    memory.search("reference", user_id="ada", kinds=("summary",))
    with memory.parts.database.read() as connection:
        index, _ = memory.parts.searcher._index(connection, "ada")
        node_of = {
            row.unit_seq: (row.level, row.number)
            for row in connection.execute(select(node_units).where(node_units.c.level > 0))
        }
    nodes = [node_of.get(seq) for seq in index.seqs.tolist()]
    for row, before in enumerate(index.previous.tolist()):
        if nodes[row] is not None and before >= 0:
            assert nodes[before] == nodes[row], "two nodes lend each other their words"


def test_finding_a_summary_recalls_none_of_its_messages(open_lively: Open) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(30)), user_id="ada"))
    memory.flush()
    assert memory.search("sister Ana", user_id="ada", kinds=("summary",))
    memory.flush()
    assert {episode.accesses for episode in memory.log(user_id="ada")} == {0}


# --- what is summarised


def words(groups: Iterable[Sequence[str]]) -> set[tuple[str, ...]]:
    return {tuple(group) for group in groups}


def test_one_call_for_each_level_and_only_for_what_changed(open_lively: Open) -> None:
    tasks = Tasks()
    memory = open_lively(tasks=tasks)
    list(memory.add_many(said(range(50)), user_id="ada"))
    memory.flush()
    settings = settings_of(memory)
    old = cam(memory).members(settings)
    assert [len(call) for call in tasks.calls] == [len(own) for own in old], "all of one level in one call"
    for first, count in ((50, 1), (51, 5), (56, 1)):
        tasks.calls.clear()
        earlier = texts_of_nodes(memory)
        old = cam(memory).members(settings)
        list(memory.add_many(said(range(first, first + count)), user_id="ada"))
        memory.flush()
        new, now = cam(memory).members(settings), texts_of_nodes(memory)
        expected, reworded = [], set[int]()
        for level, own in enumerate(new, start=1):
            before = old[level - 1] if level <= len(old) else {}
            due = {n for n, members in own.items() if before.get(n) != members or reworded & set(members)}
            expected.append(words([now[level - 1, m] for m in own[n]] for n in due))
            reworded = {n for n in due if earlier.get((level, n)) != now[level, n]}
        assert [words(call) for call in tasks.calls] == [groups for groups in expected if groups]
        assert sum(map(len, tasks.calls)) < sum(map(len, new)) / 2, "most summaries stay"


def texts_of_nodes(memory: Memory) -> dict[tuple[int, int], str]:
    query = select(node_units.c.level, node_units.c.number, units.c.text).join(
        units, units.c.seq == node_units.c.unit_seq
    )
    with memory.parts.database.read() as connection:
        rows = connection.execute(query.order_by(units.c.seq)).all()
    found: dict[tuple[int, int], list[str]] = {}
    for level, number, text in rows:
        found.setdefault((level, number), []).append(text)
    return {key: "\n".join(own) for key, own in found.items()}


def test_nothing_new_calls_nothing(open_lively: Open) -> None:
    tasks = Tasks()
    memory = open_lively(tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(30)), user_id="ada")]
    memory.flush()
    digest = memory.digest()
    tasks.calls.clear()
    assert memory.flush() == 0
    memory.add(text_of(77), user_id="ada", infer=False)
    memory.delete(memory.add(text_of(78), user_id="ada")[0].id, user_id="ada")
    memory.flush()
    assert tasks.calls == []
    assert memory.update(ids[0], text_of(0), user_id="ada")
    memory.flush()
    assert tasks.calls
    assert memory.digest() != digest


def test_messages_without_a_full_stop_are_not_run_together(open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively()
    messages = [
        Message("user", message.content.rstrip(".") + " for sure", message.timestamp) for message in said(range(45))
    ]
    list(memory.add_many(messages, user_id="ada"))
    memory.flush()
    assert max(node.level for node in memory.tree(user_id="ada")) >= 2
    assert_whole(memory)


def test_a_long_summary_is_kept_whole(open_lively: Open) -> None:
    class Wordy(Tasks):
        def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
            return [" ".join(f"Sentence {i} of {text.split()[0]} is here." for i in range(90)) for text in
                    super().summarize(groups)]  # fmt: skip

    memory = open_lively(tasks=Wordy())
    ids = [a.id for a in memory.add_many(said(range(12)), user_id="ada")]
    memory.flush()
    for node in memory.tree(user_id="ada"):
        if node.level:
            assert [f"Sentence {i} of" in node.text for i in range(90)] == [True] * 90
    assert memory.stats().units["summary"] > len([n for n in memory.tree(user_id="ada") if n.level])
    assert memory.verify() == []
    memory.delete(ids[0], user_id="ada")
    list(memory.add_many(said(range(12, 20)), user_id="ada"))
    memory.flush()
    assert memory.verify() == []
    assert not any(node.stale for node in memory.tree(user_id="ada"))


# --- failures


class Failing(Tasks):
    """Goes wrong in its call number `at`, and after that while `stuck`."""

    def __init__(self, how: str, at: int = 1) -> None:
        super().__init__()
        self.how, self.at, self.stuck = how, at, True

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        texts = super().summarize(groups)
        if len(self.calls) < self.at or not self.stuck:
            return texts
        if self.how == "raises":
            raise ModelError("the engine is out of memory")
        return {
            "too few": texts[:-1],
            "too many": [*texts, "one more"],
            "none": [],
            "empty": [*texts[:-1], ""],
            "blank": [" \n", *texts[1:]],
            "half a surrogate": ["\ud800 is no text", *texts[1:]],
        }[self.how]


@pytest.mark.parametrize(
    ("how", "at"),
    [("raises", 1), ("raises", 2), ("too few", 1), ("too many", 2), ("none", 1), ("empty", 2), ("blank", 1),
     ("half a surrogate", 2)],
)  # fmt: skip
def test_a_failure_leaves_everything_as_it_was(how: str, at: int, open_lively: Open, assert_whole: Any) -> None:
    once = {"worker": {"max_attempts": 1}}
    tasks = Failing(how, at + 100)
    memory, undisturbed = (
        open_lively("failing.db", config=once, tasks=tasks),
        open_lively("undisturbed.db", config=once),
    )
    for store in (memory, undisturbed):
        list(store.add_many(said(range(16)), user_id="ada", now=NOW))
        store.flush()
        list(store.add_many(said(range(16, 28)), user_id="ada", now=NOW))
    before = memory.tree(user_id="ada"), summaries(memory)
    tasks.calls.clear()
    tasks.at = at
    memory.flush()
    stats = memory.stats()
    assert stats.jobs_failed == 12 and stats.jobs_queued == 0
    error = (
        "ModelError: the engine"
        if how == "raises"
        else "EncodingError"
        if "surrogate" in how
        else "JobError: summarize"
    )
    assert len(stats.failures) == 1 and stats.failures[0].startswith(error)
    assert (memory.tree(user_id="ada"), summaries(memory)) == before
    assert memory.verify() == []
    assert memory.search("sister Ana", user_id="ada", kinds=("summary",))
    tasks.stuck = False
    assert memory.retry_failed() == 12
    memory.flush()
    undisturbed.flush()
    assert_whole(memory)
    assert memory.digest() == undisturbed.digest()


def test_a_failure_that_passes_is_tried_again_by_itself(open_lively: Open, assert_whole: Any) -> None:
    tasks = Tasks(before=lambda n: raise_(JobError("the server is restarting")) if n == 2 else None)
    memory = open_lively(tasks=tasks)
    list(memory.add_many(said(range(12)), user_id="ada"))
    memory.flush()
    assert_whole(memory)


def raise_(error: Exception) -> None:
    raise error


def test_a_rebuild_takes_failed_messages_along(open_lively: Open, assert_whole: Any) -> None:
    """It queues everything that was ever encoded, and so what no integration has taken in so far."""
    tasks = Failing("raises")
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    list(memory.add_many(said(range(12)), user_id="ada"))
    memory.flush()
    assert memory.stats().jobs_failed == 12
    tasks.stuck = False
    assert memory.rebuild(user_id="ada") == 12
    memory.flush()
    assert_whole(memory)


def test_drafts_spare_the_second_attempt_what_was_done(open_lively: Open, assert_whole: Any) -> None:
    tasks = Failing("raises", at=3)
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    list(memory.add_many(said(range(50)), user_id="ada"))
    memory.flush()
    first = tasks.calls[:]
    assert len(first) == 3 and memory.stats().jobs_failed == 50
    assert summaries(memory) == [], "drafts are no units"
    assert memory.search("sister Ana", user_id="ada", kinds=("summary",)) == []
    tasks.calls.clear()
    tasks.stuck = False
    memory.retry_failed()
    memory.flush()
    assert words(tasks.calls[0]) == words(first[2]), "levels 1 and 2 stand in the drafts"
    done = [group for call in first[:2] for group in map(tuple, call)]
    assert not any(tuple(group) in done for call in tasks.calls for group in call)
    assert_whole(memory)


@pytest.mark.parametrize("what", ["message", "user"])
def test_erasure_reaches_the_drafts(what: str, open_lively: Open, tmp_path: Path) -> None:
    """Summaries of an integration that failed hold the text of messages that are in no hierarchy yet."""
    tasks = Failing("raises", at=2)
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(8)), user_id="ada")]
    memory.flush()
    with memory.parts.database.read() as connection:
        kept = list(connection.execute(select(drafts.c.text)).scalars())
    target = next(i for i in range(8) if any(word_of(i) in text for text in kept))
    receipt = memory.erase(user_id="ada", memory_id=ids[target] if what == "message" else None)
    memory.close()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not any(word_of(target).encode() in path.read_bytes() for path in files)
    assert receipt.found == 0


@pytest.mark.parametrize("again", [False, True], ids=["first integration", "a later one"])
@pytest.mark.parametrize("what", ["message", "user"])
def test_what_is_erased_while_it_is_summarised_is_not_drafted(
    what: str, again: bool, open_lively: Open, tmp_path: Path
) -> None:
    """The engine answers after the erasure, and then goes down: nothing may bring the text back into the file."""
    other = open_lively()
    receipts = []

    def before(call: int) -> None:
        if call > 1:
            raise ModelError("the engine is down")
        receipts.append(other.erase(user_id="ada", memory_id=ids[-2] if what == "message" else None))

    tasks = Tasks()
    memory = open_lively(config={"worker": {"max_attempts": 1}}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(12)), user_id="ada")]
    if again:
        memory.flush()
        ids += [a.id for a in memory.add_many(said(range(12, 20)), user_id="ada")]
        tasks.calls.clear()
    tasks.before = before
    memory.flush()
    assert receipts[0].found == 0
    other.close()
    memory.close()
    gone = word_of(len(ids) - 2).encode()
    assert not any(gone in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_erasure_reaches_the_summaries(open_lively: Open, tmp_path: Path, assert_whole: Any) -> None:
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(40)), user_id="ada")]
    memory.flush()
    target = next(i for i in range(40) if sum(word_of(i) in text for text in summaries(memory)) >= 2)
    receipt = memory.erase(user_id="ada", memory_id=ids[target])
    assert receipt.found == 0 and receipt.rows["node_units"] >= 3
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not any(word_of(target).encode() in path.read_bytes() for path in files)
    memory.flush()
    assert_whole(memory)
    memory.erase(user_id="ada")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        for table in ("hierarchies", "nodes", "node_units", "personas", "links", "drafts", "jobs", "units"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


# --- other processes


EDITS: dict[str, Callable[[Memory, list[str]], object]] = {
    "update": lambda m, ids: m.update(ids[2], text_of(500), user_id="ada"),
    "update of an old one": lambda m, ids: m.update(ids[-2], text_of(500), user_id="ada"),
    "delete": lambda m, ids: m.delete(ids[2], user_id="ada"),
    "delete of a new one": lambda m, ids: m.delete(ids[-2], user_id="ada"),
    "delete all": lambda m, _: m.delete_all(user_id="ada"),
    "erase": lambda m, ids: m.erase(user_id="ada", memory_id=ids[2]),
    "erase of a new one": lambda m, ids: m.erase(user_id="ada", memory_id=ids[-2]),
    "erase the user": lambda m, _: m.erase(user_id="ada"),
    "delete and restore": lambda m, ids: (m.delete(ids[2], user_id="ada"), m.restore(ids[2], user_id="ada")),
    "add": lambda m, _: m.add(text_of(600), user_id="ada"),
    "rebuild": lambda m, _: m.rebuild(user_id="ada"),
    "erase the user, who returns": lambda m, _: (
        m.erase(user_id="ada"),
        list(m.add_many(said(range(700, 715)), user_id="ada")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("again", [False, True], ids=["first integration", "a later one"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_during_an_integration(edit: str, again: bool, open_lively: Open, assert_whole: Any) -> None:
    editing = open_lively()
    done: list[int] = []

    def change(call: int) -> None:
        if not done:
            done.append(call)
            EDITS[edit](editing, ids)

    tasks = Tasks()
    memory = open_lively(tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(16)), user_id="ada")]
    if again:
        memory.flush()
        ids += [a.id for a in memory.add_many(said(range(16, 24)), user_id="ada")]
    texts = {e.id: e.text for e in memory.log(user_id="ada")}
    tasks.before = change
    memory.flush()
    assert done
    assert_whole(memory)
    now = {e.id: e.text for e in memory.log(user_id="ada") if e.status == "active"}
    outdated = [i for i, memory_id in enumerate(ids) if now.get(memory_id) != texts[memory_id]]
    assert_silent(memory, outdated)
    nodes = memory.tree(user_id="ada")
    assert {i for node in nodes if not node.level for i in node.episode_ids} == set(now)
    reader = open_lively()
    assert reader.tree(user_id="ada") == nodes


@pytest.mark.parametrize("what", ["message", "user"])
def test_a_message_erased_before_its_batch_is_read(what: str, open_lively: Open) -> None:
    """Between taking the batch and reading its chunks another process may erase."""
    memory, other = open_lively(), open_lively()
    ids = [a.id for a in memory.add_many(said(range(3)), user_id="ada")]
    with memory.parts.database.read() as connection:
        extractions = jobs.next_batch(connection, {"extract": 10}, max_attempts=2)
    memory.parts.worker._handlers["extract"].run(extractions)
    with memory.parts.database.read() as connection:
        batch = jobs.next_batch(connection, {"integrate": 10}, max_attempts=2)
    assert len(batch) == 3
    other.erase(user_id="ada", memory_id=ids[0] if what == "message" else None)
    memory.parts.worker._handlers["integrate"].run(batch)
    memory.flush()
    assert memory.verify() == [] and memory.stats().jobs_queued == 0
    assert len(memory.tree(user_id="ada")) >= (2 if what == "message" else 0)
    assert_silent(memory, [0])


def test_another_process_may_rebuild_between_two_batches(open_lively: Open, assert_whole: Any) -> None:
    """A hierarchy that was forgotten and built anew is another one, whatever its version number."""
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(25)), user_id="ada")]
    memory.flush()
    other = open_lively()
    for memory_id in ids[:10]:
        other.delete(memory_id, user_id="ada")
    other.rebuild(user_id="ada")
    other.flush()
    assert_whole(other)
    list(memory.add_many(said(range(30, 40)), user_id="ada"))
    memory.flush()
    assert_whole(memory)
    assert_silent(memory, range(10))


def test_a_user_may_be_erased_by_another_process_and_return(open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(25)), user_id="ada"))
    memory.flush()
    other = open_lively()
    other.erase(user_id="ada")
    list(other.add_many(said(range(40, 55)), user_id="ada"))
    other.flush()
    list(memory.add_many(said(range(60, 70)), user_id="ada"))
    memory.flush()
    assert_whole(memory)
    assert_silent(memory, range(25))


def test_two_processes_take_turns(open_lively: Open, assert_whole: Any) -> None:
    one, other, alone = open_lively(), open_lively(), open_lively("alone.db")
    for turn in range(4):
        for memory in ((one, other)[turn % 2], alone):
            list(memory.add_many(said(range(8 * turn, 8 * turn + 8)), user_id="ada", now=NOW))
            memory.flush()
    assert_whole(one)
    assert one.digest() == other.digest() == alone.digest()


# --- configuration and other ways in


def test_without_levels_there_is_the_network_alone(open_lively: Open, assert_whole: Any) -> None:
    tasks = Tasks()
    memory = open_lively(hierarchy={"max_levels": 0}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(30)), user_id="ada")]
    memory.flush()
    memory.delete(ids[3], user_id="ada")
    memory.flush()
    assert_whole(memory)
    assert tasks.calls == [] and {node.level for node in memory.tree(user_id="ada")} == {0}
    assert cam(memory).levels[0].split.edge_index.shape[1] > 0


def test_levels_end_where_they_are_told(open_lively: Open, assert_whole: Any) -> None:
    for levels in (1, 2):
        memory = open_lively(f"{levels}.db", hierarchy={"max_levels": levels})
        list(memory.add_many(said(range(60)), user_id="ada"))
        memory.flush()
        assert_whole(memory)
        assert max(node.level for node in memory.tree(user_id="ada")) == levels


def test_disabled_there_is_none(open_lively: Open) -> None:
    tasks = Tasks()
    memory = open_lively(hierarchy={"enabled": False}, tasks=tasks)
    ids = [a.id for a in memory.add_many(said(range(20)), user_id="ada")]
    assert memory.flush() == 20
    memory.update(ids[0], text_of(99), user_id="ada")
    memory.delete(ids[1], user_id="ada")
    memory.flush()
    assert memory.tree(user_id="ada") == [] and tasks.calls == []
    assert memory.verify() == []


def test_disabled_a_restored_message_does_not_go_in(open_lively: Open) -> None:
    memory = open_lively(hierarchy={"enabled": False})
    ids = [a.id for a in memory.add_many(said(range(20)), user_id="ada")]
    memory.flush()
    memory.delete(ids[1], user_id="ada")
    memory.restore(ids[1], user_id="ada")
    memory.flush()
    assert memory.tree(user_id="ada") == []


def test_every_gamma_that_the_configuration_takes_works(open_lively: Open, assert_whole: Any) -> None:
    for gamma in (-1.0, -0.3, 0.0, 1.0):
        try:
            memory = open_lively(f"gamma {gamma}.db", hierarchy={"gamma": gamma, "neighbours": 30})
        except ConfigError:
            assert gamma < 0
            continue
        list(memory.add_many(said(range(20)), user_id="ada"))
        memory.add("完全不同的话题。", user_id="ada")
        memory.flush()
        assert_whole(memory)


@pytest.mark.parametrize(
    "hierarchy", [{"alpha": 0.0}, {"alpha": 1.0}, {"max_members": 3}, {"links": 1}, {"neighbours": 1}]
)
def test_extreme_settings(hierarchy: dict[str, Any], open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively(hierarchy=hierarchy)
    for first in (0, 30):
        list(memory.add_many(said(range(first, first + 18)), user_id="ada"))
        memory.flush()
        assert_whole(memory)


def test_changed_settings_work_on_from_what_is_there(open_lively: Open) -> None:
    """Another configuration may open the store: smaller clusters, fewer levels, no overlap."""
    memory = open_lively()
    list(memory.add_many(said(range(40)), user_id="ada"))
    memory.flush()
    for i, hierarchy in enumerate(({"max_members": 3}, {"max_levels": 1}, {"min_members": 4}, {"overlapping": False})):
        other = open_lively(hierarchy=hierarchy)
        ids = [a.id for a in other.add_many(said(range(100 * i + 100, 100 * i + 110)), user_id="ada")]
        other.delete(ids[0], user_id="ada")
        other.flush()
        assert other.verify() == []
        assert (other.stats().jobs_queued, other.stats().jobs_failed) == (0, 0)
        assert not any(node.stale for node in other.tree(user_id="ada"))


def test_a_long_document_goes_in_whole(open_lively: Open, assert_whole: Any) -> None:
    memory = open_lively()
    sections = [Message("document", " ".join(text_of(i) for i in range(30 * s, 30 * s + 30)), NOW, source="book.txt")
                for s in range(3)]  # fmt: skip
    list(memory.add_many(sections, user_id="ada"))
    memory.flush()
    assert_whole(memory)
    chunks = [node for node in memory.tree(user_id="ada") if not node.level]
    assert len(chunks) > 3, "a section has several chunks, each a node"
    section = memory.log(user_id="ada")[1].id
    memory.delete(section, user_id="ada")
    assert_silent(memory, range(30, 60))
    memory.flush()
    assert_whole(memory)
    assert {i for node in memory.tree(user_id="ada") for i in node.episode_ids}.isdisjoint({section})


def test_a_rebuild_is_one_batch_of_all(open_lively: Open, assert_whole: Any) -> None:
    memory, fresh = open_lively(), open_lively("fresh.db")
    for first in range(0, 32, 8):
        list(memory.add_many(said(range(first, first + 8)), user_id="ada", now=NOW))
        memory.flush()
    list(fresh.add_many(said(range(32)), user_id="ada", now=NOW))
    fresh.flush()
    assert memory.digest() != fresh.digest(), "batches arrive where one batch does not"
    assert memory.rebuild(user_id="ada") == 32
    assert memory.tree(user_id="ada") == [] and summaries(memory) == []
    memory.flush()
    assert_whole(memory)
    assert memory.digest() == fresh.digest()
    assert memory.rebuild(user_id="ada", agent_id="nobody") == 0
    memory.flush()
    assert memory.digest() == fresh.digest()


@pytest.mark.parametrize("agent", ["", " ", "a\nb"])
def test_a_malformed_agent_is_refused(agent: str, open_lively: Open) -> None:
    memory = open_lively()
    for call in (memory.tree, memory.rebuild):
        with pytest.raises(ScopeError, match="agent_id"):
            call(user_id="ada", agent_id=agent)


def test_summaries_are_as_long_as_configured(open_lively: Open) -> None:
    for limit in (20, 45):
        memory = open_lively(f"{limit}.db", hierarchy={"summary_words": limit})
        list(memory.add_many(said(range(30)), user_id="ada"))
        memory.flush()
        lengths = [word_count(node.text) for node in memory.tree(user_id="ada") if node.level]
        assert limit / 2 < max(lengths) <= limit


def test_a_metadata_filter_finds_no_summary(open_lively: Open) -> None:
    """Metadata belongs to messages; a summary is of many."""
    memory = open_lively()
    list(memory.add_many(said(range(20), metadata={"mood": "glad"}), user_id="ada"))
    memory.flush()
    found = memory.search("sister", user_id="ada", filters={"mood": "glad"}, kinds=("chunk", "summary"), top_k=99)
    assert found and {hit.unit.kind for hit in found} == {"chunk"}


def test_a_rebuild_for_a_stranger_makes_nobody(open_lively: Open) -> None:
    memory = open_lively()
    memory.add(text_of(0), user_id="ada")
    memory.flush()
    before = memory.digest(), memory.stats().users
    assert memory.rebuild(user_id="stranger") == 0
    memory.flush()
    assert (memory.digest(), memory.stats().users) == before


def test_what_one_agent_heard_is_rebuilt_alone(open_lively: Open, assert_whole: Any) -> None:
    """All of an agent's messages were deleted, and their taking out is still queued when the hierarchy is forgotten."""
    memory = open_lively()
    ids = [a.id for a in memory.add_many(said(range(10)), user_id="ada", agent_id="cook")]
    memory.flush()
    for memory_id in ids:
        memory.delete(memory_id, user_id="ada")
    assert memory.rebuild(user_id="ada", agent_id="cook") == 0
    memory.flush()
    with memory.parts.database.read() as connection:
        assert {agent for _, agent in hierarchies.all_of(connection, "ada")} <= {"cook"}
    assert memory.verify() == []


def test_reembedding_builds_anew(open_lively: Open, assert_whole: Any) -> None:
    class Other(HashEmbedder):
        @property
        def fingerprint(self) -> str:
            return "other"

        def embed(self, texts: Sequence[str]) -> Any:
            return super().embed(texts).roll(7, dims=1)

    memory = open_lively()
    list(memory.add_many(said(range(30)), user_id="ada"))
    memory.add(text_of(99), user_id="ada", infer=False)
    memory.flush()
    texts = [node.text for node in memory.tree(user_id="ada")]
    memory.close()
    again = open_lively(embedder=Other())
    assert again.reembed() > 30
    assert again.tree(user_id="ada") == []
    again.flush()
    assert_whole(again)
    assert sorted(node.text for node in again.tree(user_id="ada")) == sorted(texts), "a rotation keeps all cosines"


def test_a_batch_may_be_larger_than_a_statement(open_lively: Open) -> None:
    """More jobs than SQLite takes values in one statement."""
    memory = open_lively(hierarchy={"batch_size": 40_000, "enabled": True})
    memory.add(text_of(0), user_id="ada", now=NOW)
    memory.flush()
    key = hierarchies.hierarchy_id("ada", None)
    with memory.parts.database.write() as connection:
        rows = connection.execute(select(episodes)).mappings().all()
        hierarchies.enqueue(connection, rows)
        copy = (
            "INSERT INTO episodes SELECT seq + n, id || n, user_id, agent_id, run_id, stream_id, position + n, role, "
        )
        copy += (
            "name, session, text, text_hash, metadata, NULL, occurred_at, recorded_at, expires_at, 'deleted', write, "
        )
        copy += "decision, observation, encoded, importance, strength, accesses FROM episodes, "
        copy += "(WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 33000) SELECT n FROM c)"
        connection.exec_driver_sql(copy)
        connection.exec_driver_sql(
            f"INSERT INTO jobs SELECT seq + 10, 'ada', 'integrate', '{key}', seq, 'queued', 0, NULL FROM episodes"
            " WHERE seq > 1"
        )
    memory.flush()
    assert memory.stats().jobs_queued == 0


# --- damage


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM nodes WHERE level = 0 AND number = (SELECT min(number) FROM nodes WHERE level = 0)",
        "DELETE FROM nodes WHERE level = 1 AND number = (SELECT min(number) FROM nodes WHERE level = 1)",
        "DELETE FROM node_units WHERE level = 1 AND number = (SELECT min(number) FROM nodes WHERE level = 1)",
        "DELETE FROM personas WHERE level = 0 AND node = (SELECT min(number) FROM nodes WHERE level = 0)",
        "UPDATE links SET persona_a = 99999 WHERE level = 0 AND a = (SELECT min(a) FROM links WHERE level = 0)",
        "UPDATE links SET b = 99999 WHERE level = 0 AND a = (SELECT min(a) FROM links WHERE level = 0) "
        "AND b = (SELECT max(b) FROM links WHERE level = 0 AND a = (SELECT min(a) FROM links WHERE level = 0))",
        "UPDATE nodes SET user_id = 'bob' WHERE level = 1",
        "UPDATE units SET status = 'deleted' WHERE kind = 'summary'",
        "UPDATE personas SET user_id = 'bob' WHERE level = 0 AND id = 0",
        "UPDATE links SET user_id = 'bob' WHERE level = 0",
        "UPDATE links SET weight = -1 WHERE level = 0",
        "UPDATE personas SET node = 99999 WHERE level = 0 AND id = 0",
        "UPDATE hierarchies SET next_ids = '{}'",
    ],
)
def test_damage_to_a_hierarchy_is_found(damage: str, open_lively: Open, tmp_path: Path) -> None:
    memory = open_lively()
    list(memory.add_many(said(range(40)), user_id="ada"))
    memory.flush()
    assert memory.verify() == []
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute(damage).rowcount > 0
        connection.commit()
    assert memory.verify() != []
