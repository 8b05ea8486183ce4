"""Update, delete, restore and delete_all: what they change, and what they leave."""

from __future__ import annotations

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError
from tests.helpers.finding import NOW, found


def test_update_after_extraction_replaces_the_facts(eager: Memory) -> None:
    said = eager.add("My sister Ana was born in Kyoto in 1984.", user_id="ada", now=NOW)[0]
    eager.flush()
    assert any("Kyoto" in text for text in found(eager, "Ana", kinds=("atomic_fact",)))
    eager.update(said.id, "My sister Ana was born in Bergen in 1985.", user_id="ada", now=NOW)
    assert found(eager, "Kyoto", kinds=("chunk", "atomic_fact")) == [
        text for text in found(eager, "Kyoto", kinds=("chunk", "atomic_fact")) if "Kyoto" not in text
    ]
    eager.flush()
    assert any("Bergen" in text for text in found(eager, "Ana", kinds=("atomic_fact",)))


def told(memory: Memory) -> list[tuple[int, str, tuple[str, ...]]]:
    """What the hierarchy says."""
    return [(node.level, node.text, node.episode_ids) for node in memory.tree(user_id="ada")]


def test_delete_hides_and_restore_brings_back(eager: Memory) -> None:
    said = eager.add("My safe code has been in the marmalade jar since May 2023.", user_id="ada", now=NOW)[0]
    eager.flush()
    assert found(eager, "marmalade", kinds=("atomic_fact",)) != []
    before, nodes = eager.digest(), told(eager)
    assert eager.delete(said.id, user_id="ada", now=NOW) is True
    assert eager.delete(said.id, user_id="ada", now=NOW) is False
    assert eager.get(said.id, user_id="ada") is None
    assert eager.get_all(user_id="ada", now=NOW) == []
    assert found(eager, "marmalade", kinds=("chunk", "atomic_fact")) == []
    assert eager.ask("where is the safe code?", user_id="ada", now=NOW).abstained
    assert [(e.id, e.status) for e in eager.log(user_id="ada")] == [(said.id, "deleted")]
    assert eager.stats(user_id="ada").deleted == 1
    assert eager.verify() == []
    assert eager.restore(said.id, user_id="ada", now=NOW) is True
    assert eager.restore(said.id, user_id="ada", now=NOW) is False
    assert eager.get(said.id, user_id="ada") is not None
    assert len(found(eager, "marmalade")) == 1
    assert found(eager, "marmalade", kinds=("atomic_fact",)) != []
    assert [event.event for event in eager.history(said.id, user_id="ada")] == ["ADD", "DELETE", "RESTORE"]
    eager.flush()
    assert told(eager) == nodes, "in the hierarchy as before, under new numbers"
    assert eager.digest() != before


def test_what_was_deleted_before_its_extraction_stays_hidden(eager: Memory) -> None:
    said = eager.add("My sister Ana was born in Kyoto in 1984.", user_id="ada", now=NOW)[0]
    assert eager.stats().jobs_queued == 1
    eager.delete(said.id, user_id="ada", now=NOW)
    eager.flush()
    assert found(eager, "Ana Kyoto", kinds=("chunk", "atomic_fact")) == []
    assert eager.stats().units == {}
    eager.restore(said.id, user_id="ada", now=NOW)
    assert len(found(eager, "Ana Kyoto", kinds=("chunk", "atomic_fact"))) >= 1


def test_an_update_of_what_was_deleted_stays_hidden(eager: Memory) -> None:
    said = eager.add("My sister Ana was born in Kyoto.", user_id="ada", now=NOW)[0]
    eager.delete(said.id, user_id="ada", now=NOW)
    eager.update(said.id, "My sister Ana was born in Bergen.", user_id="ada", now=NOW)
    assert eager.get(said.id, user_id="ada") is None
    assert found(eager, "Ana") == []
    assert eager.verify() == []


def test_delete_all_keeps_to_its_scope(memory: Memory) -> None:
    for agent, run in (("cook", "r1"), ("cook", "r2"), ("guide", "r1")):
        memory.add(f"{agent} said so in {run}", user_id="ada", agent_id=agent, run_id=run)
    memory.add("cook said so in r1", user_id="bob", agent_id="cook", run_id="r1")
    assert memory.delete_all(user_id="ada", agent_id="cook", run_id="r1") == 1
    assert memory.delete_all(user_id="ada", agent_id="cook") == 1
    assert [episode.text for episode in memory.get_all(user_id="ada")] == ["guide said so in r1"]
    assert len(memory.get_all(user_id="bob")) == 1
    assert memory.delete_all(user_id="ada") == 1


def test_metadata_and_expiry_change_without_the_text(eager: Memory) -> None:
    key = eager.add("I live in Leeds.", user_id="ana", metadata={"a": 1})[0].id
    eager.flush()
    eager.update(key, user_id="ana", metadata={"b": 2})
    assert eager.get(key, user_id="ana").metadata == {"a": 1, "b": 2}
    assert [hit.id for hit in eager.search("Leeds", user_id="ana", filters={"b": 2})] == [key]
    assert [fact.object for fact in eager.facts(user_id="ana")] == ["Leeds"]
    eager.update(key, user_id="ana", expiration_date="2020-01-01")
    eager.flush()
    assert eager.facts(user_id="ana") == eager.search("Leeds", user_id="ana") == eager.get_all(user_id="ana") == []
    assert eager.get(key, user_id="ana") is None
    assert eager.get(key, user_id="ana", expired=True).text == "I live in Leeds."
    assert [hit.id for hit in eager.search("Leeds", user_id="ana", expired=True)] == [key]
    assert [one.id for one in eager.get_all(user_id="ana", expired=True)] == [key]
    eager.update(key, user_id="ana", expiration_date=None)
    eager.flush()
    assert [fact.object for fact in eager.facts(user_id="ana")] == ["Leeds"]
    reasons = [event.reason for event in eager.history(key, user_id="ana") if event.event == "UPDATE"]
    assert reasons == [
        '{"metadata": {"a": 1}}',
        '{"expires_at": null}',
        '{"expires_at": "2020-01-01T00:00:00+00:00"}',
    ]
    assert eager.verify() == []


def test_metadata_that_was_changed_is_erased_too(eager: Memory) -> None:
    key = eager.add("I live in Leeds.", user_id="ana", metadata={"note": "the secret garden gate"})[0].id
    eager.update(key, user_id="ana", metadata={"note": "-"})
    assert "secret garden gate" in eager.history(key, user_id="ana")[-1].reason
    path = eager.components.database.path
    assert not eager.erase(user_id="ana", memory_id=key).found
    assert b"secret garden gate" not in path.read_bytes()


def test_a_condition_bounds_reads(eager: Memory) -> None:
    for number in range(5):
        eager.add(f"Tea number {number}.", user_id="ana", metadata={"n": number})
    found = eager.search("tea", user_id="ana", where=lambda one: one.metadata["n"] > 2)
    assert {hit.unit.metadata["n"] for hit in found} == {3, 4}
    assert [one.metadata["n"] for one in eager.get_all(user_id="ana", where=lambda one: one.metadata["n"] > 2)] == [
        3,
        4,
    ]
    assert eager.search("tea", user_id="ana", where=lambda _: False) == []


def test_an_update_must_change_something(eager: Memory) -> None:
    key = eager.add("I live in Leeds.", user_id="ana")[0].id
    for wrong in ({}, {"metadata": ["a"]}, {"metadata": {"a": {1}}}, {"expiration_date": "soon"}, {"text": " "}):
        with pytest.raises(InvalidInputError):
            eager.update(key, user_id="ana", **wrong)
    assert len(eager.history(key, user_id="ana")) == 1
