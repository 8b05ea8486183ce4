"""The calls of mem0's quickstart and guides, and what its users rely on in the answers."""

from __future__ import annotations

import hashlib
import inspect
from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.compat.mem0 import AsyncMemory, Memory

ALEX = {"user_id": "alex"}
TURNS = [
    {"role": "user", "content": "Hi, I'm Alex. I love basketball and gaming."},
    {"role": "assistant", "content": "Hey Alex! I'll remember your interests."},
]


def texts(answer):
    return [item["memory"] for item in answer["results"]]


def added(m, text="I moved to Porto.", **more):
    return m.add(text, **({"user_id": "alex"} | more))["results"][0]["id"]


def test_the_quickstart(m):
    results = m.add(TURNS, user_id="alex")["results"]
    assert [(one["memory"], one["event"]) for one in results] == [(turn["content"], "ADD") for turn in TURNS]
    found = m.search("What does Alex love?", filters=ALEX)["results"]
    assert found[0]["memory"] == TURNS[0]["content"]
    assert {one["id"] for one in found} <= {one["id"] for one in results}
    assert all(0 <= one["score"] <= 1 for one in found)


def test_a_chat_with_memories(m):
    """The loop of the front page: search, put the memories into a prompt, add the turn."""

    def reply(message, user_id):
        known = m.search(query=message, filters={"user_id": user_id}, top_k=3)
        prompt = "\n".join(f"- {entry['memory']}" for entry in known["results"])
        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": message}]
        messages.append({"role": "assistant", "content": "Noted."})
        m.add(messages, user_id=user_id)
        return prompt

    assert reply("My dog is called Rex.", "ana") == ""
    assert "- My dog is called Rex." in reply("What is my dog called?", "ana")
    assert "Rex" not in reply("What is my dog called?", "bob")


def test_a_memory_has_the_keys_of_mem0(m):
    one = m.add(
        [{"role": "user", "content": "I love hiking.", "name": "Alice"}],
        user_id="alice",
        agent_id="bot",
        run_id="r1",
        metadata={"category": "hobby", "tags": ["a", "b"]},
        expiration_date="2931-01-01",
        infer=False,
    )["results"][0]
    assert one == {
        "id": one["id"],
        "memory": "I love hiking.",
        "event": "ADD",
        "actor_id": "Alice",
        "role": "user",
    }
    item = m.get(one["id"])
    created = item["created_at"]
    assert datetime.fromisoformat(created).tzinfo is not None
    assert item == {
        "id": one["id"],
        "memory": "I love hiking.",
        "hash": hashlib.md5(b"I love hiking.").hexdigest(),
        "metadata": {"category": "hobby", "tags": ["a", "b"]},
        "created_at": created,
        "updated_at": created,
        "user_id": "alice",
        "agent_id": "bot",
        "run_id": "r1",
        "actor_id": "Alice",
        "role": "user",
        "expiration_date": "2931-01-01",
        "score": None,
    }
    listed = m.get_all(filters={"user_id": "alice"})["results"]
    assert listed == [{key: value for key, value in item.items() if key != "score"}]
    found = m.search("hiking", filters={"user_id": "alice"})["results"]
    assert [one | {"score": None} for one in found] == [item]


def test_what_is_absent_has_no_key(m):
    item = m.get(added(m))
    assert item["metadata"] is None
    assert not {"agent_id", "run_id", "actor_id", "expiration_date"} & item.keys()


def test_facts_are_read_at_once(m):
    one, other = m.add([{"role": "user", "content": "I live in Leeds."}, TURNS[1]], user_id="alex")["results"]
    assert [(fact["subject"], fact["relation"], fact["object"]) for fact in one["facts"]] == [
        ("user", "lives_in", "Leeds")
    ]
    assert "facts" not in other
    assert "facts" not in m.add("I live in Porto.", user_id="alex", infer=False)["results"][0]


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ({"role": "system", "content": "Be brief."}, []),
        ({"role": "assistant", "content": None, "tool_calls": [{}]}, []),
        ({"role": "user", "content": "   "}, []),
        ({"role": "user", "content": {"type": "image_url", "image_url": {"url": "x"}}}, []),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}, []),
        ({"role": "function", "content": "18 degrees"}, ["18 degrees"]),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, ["a b"]),
    ],
)
def test_which_messages_are_memories(m, message, stored):
    assert texts(m.add([message], user_id="alex", infer=False)) == stored
    assert texts(m.get_all(filters=ALEX)) == stored


def test_update_text_metadata_and_both_names_of_text(m):
    key = added(m, metadata={"a": 1, "b": 2})
    assert m.update(key, "I moved to Faro.") == {"message": "Memory updated successfully!"}
    assert m.update(memory_id=key, metadata={"b": 3}) == {"message": "Memory updated successfully!"}
    item = m.get(key)
    assert (item["memory"], item["metadata"]) == ("I moved to Faro.", {"a": 1, "b": 3})
    assert item["updated_at"] > item["created_at"]
    assert texts(m.search("Faro", filters=ALEX)) == ["I moved to Faro."]
    m.update(key, data="I moved to Braga.")
    assert m.get(key)["memory"] == "I moved to Braga."


def test_an_update_of_metadata_keeps_facts_and_says_what_was(m):
    key = added(m, "I live in Leeds.", metadata={"a": 1})
    m.update(key, metadata={"a": 2})
    assert [fact.object for fact in m.nscma.facts(user_id="alex")] == ["Leeds"]
    assert m.nscma.history(key, user_id="alex")[-1].reason == '{"metadata": {"a": 1}}'
    m.nscma.flush()
    assert m.nscma.verify() == []


def test_history(m):
    key = added(m)
    m.update(key, "I moved to Faro.")
    m.delete(key)
    rows = m.history(key)
    assert [(row["event"], row["old_memory"], row["new_memory"], row["is_deleted"]) for row in rows] == [
        ("ADD", None, "I moved to Porto.", False),
        ("UPDATE", "I moved to Porto.", "I moved to Faro.", False),
        ("DELETE", "I moved to Faro.", None, True),
    ]
    assert len({row["id"] for row in rows}) == 3
    keys = [
        "id",
        "memory_id",
        "old_memory",
        "new_memory",
        "event",
        "created_at",
        "updated_at",
        "is_deleted",
        "actor_id",
        "role",
    ]
    assert all(list(row) == keys and row["memory_id"] == key for row in rows)
    assert m.history("nobody's") == []


def test_delete(m):
    key, other = added(m), added(m, "I have a cat.")
    assert m.delete(memory_id=key) == {"message": "Memory deleted successfully!"}
    assert m.get(key) is None
    assert texts(m.get_all(filters=ALEX)) == ["I have a cat."]
    assert m.delete_all(user_id="alex") == {"message": "Memories deleted successfully!"}
    assert m.get(other) is None


def test_delete_all_of_an_agent_or_a_run(m):
    for agent, run in (("a", "1"), ("a", "2"), ("b", "1")):
        added(m, f"{agent}{run}", agent_id=agent, run_id=run)
    m.delete_all(user_id="alex", run_id="1")
    assert texts(m.get_all(filters=ALEX)) == ["a2"]


def test_reset(m):
    added(m), added(m, user_id="bob")
    assert m.reset() is None
    assert m.get_all(filters=ALEX) == m.get_all(filters={"user_id": "bob"}) == {"results": []}


def test_top_k(m):
    for number in range(25):
        added(m, f"Note number {number}.", infer=False)
    assert len(texts(m.get_all(filters=ALEX))) == len(texts(m.search("note", filters=ALEX))) == 20
    assert len(texts(m.get_all(filters=ALEX, top_k=100))) == 25
    assert len(texts(m.search("note", filters=ALEX, top_k=3))) == 3
    assert m.search("note", filters=ALEX, top_k=0) == m.get_all(filters=ALEX, top_k=0) == {"results": []}


def test_a_long_message_is_one_result(m):
    long = " ".join(f"Paragraph {number} tells of hiking in the hills of Wales." for number in range(200))
    key = added(m, long, infer=False)
    for number in range(4):
        added(m, f"I went hiking {number} times.", infer=False)
    found = m.search("hiking in Wales", filters=ALEX, top_k=5)["results"]
    assert len(found) == len({one["id"] for one in found}) == 5
    assert next(one["memory"] for one in found if one["id"] == key) == long


def test_threshold_and_explain(m):
    added(m, "I love basketball."), added(m, "The tax office closes at noon.")
    found = m.search("I love basketball.", filters=ALEX, threshold=0.8, explain=True)["results"]
    assert [one["memory"] for one in found] == ["I love basketball."]
    details = found[0]["score_details"]
    assert details["semantic_score"] > 0.9 and details["threshold"] == 0.8
    assert details["final_score"] == found[0]["score"]
    assert "score_details" not in m.search("basketball", filters=ALEX)["results"][0]
    assert len(m.search("I love basketball.", filters=ALEX, threshold=0.0)["results"]) == 2


def test_rerank(m):
    added(m, "I love basketball."), added(m, "The tax office closes at noon.")
    assert texts(m.search("Which sport do I love?", filters=ALEX, rerank=True))[0] == "I love basketball."
    first, second = m.search("Which sport do I love?", filters=ALEX, threshold=None, rerank=True)["results"]
    assert first["rerank_score"] > second["rerank_score"]
    assert len(m.search("sport", filters=ALEX, threshold=None, limit=1)["results"]) == 1
    assert len(m.get_all(filters=ALEX, limit=1)["results"]) == 1


def test_expiration(m):
    today = datetime.now(UTC).date()
    past, now, later = (
        added(m, f"Ticket {name}.", expiration_date=day)
        for name, day in (("old", today - timedelta(days=1)), ("due", today.isoformat()), ("new", "2931-01-01"))
    )
    assert texts(m.get_all(filters=ALEX)) == ["Ticket due.", "Ticket new."]
    assert set(texts(m.search("ticket", filters=ALEX))) == {"Ticket due.", "Ticket new."}
    assert len(texts(m.get_all(filters=ALEX, show_expired=True))) == 3
    assert "Ticket old." in texts(m.search("ticket", filters=ALEX, show_expired=True))
    assert m.get(past)["expiration_date"] == (today - timedelta(days=1)).isoformat()
    assert [m.get(key)["expiration_date"] for key in (now, later)] == [today.isoformat(), "2931-01-01"]


def test_an_expiration_date_is_set_and_cleared(m):
    key = added(m, "I live in Leeds.")
    m.update(key, expiration_date="2020-01-01")
    assert texts(m.search("Leeds", filters=ALEX)) == []
    m.nscma.flush()
    assert m.nscma.facts(user_id="alex") == []
    m.update(key, expiration_date=None)
    assert texts(m.search("Leeds", filters=ALEX)) == ["I live in Leeds."]
    assert "expiration_date" not in m.get(key)
    m.nscma.flush()
    assert [fact.object for fact in m.nscma.facts(user_id="alex")] == ["Leeds"]
    assert m.nscma.verify() == []


def test_when_it_was_said(m):
    one = added(m, "I live in Leeds.", timestamp=1_700_000_000)
    other = added(m, "I live in Porto.", metadata={"created_at": "2024-05-01T10:00:00+00:00", "a": 1})
    assert m.get(one)["created_at"] == "2023-11-14T22:13:20+00:00"
    assert (m.get(other)["created_at"], m.get(other)["metadata"]) == ("2024-05-01T10:00:00+00:00", {"a": 1})
    assert texts(m.search("live", filters=ALEX, reference_date="2024-04-30")) == ["I live in Leeds."]
    assert len(texts(m.search("live", filters=ALEX, reference_date="2024-05-01"))) == 2
    assert len(texts(m.search("live", filters=ALEX, reference_date=datetime(2024, 5, 1, 9, tzinfo=UTC)))) == 1


def test_procedural_memory(m):
    result = m.add(TURNS, user_id="alex", agent_id="bot", memory_type="procedural_memory")["results"]
    assert [one["memory"] for one in result] == [f"user: {TURNS[0]['content']}\nassistant: {TURNS[1]['content']}"]
    assert m.get(result[0]["id"])["metadata"] == {"memory_type": "procedural_memory"}


def test_the_asynchronous_class_has_the_same_methods():
    for name, method in inspect.getmembers(Memory, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(getattr(AsyncMemory, name)) == inspect.signature(method), name


def test_the_asynchronous_calls(m):
    import asyncio

    async def use():
        memory = AsyncMemory.over(m.nscma)
        key = (await memory.add("I moved to Porto.", user_id="alex"))["results"][0]["id"]
        await memory.update(key, "I moved to Faro.")
        found = await asyncio.gather(*(memory.search("Faro", filters=ALEX) for _ in range(4)))
        assert all(texts(one) == ["I moved to Faro."] for one in found)
        assert [row["event"] for row in await memory.history(key)] == ["ADD", "UPDATE"]
        await memory.delete_all(user_id="alex")
        assert await memory.get(key) is None
        async with memory:
            assert await memory.get_all(filters=ALEX) == {"results": []}

    asyncio.run(use())
