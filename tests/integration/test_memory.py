"""What `Memory` promises its users, method by method."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError, StoreClosedError
from nscma_torch.core.jobs import jobs
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.core.records import Message, Scope
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes, streams
from tests.helpers.finding import NOW, found

Open = Callable[..., Memory]


def test_what_was_added_is_found_at_once_and_after_reopening(open_memory: Open) -> None:
    memory = open_memory()
    for i in range(5):
        said = memory.add(f"Parcel {i} went to marker{i}lane.", user_id="ada")[0]
        assert said.event == "ADD" and said.decision is not None
        assert memory.search(f"marker{i}lane", user_id="ada", top_k=1)[0].id == said.id
        episode = memory.get(said.id, user_id="ada")
        assert episode is not None and episode.text == said.text and episode.decision == said.decision
    memory.close()
    again = open_memory()
    assert again.search("marker3lane", user_id="ada", top_k=1)[0].text == "Parcel 3 went to marker3lane."


def test_everything_a_message_says_is_kept(memory: Memory) -> None:
    message = Message("assistant", "Noted: Kyoto.", NOW, "Robin", "monday", metadata={"mood": "glad", "n": [1, None]})
    said = memory.add(message, user_id="ada", agent_id="cook", run_id="r1", metadata={"via": "chat", "mood": "x"})[0]
    episode = memory.get(said.id, user_id="ada")
    assert episode is not None
    assert episode.scope == Scope("ada", "cook", "r1")
    assert (episode.role, episode.name, episode.session, episode.occurred_at) == ("assistant", "Robin", "monday", NOW)
    assert episode.metadata == {"via": "chat", "mood": "glad", "n": [1, None]}, "the message's own keys win"
    unit = memory.search("Kyoto", user_id="ada")[0].unit
    assert (unit.role, unit.name, unit.session, unit.metadata) == ("assistant", "Robin", "monday", episode.metadata)
    assert unit.text == episode.text[unit.start : unit.end]


def test_a_long_message_is_kept_whole_and_found_by_its_parts(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    text = " ".join(f"Chapter {i} is about the marker{i}stone and other things." for i in range(120))
    said = memory.add(text, user_id="ada")[0]
    episode = memory.get(said.id, user_id="ada")
    assert episode is not None and episode.text == text
    for i in (0, 60, 119):
        hit = memory.search(f"marker{i}stone", user_id="ada", top_k=1)[0]
        assert hit.id == said.id
        assert f"marker{i}stone" in hit.text and len(hit.text) < len(text)
    assert memory.stats().units["chunk"] > 3
    assert memory.verify() == []


def test_a_retry_with_its_key_is_a_no_op(memory: Memory) -> None:
    first = memory.add("I moved to Porto.", user_id="ada", idempotency_key="m1")[0]
    digest = memory.digest()
    again = memory.add("I moved to Porto.", user_id="ada", idempotency_key="m1")[0]
    assert (again.event, again.id, again.decision) == ("NOOP", first.id, None)
    assert memory.digest() == digest


def test_a_batch_may_hold_known_new_and_doubled_keys(memory: Memory) -> None:
    memory.add(Message("user", "one", idempotency_key="k1"), user_id="ada")
    batch = [Message("user", text, idempotency_key=key) for text, key in
             (("one", "k1"), ("two", "k2"), ("two", "k2"), ("ok", None), ("ok", None), ("one", "k1"))]  # fmt: skip
    done = list(memory.add_many(batch, user_id="ada"))
    assert [added.event for added in done] == ["NOOP", "ADD", "NOOP", "ADD", "ADD", "NOOP"]
    assert done[1].id == done[2].id and done[0].id == done[5].id and done[3].id != done[4].id
    assert [episode.text for episode in memory.log(user_id="ada")] == ["one", "two", "ok", "ok"]
    assert [episode.position for episode in memory.log(user_id="ada")] == [0, 1, 2, 3]
    assert all(added.event == "NOOP" for added in memory.add_many(batch[:3], user_id="ada"))


def test_several_messages_share_one_key_by_their_number(memory: Memory) -> None:
    conversation = ["I moved.", {"role": "assistant", "content": "Where to?"}, "Porto."]
    assert [a.event for a in memory.add(conversation, user_id="ada", idempotency_key="c")] == ["ADD"] * 3
    assert [a.event for a in memory.add(conversation, user_id="ada", idempotency_key="c")] == ["NOOP"] * 3


def test_an_interrupted_add_many_goes_on_where_it_stopped(open_memory: Open) -> None:
    memory = open_memory(config={"limits": {"max_batch": 4}})
    messages = [Message("user", f"line {i} of the file", idempotency_key=f"file:{i}") for i in range(10)]
    started = memory.add_many(messages, user_id="ada")
    next(started)
    assert len(memory.log(user_id="ada")) == 4, "a result is given once its batch is on disk, and only then"
    done = list(memory.add_many(messages, user_id="ada"))
    assert [added.event for added in done] == ["NOOP"] * 4 + ["ADD"] * 6
    assert [episode.text for episode in memory.log(user_id="ada")] == [m.content for m in messages]


def test_scopes_narrow_a_read(memory: Memory) -> None:
    for agent, run in (("cook", "r1"), ("cook", "r2"), (None, None)):
        memory.add(f"The kettle of {agent} in {run}.", user_id="ada", agent_id=agent, run_id=run, now=NOW)
    assert len(found(memory, "kettle")) == 3
    assert len(found(memory, "kettle", agent_id="cook")) == 2
    assert found(memory, "kettle", agent_id="cook", run_id="r2") == ["The kettle of cook in r2."]
    assert found(memory, "kettle", filters={"agent_id": "cook", "run_id": "r2"}) == ["The kettle of cook in r2."]
    assert found(memory, "kettle", agent_id="nobody") == []
    got = memory.get_all(user_id="ada", filters={"agent_id": "cook", "run_id": "r1"})
    assert [episode.text for episode in got] == ["The kettle of cook in r1."]


def test_metadata_filters(memory: Memory) -> None:
    for topic, year in (("home", 2023), ("home", 2024), ("work", 2024)):
        memory.add(f"The kettle at {topic} in {year}.", user_id="ada", metadata={"topic": topic, "year": year}, now=NOW)
    memory.add("A kettle without labels.", user_id="ada", now=NOW)
    assert len(found(memory, "kettle", filters={"topic": "home"})) == 2
    assert found(memory, "kettle", filters={"topic": "home", "year": 2024}) == ["The kettle at home in 2024."]
    assert found(memory, "kettle", filters={"topic": "garden"}) == []
    assert found(memory, "kettle", filters={"year": "2024"}) == []
    got = memory.get_all(user_id="ada", filters={"year": 2024}, now=NOW)
    assert [episode.metadata["topic"] for episode in got] == ["home", "work"]
    memory.add("A kettle of no topic.", user_id="ada", metadata={"topic": None}, now=NOW)
    assert found(memory, "kettle", filters={"topic": None}) == ["A kettle of no topic."]
    got = memory.get_all(user_id="ada", filters={"topic": None}, now=NOW)
    assert [episode.text for episode in got] == ["A kettle of no topic."], "what has no topic is not of topic None"
    answer = memory.ask("the kettle at home?", user_id="ada", filters={"topic": "work"}, now=NOW)
    assert all(item.hit.unit.metadata["topic"] == "work" for item in answer.evidence)


def test_expired_messages_are_in_no_read(eager: Memory) -> None:
    said = eager.add("The voucher code is SPRING.", user_id="ada", now=NOW, expiration_date=NOW + timedelta(days=2))[0]
    eager.add("The voucher shop is in Porto.", user_id="ada", now=NOW)
    eager.flush()
    for days, there in ((0, True), (1, True), (2, False), (30, False)):
        at = NOW + timedelta(days=days)
        texts = found(eager, "voucher", now=at)
        assert ("The voucher code is SPRING." in texts) == there, days
        assert len(texts) == 1 + there
        assert len(eager.get_all(user_id="ada", now=at)) == 1 + there
        assert (eager.get(said.id, user_id="ada", now=at) is not None) == there
        facts = found(eager, "voucher SPRING", now=at, kinds=("atomic_fact",))
        assert any("SPRING" in fact for fact in facts) <= there
    assert said.id in [episode.id for episode in eager.log(user_id="ada")], "kept, though in no read"


def test_as_of_shows_the_memory_of_that_time(memory: Memory) -> None:
    for month, place in ((1, "Porto"), (4, "Kyoto"), (7, "Bergen")):
        memory.add(f"I live in {place} now.", user_id="ada", timestamp=datetime(2024, month, 1, tzinfo=UTC), now=NOW)
    assert len(found(memory, "where do I live")) == 3
    at = datetime(2024, 5, 1, tzinfo=UTC)
    assert set(found(memory, "where do I live", as_of=at)) == {"I live in Porto now.", "I live in Kyoto now."}
    assert found(memory, "where do I live", as_of=datetime(2023, 1, 1, tzinfo=UTC)) == []
    assert set(found(memory, "where do I live", as_of=at.replace(tzinfo=None))) == set(
        found(memory, "where do I live", as_of=at)
    )
    answer = memory.ask("where do I live?", user_id="ada", as_of=at)
    assert all(item.hit.occurred_at <= at for item in answer.evidence)


def test_infer_false_extracts_nothing_even_when_recalled(eager: Memory) -> None:
    said = eager.add("My sister Ana was born in Kyoto in 1984.", user_id="ada", infer=False)[0]
    assert said.decision is None
    assert eager.search("Ana", user_id="ada")[0].id == said.id
    assert eager.flush() == 0
    assert eager.stats().units == {"chunk": 1}
    assert eager.replay(user_id="ada") == (0, [])
    assert eager.get(said.id, user_id="ada").accesses == 1  # type: ignore[union-attr]


def test_a_deferred_message_is_found_and_encoded_once_it_is_recalled(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("My sister Ana was born in Kyoto in 1984.", user_id="ada")
    deferred = memory.add("haha ok", user_id="ada")[0]
    assert deferred.decision is not None and not deferred.decision.write
    memory.flush()
    log = memory.log(user_id="ada", deferred=True)
    assert [(episode.id, episode.encoded, episode.accesses) for episode in log] == [(deferred.id, False, 0)]
    hits = memory.search("haha", user_id="ada", top_k=1)
    assert [hit.id for hit in hits] == [deferred.id]
    memory.flush()
    episode = memory.get(deferred.id, user_id="ada")
    assert episode is not None and episode.encoded and episode.accesses == 1
    assert [episode.id for episode in memory.log(user_id="ada", deferred=True)] == [deferred.id], "the record stays"
    memory.search("haha", user_id="ada", top_k=1)
    memory.search("haha", user_id="ada", top_k=1)
    memory.close()
    assert open_memory().stats().recalls_queued == 2


def test_search_and_every_other_read_write_nothing(
    open_memory: Open, tmp_path: Path, contents: Callable[[Path], Any], conversation: Any
) -> None:
    memory = open_memory()
    list(memory.add_many(conversation(15, long=False), user_id="ada"))
    memory.flush()  # `ask` reads what is queued
    some = memory.log(user_id="ada")[0].id
    before, rows = memory.digest(), contents(tmp_path / "store.db")
    with memory.components.database.driver() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bytes_before = {
        path.name: path.read_bytes() for path in memory.components.database.files() if path.suffix != ".db-shm"
    }
    for _ in range(3):
        memory.search("Kyoto", user_id="ada", explain=True, kinds=("chunk", "atomic_fact"))
        memory.ask("who moved to Kyoto?", user_id="ada")
        memory.search("Kyoto", user_id="nobody")
        memory.get(some, user_id="ada")
        memory.get_all(user_id="ada")
        memory.log(user_id="ada")
        memory.history(some, user_id="ada")
        memory.replay(user_id="ada", gate={"rule": "everything"})
        memory.stats()
        memory.verify()
        list(memory.export())
    after = {path.name: path.read_bytes() for path in memory.components.database.files() if path.suffix != ".db-shm"}
    assert after == bytes_before
    assert contents(tmp_path / "store.db") == rows
    assert memory.digest() == before


def test_get_all_and_log_have_limits(memory: Memory) -> None:
    list(memory.add_many([Message("user", f"line {i}") for i in range(120)], user_id="ada"))
    assert len(memory.get_all(user_id="ada")) == 100
    assert len(memory.get_all(user_id="ada", limit=None)) == 120
    assert [e.text for e in memory.get_all(user_id="ada", limit=2)] == ["line 0", "line 1"]
    assert len(memory.log(user_id="ada")) == 120
    assert len(memory.log(user_id="ada", limit=5)) == 5


def test_stats_count(memory: Memory, conversation: Any) -> None:
    list(memory.add_many(conversation(20, long=False), user_id="ada"))
    memory.add("A note.", user_id="bob", agent_id="cook")
    memory.delete(memory.log(user_id="ada")[0].id, user_id="ada")
    everything, ada = memory.stats(), memory.stats(user_id="ada")
    assert (everything.users, everything.streams, everything.messages) == (2, 2, 21)
    assert (ada.messages, ada.deleted) == (20, 1)
    log = memory.log(user_id="ada")
    assert ada.written == sum(e.decision is not None and e.decision.write for e in log)
    assert ada.written + ada.deferred == 20
    texts = [e.text for e in log]
    again = [e for i, e in enumerate(log) if e.decision is not None and not e.decision.write and e.text in texts[:i]]
    assert ada.jobs_queued == ada.written + len(again), "what was said before is looked at too"
    assert everything.embedder == memory.components.embedder.fingerprint
    assert everything.file_bytes > 10_000
    assert {"surprise", "embedding", "sql"} <= everything.stage_seconds.keys()


def test_ask_shows_evidence_or_abstains(memory: Memory) -> None:
    memory.add("My sister Ana moved to Bergen in May 2023.", user_id="ada", now=NOW)
    answer = memory.ask("where did my sister Ana move?", user_id="ada", now=NOW)
    assert not answer.abstained and "Bergen" in answer.text
    item = answer.evidence[0]
    assert item.text == item.hit.text[item.start : item.end]
    assert memory.ask("what is the capital of Mongolia?", user_id="ada", now=NOW).abstained
    assert memory.ask("where did Ana move?", user_id="nobody", now=NOW).abstained


def test_one_add_may_hold_tens_of_thousands_of_messages(open_memory: Open, light_surprise: Any) -> None:
    """More values than SQLite takes in one statement."""
    memory = open_memory(surprise_model=light_surprise)
    messages = [Message("user", f"line {i}", idempotency_key=f"k{i}") for i in range(33_000)]
    wanted = [message for i, message in enumerate(messages) if i % 3000 == 0]
    with memory.components.database.write(ALL_USERS) as connection:
        keys = [message.idempotency_key or "" for message in messages]
        assert episodes.known_keys(connection, "ada", keys) == {}
        assert episodes.known_texts(connection, "ada", keys) == frozenset()
        assert jobs.enqueue(connection, "ada", "none", []) == 0
        assert units.load(connection, "ada", range(33_000)) == {}
        units.set_status(connection, range(33_000), "active")
        assert set(units.remove(connection, range(33_000)).values()) == {0}
    assert len(memory.add(wanted, user_id="ada")) == len(wanted)


def test_a_closed_memory_says_so_and_closes_again(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("The kettle is blue.", user_id="ada")
    memory.close()
    uses: list[Callable[[], object]] = [
        lambda: memory.add("The kettle is red.", user_id="ada"),
        lambda: memory.search("kettle", user_id="ada"),
        lambda: memory.ask("What colour is the kettle?", user_id="ada"),
        lambda: memory.flush(),
        lambda: memory.stats(),
        lambda: list(memory.export()),
        lambda: memory.reset(),
    ]
    for use in uses:
        with pytest.raises(StoreClosedError, match="is closed; open it again"):
            use()
    memory.close()
    assert open_memory().stats().messages == 1


def test_headings_of_a_document_are_not_speakers(memory: Memory) -> None:
    section = Message("document", "Rain is likely in the north.", name="Guide > The weather", source="guide.md")
    list(memory.add_many([section], user_id="ada"))
    assert memory.search("what is the weather like", user_id="ada")


def test_an_erasure_keeps_the_recalls_of_others(memory: Memory) -> None:
    for user in ("ada", "bob"):
        memory.add("My codeword is xylophone.", user_id=user)
        memory.search("xylophone", user_id=user)
    memory.erase(user_id="ada")
    memory.flush()
    assert [episode.accesses for episode in memory.log(user_id="bob")] == [1]


def test_hits_that_are_not_kept_do_not_count_as_recalled(memory: Memory) -> None:
    ids = [memory.add(f"My codeword is {word}.", user_id="ada")[0].id for word in ("xylophone", "marimba")]
    hits = memory.search("codeword", user_id="ada", keep=lambda hit: hit.id == ids[1])
    memory.flush()
    assert [hit.id for hit in hits] == [ids[1]]
    assert [episode.accesses for episode in memory.log(user_id="ada")] == [0, 1]


def test_the_log_of_some_ids_has_deleted_messages_and_none_of_another_user(memory: Memory) -> None:
    ids = [memory.add(text, user_id=user)[0].id for user, text in (("ada", "One."), ("ada", "Two."), ("bob", "Three."))]
    memory.delete(ids[0], user_id="ada")
    found = memory.log(user_id="ada", ids=[ids[2], ids[0], "unknown"])
    assert [(one.id, one.status) for one in found] == [(ids[0], "deleted")]
    assert memory.log(user_id="ada", ids=[]) == []
    with pytest.raises(InvalidInputError):
        memory.log(user_id="ada", ids=ids[0])


def test_state_of_another_surprise_model_is_made_anew(open_memory: Open, light_surprise: SurpriseModel) -> None:
    with open_memory() as memory:
        memory.add("My sister Ana was born in Kyoto in 1984.", user_id="ada")
    with (
        open_memory(surprise_model=light_surprise) as memory,
        open_memory("light.db", surprise_model=light_surprise) as fresh,
    ):
        memory.add("She moved to Bergen.", user_id="ada")
        fresh.add("My sister Ana was born in Kyoto in 1984.", user_id="ada")
        fresh.add("She moved to Bergen.", user_id="ada")
        states = []
        for store in (memory, fresh):
            with store.components.database.read(ALL_USERS) as connection:
                (stream,) = streams.of_user(connection, "ada")
                states.append((stream.proxy_fingerprint, stream.proxy_state))
    assert states[0] == states[1]


def test_a_bad_later_message_leaves_nothing(memory: Memory) -> None:
    fine = Message("user", "I am fine.", source="one.md")
    bad = Message("user", "I am not.", source="two.md", metadata={"x": object()})
    with pytest.raises(InvalidInputError):
        memory.add([fine, bad], user_id="ada")
    assert memory.stats().messages == 0
