"""Summaries: which are written and when, how long they are, and what they change in a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Message, Unit
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.hierarchy.store.hierarchy_schema import node_units
from nscma_torch.reading.passage import word_count
from tests.hierarchy.lively import (
    NOW,
    Open,
    Tasks,
    cam,
    said,
    summaries,
    text_of,
    words,
)


def texts_of_nodes(memory: Memory) -> dict[tuple[int, int], str]:
    query = select(node_units.c.level, node_units.c.number, units.c.text).join(
        units, units.c.seq == node_units.c.unit_seq
    )
    with memory.components.database.read(ALL_USERS) as connection:
        rows = connection.execute(query.order_by(units.c.seq)).all()
    found: dict[tuple[int, int], list[str]] = {}
    for level, number, text in rows:
        found.setdefault((level, number), []).append(text)
    return {key: "\n".join(own) for key, own in found.items()}


def test_one_call_for_each_level_and_only_for_what_changed(open_lively: Open) -> None:
    tasks = Tasks()
    memory = open_lively(tasks=tasks)
    list(memory.add_many(said(range(50)), user_id="ada"))
    memory.flush()
    old = cam(memory).members()
    assert [len(call) for call in tasks.calls] == [len(own) for own in old], "all of one level in one call"
    for first, count in ((50, 1), (51, 5), (56, 1)):
        tasks.calls.clear()
        earlier = texts_of_nodes(memory)
        old = cam(memory).members()
        list(memory.add_many(said(range(first, first + count)), user_id="ada"))
        memory.flush()
        new, now = cam(memory).members(), texts_of_nodes(memory)
        expected, reworded = [], set[int]()
        for level, own in enumerate(new, start=1):
            before = old[level - 1] if level <= len(old) else {}
            due = {n for n, members in own.items() if before.get(n) != members or reworded & set(members)}
            expected.append(words([now[level - 1, m] for m in own[n]] for n in due))
            reworded = {n for n in due if earlier.get((level, n)) != now[level, n]}
        assert [words(call) for call in tasks.calls] == [groups for groups in expected if groups]
        assert sum(map(len, tasks.calls)) < sum(map(len, new)) / 2, "most summaries stay"


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


def test_summaries_are_as_long_as_configured(open_lively: Open) -> None:
    for limit in (20, 45):
        memory = open_lively(f"{limit}.db", hierarchy={"summary_words": limit})
        list(memory.add_many(said(range(30)), user_id="ada"))
        memory.flush()
        lengths = [word_count(node.text) for node in memory.tree(user_id="ada") if node.level]
        assert limit / 2 < max(lengths) <= limit


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
    with memory.components.searcher.indexes.reading("ada") as reading:
        index = reading.index
        node_of = {
            row.unit_seq: (row.level, row.number)
            for row in reading.connection.execute(select(node_units).where(node_units.c.level > 0))
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


def test_a_metadata_filter_finds_no_summary(open_lively: Open) -> None:
    """Metadata belongs to messages; a summary is of many."""
    memory = open_lively()
    list(memory.add_many(said(range(20), metadata={"mood": "glad"}), user_id="ada"))
    memory.flush()
    found = memory.search("sister", user_id="ada", filters={"mood": "glad"}, kinds=("chunk", "summary"), top_k=99)
    assert found and {hit.unit.kind for hit in found} == {"chunk"}
