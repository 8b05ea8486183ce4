"""Structured records: made when a message is read, filtered by, and treated as all that is derived from a message."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, cast

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.core.records import Description, Extraction, MemoryRecord, MemoryType, Sentiment, Unit
from nscma_torch.episodic.log import episodes
from nscma_torch.maintenance import file_erasure
from nscma_torch.semantic.store import entities, namespaces
from tests.helpers.noting import EVERYTHING, NotedTasks, day, say

ON: dict[str, Any] = {**EVERYTHING, "records": {"enabled": True}}
Open = Callable[..., Memory]


class DescribingTasks(NotedTasks):
    """A message "problem Rex Lyon, negative" is that; "settled" and "settles 0" mean what they say; "bare": no record.

    What a message is about is also taken from the turn before it, where it says "the same".
    """

    result: Any = None

    def describe(
        self,
        units: Sequence[Unit],
        *,
        extractions: Sequence[Extraction],
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]],
    ) -> list[Description | None]:
        assert len(units) == len(extractions) == len(listeners)
        made = [self._described(*one) for one in zip(units, before, strict=True)]
        return self.result if self.result is not None else made

    def _described(self, unit: Unit, before: Sequence[Unit]) -> Description | None:
        words = unit.text.split()
        if "bare" in words:
            return None
        about = before[-1].text if "the same" in unit.text and before else unit.text
        tone = [one for one in ("positive", "negative", "neutral") if one in words]
        return Description(
            cast(MemoryType, words[0]),
            tuple(re.findall(r"[A-Z]\w+", about)),
            cast(Sentiment, tone[0]) if tone else None,
            "settled" in words,
            tuple(int(place) for place in re.findall(r"settles (\d)", unit.text)),
        )


@pytest.fixture
def told(open_memory: Open) -> Memory:
    return open_memory(config=ON, tasks=DescribingTasks())


def kept(memory: Memory, **wanted: Any) -> list[MemoryRecord]:
    return memory.records(user_id="ada", now=day(300), **wanted)


def shape(record: MemoryRecord) -> tuple[Any, ...]:
    return record.type, record.entities, record.sentiment, record.resolution, record.resolved_by


def rows(memory: Memory) -> list[int]:
    with closing(sqlite3.connect(memory.components.database.path)) as connection:
        names = ("memory_records", "record_entities", "record_resolutions")
        return [connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names]


def test_off_by_default(open_memory: Open) -> None:
    memory = open_memory(config=EVERYTHING, tasks=DescribingTasks())
    say(memory, "fact Rex", 1)
    memory.flush()
    assert kept(memory) == [] and rows(memory) == [0, 0, 0]
    later = open_memory(config=ON, tasks=DescribingTasks())
    assert later.reextract(user_id="ada") == 1
    later.flush()
    assert [one.type for one in kept(later)] == ["fact"]


def test_a_record_says_what_its_message_is(told: Memory) -> None:
    first = say(told, "problem Rex and Lyon and rex, negative", 1).id
    say(told, "bare words", 2)
    done = say(told, "plan Oslo settled", 3).id
    say(told, "remark settled", 4)
    told.flush()
    problem, plan, remark = kept(told)
    assert shape(problem) == ("problem", ("Rex", "Lyon"), "negative", "open", ())
    assert shape(plan) == ("plan", ("Oslo",), None, "resolved", ())
    assert shape(remark) == ("remark", (), None, "none", ()), "only questions, problems and plans are resolved"
    assert [one.episode_id for one in (problem, plan)] == [first, done]
    episode = told.get(first, user_id="ada", now=day(300))
    assert episode is not None and problem.importance == episode.importance
    assert problem.occurred_at == episode.occurred_at
    assert told.record(first, user_id="ada", now=day(300)) == problem
    assert told.record(first, user_id="bob", now=day(300)) is None
    assert told.verify() == []


def test_a_message_of_several_chunks_has_one_record(open_memory: Open) -> None:
    memory = open_memory(config={**ON, "chunker": {"max_tokens": 40}}, tasks=DescribingTasks())
    plain, rich = f"remark Rex settles 0 {'so ' * 25}.", "\n\nevent I moved to Lyon on 3 May 2023, remember that."
    say(memory, "question", 1)
    say(memory, plain + rich, 1)
    memory.flush()
    _, record = kept(memory)
    assert record.type == "event" and set(record.entities) >= {"Lyon", "Rex"} and record.entities[0] != "Rex"
    assert kept(memory)[0].resolution == "resolved"


def test_a_later_message_settles_an_earlier_one(told: Memory) -> None:
    asked = say(told, "question Rex", 1).id
    say(told, "remark", 1)
    answered = say(told, "fact settles 0", 1).id
    told.flush()
    assert shape(kept(told)[0]) == ("question", ("Rex",), None, "resolved", (answered,))
    told.delete(answered, user_id="ada", now=day(2))
    assert shape(kept(told)[0])[3:] == ("open", ())
    told.restore(answered, user_id="ada", now=day(3))
    assert shape(kept(told)[0])[3:] == ("resolved", (answered,))
    assert told.records(user_id="ada", record={"resolution": "open"}, now=day(300)) == []
    told.update(answered, "fact after all", user_id="ada", now=day(4))
    told.flush()
    assert shape(kept(told)[0])[3:] == ("open", ())
    assert told.erase(user_id="ada", memory_id=asked).found == 0
    assert told.verify() == []


def test_what_is_no_matter_is_not_settled(told: Memory) -> None:
    say(told, "remark", 1)
    say(told, "fact settles 0", 1)
    told.flush()
    assert shape(kept(told)[0])[3:] == ("none", ())


def test_search_finds_only_what_fits(told: Memory) -> None:
    for text in ("question Rex barks positive", "plan Rex barks negative", "fact Rex barks", "bare Rex barks"):
        say(told, text, 1)
    told.flush()

    def found(**record: Any) -> set[str]:
        hits = told.search("barks", user_id="ada", record=record or None, now=day(300))
        return {hit.text.split()[0] for hit in hits}

    assert found() == {"question", "plan", "fact", "bare"}
    assert found(type="plan") == {"plan"}
    assert found(type=["plan", "fact"]) == {"plan", "fact"}
    assert found(sentiment="positive") == {"question"}
    assert found(resolution="open") == {"question", "plan"}
    assert found(resolution="none") == {"fact"}
    assert found(type="plan", sentiment="positive") == set()
    assert found(entity="the rex") == {"question", "plan", "fact"} and found(entity="Max") == set()
    assert found(importance=1.0) == set() and found(importance=0.0) == {"question", "plan", "fact"}
    text = told.ask("barks", user_id="ada", record={"type": "fact"}, now=day(300)).text
    assert "fact Rex" in text and "plan" not in text


def test_facts_are_not_asked_within_a_record(told: Memory) -> None:
    say(told, "fact {Ann|lives_in|Oslo}", 1)
    told.flush()
    assert told.ask("Where does Ann live?", user_id="ada", now=day(300)).facts
    assert not told.ask("Where does Ann live?", user_id="ada", record={"type": "plan"}, now=day(300)).facts


def test_as_of_then_it_was_open(told: Memory) -> None:
    say(told, "question barks", 1)
    say(told, "fact settles 0", 1.5)
    told.flush()

    def open_ones(at: float) -> int:
        return len(told.search("barks", user_id="ada", record={"resolution": "open"}, as_of=day(at)))

    assert (open_ones(1.2), open_ones(1.6)) == (1, 0)


def test_an_entity_has_all_names_that_were_merged(told: Memory) -> None:
    say(told, "fact {Ann|lives_in|Oslo} and {Annie|lives_in|Oslo}", 1)
    say(told, "event Annie", 2)
    told.flush()
    assert len(kept(told, record={"entity": "Ann"})) == 1
    with told.components.database.write(ALL_USERS) as connection:
        entities.set_canonical(connection, namespaces.namespace_id("ada", None), {"annie": "ann"})
    assert len(kept(told, record={"entity": "Ann"})) == 2 == len(kept(told, record={"entity": "annie"}))


def test_records_are_of_a_scope_and_live(told: Memory) -> None:
    told.add("fact Rex", user_id="ada", agent_id="cook", timestamp=day(1), now=day(1))
    told.add("fact Rex", user_id="bob", timestamp=day(1), now=day(1))
    told.add("fact Max", user_id="ada", timestamp=day(1), expiration_date=day(9), now=day(1))
    told.flush()
    assert [one.scope.agent_id for one in kept(told)] == ["cook"], "one of ada's has expired"
    assert len(told.records(user_id="ada", now=day(2))) == 2 == len(told.records(user_id="ada", now=day(2), limit=2))
    assert len(told.records(user_id="ada", now=day(2), limit=1)) == 1
    assert told.records(user_id="ada", agent_id="butler", now=day(2)) == []
    assert [one.scope.user_id for one in told.records(user_id="bob", now=day(2))] == ["bob"]


def test_what_was_edited_or_erased_is_in_no_record(told: Memory) -> None:
    named = say(told, "fact Zanzibar", 1).id
    say(told, "event the same", 1)
    say(told, "remark", 1)
    told.flush()
    assert [one.entities for one in kept(told)] == [("Zanzibar",), ("Zanzibar",), ()]
    before = told.digest()
    told.update(named, "fact Madagascar", user_id="ada", now=day(2))
    assert len(kept(told)) == 2, "its own record went at once"
    told.flush()
    assert [one.entities for one in kept(told)] == [("Madagascar",), ("Madagascar",), ()]
    assert told.digest() != before
    receipt = told.erase(user_id="ada", memory_id=named)
    assert receipt.found == 0 and receipt.rows["memory_records"] == 1 == receipt.rows["record_entities"]
    assert kept(told) == [], "both were read with it, and wait to be read again"
    told.flush()
    assert [one.entities for one in kept(told)] == [(), ()]
    assert told.verify() == []


def test_reading_again_without_records_leaves_none_that_is_stale(open_memory: Open) -> None:
    first = open_memory(config=ON, tasks=DescribingTasks())
    say(first, "fact Rex", 1)
    first.flush()
    off = open_memory(config=EVERYTHING, tasks=DescribingTasks())
    off.reextract(user_id="ada")
    off.flush()
    assert rows(off) == [0, 0, 0]


def test_a_user_is_erased_with_records(told: Memory) -> None:
    say(told, "question Zanzibar", 1)
    say(told, "fact settles 0", 1)
    told.flush()
    assert rows(told) == [2, 1, 1]
    receipt = told.erase(user_id="ada")
    assert receipt.found == 0 and receipt.rows["record_resolutions"] == 1 and rows(told) == [0, 0, 0]


def test_what_far_messages_settle_goes_too(told: Memory) -> None:
    asked = say(told, "question", 1).id
    for _ in range(4):
        say(told, "remark", 1)
    told.flush()
    with closing(sqlite3.connect(told.components.database.path)) as connection:
        connection.execute("INSERT INTO record_resolutions SELECT min(seq), max(seq), 'ada' FROM episodes")
        connection.commit()
    assert told.erase(user_id="ada", memory_id=asked).rows["record_resolutions"] == 1
    assert told.verify() == []


def test_names_of_records_are_among_the_texts_that_erasing_searches_for(open_memory: Open) -> None:
    tasks = DescribingTasks()
    memory = open_memory(config=ON, tasks=tasks)
    tasks.result = [Description("fact", ("Republic of Zanzibar", "Dar es Salaam"))]
    key = say(memory, "fact that no name stands in", 1).id
    memory.flush()
    names = {"Republic of Zanzibar", "republic of zanzibar", "Dar es Salaam", "dar es salaam"}
    database = memory.components.database
    assert file_erasure.remaining(database, ["Republic of Zanzibar"], [])[1] == 0, "a record keeps it"
    with database.write(ALL_USERS) as connection:
        assert names <= set(file_erasure.texts_of_user(connection, "ada"))
        assert not names & set(file_erasure.texts_of_user(connection, "bob"))
        seq, _ = episodes.require(connection, "ada", key)
        assert names <= set(file_erasure.delete_episode(connection, seq).texts)


def test_export_and_digest_cover_them(told: Memory, open_memory: Open) -> None:
    say(told, "question Zanzibar, positive", 1)
    say(told, "fact settles 0", 1)
    told.flush()
    other = open_memory("other.db", config=ON, tasks=DescribingTasks())
    say(other, "plan shifts the row numbers of what is imported", 1, user_id="bob")
    other.import_(told.export())
    assert kept(other) == kept(told)
    assert other.digest(user_id="ada") == told.digest(user_id="ada") and other.verify() == []
    seen = {told.digest(user_id="ada")}
    for change in (
        "UPDATE memory_records SET type = 'plan' WHERE type = 'question'",
        "UPDATE memory_records SET sentiment = 'neutral'",
        "UPDATE record_entities SET name = 'zanzibar'",
        "DELETE FROM record_resolutions",
    ):
        with closing(sqlite3.connect(told.components.database.path)) as connection:
            connection.execute(change)
            connection.commit()
        seen.add(told.digest(user_id="ada"))
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE memory_records SET type = 'whim'", "unknown type, sentiment or resolution"),
        ("UPDATE memory_records SET sentiment = 'glad'", "unknown type, sentiment or resolution"),
        ("UPDATE memory_records SET resolution = 'none'", "is a question with the resolution 'none'"),
        ("UPDATE memory_records SET type = 'fact'", "is a fact with the resolution 'open'"),
        ("UPDATE record_entities SET key = 'x'", "has the wrong key 'x'"),
        ("DELETE FROM memory_records", "has record entities but no record"),
        ("UPDATE record_resolutions SET by_seq = episode_seq", "settles a message that is not before it"),
        ("UPDATE memory_records SET user_id = 'bob'", "memory_records belongs to a different user than its message"),
        (
            "UPDATE record_resolutions SET user_id = 'bob'",
            "record_resolutions belongs to a different user than its message",
        ),
    ],
)
def test_verify_finds_damage(told: Memory, damage: str, said: str) -> None:
    say(told, "question Rex", 1)
    say(told, "bare settles 0", 1)
    told.flush()
    with closing(sqlite3.connect(told.components.database.path)) as connection:
        connection.execute("INSERT INTO record_resolutions SELECT min(seq), max(seq), 'ada' FROM episodes")
        connection.execute(damage)
        connection.commit()
    assert any(said in problem for problem in told.verify())


@pytest.mark.parametrize(
    "result",
    [
        [],
        [Description(cast(MemoryType, "whim"))],
        [Description("fact", sentiment=cast(Sentiment, "glad"))],
        [Description("fact", settles=(0,))],
        [Description("fact", settles=(-1,))],
        [Description("fact", (" ",))],
    ],
)
def test_what_tasks_may_not_return_fails_the_job_and_changes_nothing(open_memory: Open, result: Any) -> None:
    tasks = DescribingTasks()
    memory = open_memory(config=ON, tasks=tasks)
    say(memory, "fact {Ben|lives_in|Oslo}", 1)
    tasks.result = result
    memory.flush()
    assert memory.stats().jobs_failed == 1 and "describe" in memory.stats().failures[0]
    assert kept(memory) == [] and memory.facts(user_id="ada") == []
    tasks.result = None
    memory.retry_failed()
    memory.flush()
    assert len(kept(memory)) == 1


def test_tasks_that_cannot_describe_are_refused_by_name(open_memory: Open) -> None:
    memory = open_memory(config=ON, tasks=NotedTasks())
    with pytest.raises(ConfigError, match=r"records\.enabled needs .*RecordTasks.*NotedTasks doesn't"):
        memory.flush()


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kind": "plan"},
        {"type": "whim"},
        {"type": []},
        {"resolution": ["open", "shut"]},
        {"entity": " "},
        {"entity": 3},
        {"importance": 2},
        {"importance": "high"},
        "plan",
    ],
)
def test_a_filter_that_is_none_is_refused(told: Memory, record: Any) -> None:
    for ask in (told.records, lambda **more: told.search("x", **more)):
        with pytest.raises(InvalidInputError):
            ask(user_id="ada", record=record)
