"""Several exports go into one store; what does not belong together is refused. See also test_digest, test_bad_input."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import InvalidInputError, MalformedInputError, NotFoundError
from nscma_torch.core.records import Scope
from nscma_torch.curator.store import profiles
from nscma_torch.features.skills import rows as skills
from nscma_torch.semantic.store import decisions, facts
from tests.helpers.telling import curate, fill, lives, marked, micros, tell

Open = Callable[..., Memory]


def test_users_of_several_stores_come_together(open_memory: Open, conversation: Any) -> None:
    one, two, both = (open_memory(f"{name}.db") for name in ("one", "two", "both"))
    list(one.add_many(conversation(10, seed=1, long=False), user_id="ada"))
    list(two.add_many(conversation(10, seed=2, long=False), user_id="bob"))
    one.flush()
    both.import_(one.export())
    both.import_(two.export())
    assert both.digest(user_id="ada") == one.digest(user_id="ada")
    assert both.digest(user_id="bob") == two.digest(user_id="bob")
    assert both.verify() == []
    for memory in (both, two):
        memory.flush()
    assert both.digest(user_id="bob") == two.digest(user_id="bob")
    with pytest.raises(InvalidInputError, match="already contains user 'bob'"):
        both.import_(two.export())


def test_a_returning_user_is_read_anew(open_memory: Open) -> None:
    """Imported counters must not look like those of an index that is still in memory."""
    memory = open_memory()
    memory.add("My lucky number is seven.", user_id="ada")
    other = open_memory("other.db")
    other.add("My lucky number is eight.", user_id="ada")
    memory.search("lucky number", user_id="ada")
    memory.erase(user_id="ada")
    memory.import_(other.export())
    assert [hit.text for hit in memory.search("lucky number", user_id="ada")] == ["My lucky number is eight."]


def test_the_lines_are_json_with_a_header(memory: Memory) -> None:
    memory.add("蓝色 lantern", user_id="ada")
    lines = [json.loads(line) for line in memory.export()]
    assert lines[0]["format"] == "nscma-export"
    assert [line["table"] for line in lines[1:]][:2] == ["users", "streams"]
    assert any("蓝色" in line for line in memory.export()), "readable, not escaped"
    with pytest.raises(NotFoundError, match="nothing to export"):
        list(memory.export(user_id="nobody"))


def test_a_part_of_an_export_is_none(open_memory: Open) -> None:
    full, empty = open_memory("full.db"), open_memory("empty.db")
    fill(full)
    lines = list(full.export())
    assert json.loads(lines[0])["rows"] == len(lines) - 1
    for cut in (1, 2, len(lines) // 2, len(lines) - 1):
        with pytest.raises(MalformedInputError):
            empty.import_(lines[:cut])
        assert empty.stats().users == 0
    with pytest.raises(MalformedInputError, match=f"{len(lines) - 2} of its {len(lines) - 1} rows: it was truncated"):
        empty.import_(lines[:-1])
    with pytest.raises(MalformedInputError, match="does not give the number of rows"):
        empty.import_([lines[0].replace('"rows"', '"lines"'), *lines[1:]])
    with pytest.raises(MalformedInputError, match="read_with_summaries in the header"):
        empty.import_([lines[0].replace('"read_with_summaries": false', '"read_with_summaries": 0'), *lines[1:]])
    own = list(full.export(user_id="ada"))
    assert json.loads(own[0])["rows"] == len(own) - 1 == empty.import_(own)


def test_progress_counts_rows(memory: Memory, open_memory: Open) -> None:
    memory.add("note", user_id="ada")
    seen: list[int] = []
    total = open_memory("other.db").import_(memory.export(), progress=seen.append)
    assert seen == list(range(1, total + 1))
    assert open_memory("third.db").import_([*memory.export(), "", "  "]) == total, "blank lines are passed over"


def test_facts_come_along_with_their_past(open_memory: Open) -> None:
    full, empty, shifted = (open_memory(f"{name}.db") for name in ("full", "empty", "shifted"))
    fill(full)
    full.add("Row numbers are others here.", user_id="carl")
    tell(shifted, "Carol lives in Bonn.", lives("Carol", "Bonn"), user_id="carol")
    curate(shifted, user_id="carol")
    lines = list(full.export())
    for other in (empty, shifted):
        other.import_(lines)
        assert other.verify() == []
        assert other.digest(user_id="ada") == full.digest(user_id="ada")
        assert past(other) == past(full)
        assert marked(other) == marked(full) != []
    assert empty.digest() == full.digest()
    for memory in (full, shifted):
        curate(memory, at=9)
    assert past(shifted) == past(full) != past(empty)


def past(memory: Memory) -> list[object]:
    """What was ever believed and decided of ada."""
    with memory.components.database.read(ALL_USERS) as connection:
        believed = [
            facts.select_facts(connection, Scope("ada"), known_at=micros(n), statuses=("active", "archived"))
            for n in range(10)
        ]
        lines = profiles.of_scope(connection, Scope("ada"))
        log = decisions.select_decisions(connection, Scope("ada"))
        return [believed, log, lines, skills.select_skills(connection, Scope("ada"))]


@pytest.mark.parametrize("table", ["statements", "facts", "decisions"])
def test_numbers_of_rows_that_are_not_there(table: str, open_memory: Open) -> None:
    full = open_memory("full.db")
    fill(full)
    lines = [line for line in full.export() if f'"table": "{table}"' not in line or "annie" not in line]
    # nothing refers to a decision
    said = "it was truncated" if table == "decisions" else f"of {table}, which does not exist"
    with pytest.raises(MalformedInputError, match=said):
        open_memory("other.db").import_(lines)


def test_the_zone_of_a_message_survives(open_memory: Open) -> None:
    memory, other = open_memory(), open_memory("other.db")
    said = "2026-03-05T00:30:00+09:00"
    memory.add("I moved to Porto yesterday.", user_id="ada", timestamp=said)  # type: ignore[arg-type]
    lines = list(memory.export())
    other.import_(lines)
    assert other.digest() == memory.digest()
    for each in (memory, other):
        (episode,), (hit,) = each.log(user_id="ada"), each.search("Porto", user_id="ada")
        assert episode.occurred_at.isoformat() == hit.unit.occurred_at.isoformat() == said
    for wrong in ("86400", '"east"'):
        bad = [line.replace('"utc_offset": 32400', f'"utc_offset": {wrong}') for line in lines]
        with pytest.raises(MalformedInputError, match="utc_offset"):
            open_memory(f"{wrong[:2]}.db".replace('"', "q")).import_(bad)
