"""Update, delete and restore: what they leave in the log, the history, search and the queue, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import NotFoundError
from nscma_torch.episodic.index import unit_changes
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.helpers.noting import day, held, opener, say, tell

Open = Callable[..., Memory]


@pytest.fixture
def noted(open_memory: Open, light_surprise: Any) -> Open:
    return opener(open_memory, light_surprise)


def version(memory: Memory) -> tuple[int, int]:
    with memory.components.database.read(ALL_USERS) as connection:
        return user_versions.version(connection, "ada")


def found(memory: Memory, query: str) -> list[str]:
    return [hit.text for hit in memory.search(query, user_id="ada", kinds=("chunk",), now=day(9))]


def test_an_update_replaces_the_text_its_units_and_what_it_said(noted: Open) -> None:
    memory = noted()
    key = tell(memory, "A zebra. {Ann|lives_in|Oslo}", 1)
    decision = memory.log(user_id="ada")[0].decision
    changed = memory.update(key, "A giraffe. {Ann|lives_in|Rome}", user_id="ada", now=day(2))
    assert (changed.id, changed.text, changed.decision) == (key, "A giraffe. {Ann|lives_in|Rome}", decision)
    assert not changed.encoded and memory.stats().jobs_queued >= 1
    assert found(memory, "zebra giraffe") == [changed.text]
    (_, event) = memory.history(key, user_id="ada")
    assert (event.event, event.at) == ("UPDATE", day(2))
    assert (event.old_text, event.new_text) == ("A zebra. {Ann|lives_in|Oslo}", changed.text)
    assert held(memory, now=day(3)) in ([], ["Oslo"])
    memory.flush()
    assert held(memory, now=day(3)) == ["Rome"] and memory.log(user_id="ada")[0].encoded
    assert memory.stats().jobs_queued == 0 and memory.verify() == []


def test_an_edited_message_that_nobody_read_is_not_read_for_it(noted: Open) -> None:
    memory = noted()
    (added,) = memory.add("{Ann|lives_in|Oslo}", user_id="ada", infer=False, now=day(1))
    memory.update(added.id, "{Ann|lives_in|Rome}", user_id="ada", now=day(2))
    assert memory.stats().jobs_queued == 0
    memory.flush()
    assert held(memory, now=day(3)) == []


def test_an_unknown_id_changes_nothing(noted: Open) -> None:
    memory = noted()
    key = tell(memory, "A zebra.", 1)
    before, seen = memory.digest(), version(memory)
    for user, wrong in (("ada", "no such id"), ("eve", key)):
        for deed in (memory.delete, memory.restore, lambda key, **user: memory.update(key, "new", **user)):
            with pytest.raises(NotFoundError, match="no memory with id"):
                deed(wrong, user_id=user)
    with pytest.raises(NotFoundError):
        memory.components.editor.delete("ada", [key, "no such id"], at=day(2))
    assert (memory.digest(), version(memory)) == (before, seen)


def deeds(memory: Memory, key: str) -> dict[str, tuple[Callable[[], object], bool, bool]]:
    """What is done, whether anything was written of the user, and whether what existed was changed or hidden."""
    gate = {"rule": "salience", "salience_threshold": 2.0}
    return {
        "add": (lambda: say(memory, "Another.", 2), True, False),
        "flush": (memory.flush, True, False),
        "flush of nothing": (memory.flush, False, False),
        "update": (lambda: memory.update(key, "Other.", user_id="ada"), True, True),
        "flush of the update": (memory.flush, True, False),
        "delete": (lambda: memory.delete(key, user_id="ada"), True, True),
        "delete again": (lambda: memory.delete(key, user_id="ada"), False, False),
        "restore": (lambda: memory.restore(key, user_id="ada"), True, True),
        "restore again": (lambda: memory.restore(key, user_id="ada"), False, False),
        "unhelpful": (lambda: memory.feedback(key, user_id="ada", helpful=False), True, False),
        "dry replay": (lambda: memory.replay(user_id="ada", gate=gate), False, False),
        "replay": (lambda: memory.replay(user_id="ada", gate=gate, dry_run=False), True, False),
        "erase": (lambda: memory.erase(user_id="ada", memory_id=key), True, True),
    }


def test_every_write_moves_the_version_of_its_user(noted: Open) -> None:
    """By it other processes know what they have read of the user in vain; an epoch says that nothing of it stands."""
    memory = noted()
    memory.add("Bob is here.", user_id="bob", now=day(1))
    key = say(memory, "A zebra.", 1).id
    memory.flush()
    with memory.components.database.read(ALL_USERS) as connection:
        others = user_versions.version(connection, "bob")
    for name, (deed, written, changed) in deeds(memory, key).items():
        generation, epoch = version(memory)
        deed()
        after = version(memory)
        assert (after[0] > generation, after[1] > epoch) == (written, changed), name
    with memory.components.database.read(ALL_USERS) as connection:
        assert user_versions.version(connection, "bob") == others


def test_a_store_of_other_vectors_is_read_anew(noted: Open, open_memory: Open) -> None:
    memory = noted()
    say(memory, "A zebra.", 1)
    memory.flush()
    generation, epoch = version(memory)

    class Other(HashEmbedder):
        fingerprint = "other"  # type: ignore[assignment]

    heard: list[tuple[int, int]] = []
    assert noted(embedder=Other()).reembed(progress=lambda *told: heard.append(told)) == 1
    assert heard == [(1, 1)]
    assert version(memory)[0] > generation and version(memory)[1] == epoch
    with memory.components.database.read(ALL_USERS) as connection:
        assert unit_changes.since(connection, "ada", generation) is None
