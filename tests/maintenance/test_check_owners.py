"""An import touches nobody but the users whom it declares, whatever a crafted export claims."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.database.schema import metadata
from nscma_torch.core.errors import ForbiddenError, InvalidInputError, MalformedInputError
from nscma_torch.core.records import Scope
from nscma_torch.episodic.log import episodes, streams, turns
from nscma_torch.features.skills import rows as skills
from nscma_torch.maintenance import transfer
from tests.helpers.telling import curate, lives, tell

Open = Callable[..., Memory]
Row = dict[str, Any]
OWNERS = ("user_id", "agent_id", "run_id", "namespace", "lane", "stream_id", "hierarchy_id")


def fill(memory: Memory, user: str) -> None:
    """Rows of one user in the log, its index, the queue, a hierarchy, and the tables of facts."""
    for text in ("My bank is Evilbank.", f"{user} lives in Bonn."):
        memory.add(text, user_id=user, run_id="r", agent_id="a")
    memory.flush()
    tell(memory, f"{user} lives in Oslo.", lives(user, "Oslo", end=5), user_id=user)
    tell(memory, f"{user} lives in Rome.", lives(user, "Rome", end=5), at=2, user_id=user)
    curate(memory, at=2, user_id=user)
    message = memory.add({"role": "user", "content": "Be brief.", "metadata": {"standing": True}}, user_id=user)[0]
    memory.delete(message.id, user_id=user)
    (new,) = memory.components.indexer.units("skill", ["Bread: hunger"], [skills.origin(Scope(user), "Bread", 0)])
    with memory.components.database.write(ALL_USERS) as connection:
        streams.touch_user(connection, user, changed=True)
        skills.put(connection, Scope(user), "Bread", "hunger", ["bake"], new, 3)
    memory.add("I moved to Ghent last week.", user_id=user)


@pytest.fixture
def lines_of(open_memory: Open) -> tuple[list[Row], list[Row]]:
    """The rows of two users' exports, header first."""
    memory = open_memory("source.db")
    for user in ("bob", "mallory"):
        fill(memory, user)
    own, other = ([json.loads(line) for line in memory.export(user_id=user)] for user in ("mallory", "bob"))
    return own, other


def dumped(rows: list[Row]) -> list[str]:
    return [json.dumps({**rows[0], "rows": len(rows) - 1}), *map(json.dumps, rows[1:])]


def test_no_field_of_a_row_can_name_another_owner(open_memory: Open, lines_of: Any) -> None:
    own, other = lines_of
    target = open_memory("target.db")
    target.import_(dumped(other))
    before = target.digest()
    tried = 0
    for place, column, value in foreign_values(own, other):
        crafted = [*own[:place], {**own[place], column: value}, *own[place + 1 :]]
        with pytest.raises(InvalidInputError):
            target.import_(dumped(crafted))
        tried += 1
    assert tried > 60 and target.digest() == before and target.verify() == []
    assert target.stats().users == 1
    target.import_(dumped(own))
    assert target.verify() == [] and target.digest(user_id="bob") == before


def foreign_values(own: list[Row], other: list[Row]) -> Iterator[tuple[int, str, Any]]:
    """Place, column and value: each column of an owner in a row of each table, as the other user has it, or nobody."""
    seen = set()
    for place, row in enumerate(own[1:], start=1):
        for column in OWNERS:
            if column not in row or (row["table"], column) in seen:
                continue
            seen.add((row["table"], column))
            values = {theirs[column] for theirs in other[1:] if theirs["table"] == row["table"]}
            for value in sorted({str(value) for value in values if value} | {"nobody"}):
                if value != row[column] and not (row["table"] == "users" and value == "nobody"):
                    yield place, column, value


def test_rows_of_two_imported_users_do_not_refer_to_each_other(open_memory: Open, lines_of: Any) -> None:
    own, other = lines_of
    both = in_one(own, other)
    target = open_memory("target.db")
    numbers: dict[tuple[str, str], list[Any]] = {}
    for row in both[1:]:
        numbers.setdefault((row["table"], row["user_id"]), []).append(row)
    tried = 0
    for table in metadata.sorted_tables:
        for key in table.foreign_keys:
            rows = numbers.get((table.name, "mallory"))
            theirs = numbers.get((key.column.table.name, "bob"))
            rows = [row for row in rows or () if row[key.parent.name] is not None]
            if not rows or not theirs or key.column.name == "user_id":
                continue
            place = both.index(rows[-1])
            changed = {**both[place], key.parent.name: theirs[-1][key.column.name]}
            with pytest.raises(InvalidInputError):
                target.import_(dumped([*both[:place], changed, *both[place + 1 :]]))
            tried += 1
    assert tried > 10 and target.stats().users == 0
    target.import_(dumped(both))
    assert target.verify() == []


def in_one(one: list[Row], two: list[Row]) -> list[Row]:
    order = {table: place for place, table in enumerate(dict.fromkeys(row["table"] for row in one[1:] + two[1:]))}
    return [one[0], *sorted(one[1:] + two[1:], key=lambda row: order[row["table"]])]


def test_nobody_gets_standing_instructions_from_an_import(open_memory: Open, lines_of: Any) -> None:
    own, _ = lines_of
    target = open_memory("target.db")
    target.add("I live in Leeds.", user_id="bob")
    stolen = [row if row.get("table") == "users" else {**row, "user_id": "bob"} for row in own[1:]]
    with pytest.raises(MalformedInputError, match="line 3: a row of user 'bob', whom the export does not declare"):
        target.import_(dumped([own[0], *stolen]))
    with target.components.database.read("bob") as connection:
        assert turns.standing(connection, Scope("bob"), 2**60) == []


def test_an_import_for_one_user_holds_no_other(open_memory: Open, lines_of: Any) -> None:
    own, _ = lines_of
    target = open_memory("target.db")
    with (
        pytest.raises(ForbiddenError, match="contains user 'mallory', but only 'bob'"),
        target.components.database.write(ALL_USERS) as connection,
    ):
        transfer.import_(connection, dumped(own), user_id="bob")
    assert target.stats().users == 0


NEXT = episodes.id_of(streams.stream_id_of(Scope("carl")), 1, "user", None, "I moved to York.")  # another's next id


def end_no_fact(rows: list[Row]) -> None:
    for row in rows:
        if row.get("table") == "facts":
            row.update(valid_to=None, status="active")


DAMAGES: tuple[tuple[Callable[[list[Row]], None], str], ...] = (
    (lambda rows: rows.remove(first(rows, "postings")), "lexical index"),
    (lambda rows: rows.remove(first(rows, "unit_sources")), "no chunk"),
    (lambda rows: first(rows, "units").update(text="I live on the moon."), "not its message's text"),
    (lambda rows: first(rows, "units").update(length=1 << 40), "lexical index"),
    (lambda rows: first(rows, "streams").update(next_position=0), "beyond its next position"),
    (lambda rows: first(rows, "episodes").update(status="gone"), "status is 'gone'"),
    (lambda rows: first(rows, "episodes").update(position=1 << 70), "64 bits"),
    (lambda rows: first(rows, "episodes").update(recorded_at=1 << 62), "recorded_at"),
    (lambda rows: first(rows, "episodes").update(metadata='{"a":' * 200 + "1" + "}" * 200), "deeper than 64 levels"),
    (lambda rows: first(rows, "episodes").update(metadata='{"a": NaN}'), "JSON"),
    (lambda rows: first(rows, "episodes").update(decision='{"a": 1}'), "not a decision"),
    (lambda rows: first(rows, "vectors").update(vector="AAAAAA=="), "have 4 bytes"),
    (end_no_fact, "exclude each other"),
    (lambda rows: first(rows, "episodes").update(id=NEXT), f"message {NEXT} doesn't have the id"),
    (lambda rows: first(rows, "units").update(id=NEXT), f"unit {NEXT} doesn't have the id"),
    (lambda rows: first(rows, "statements").update(id=NEXT), f"statement {NEXT} doesn't have the id"),
    (lambda rows: first(rows, "skills").update(id=NEXT), NEXT),
)


def test_an_import_holds_nothing_that_verify_would_report(open_memory: Open, lines_of: Any) -> None:
    own, _ = lines_of
    target = open_memory("target.db")
    target.add("I live in Leeds.", user_id="carl")
    before = target.digest()
    for damage, match in DAMAGES:
        crafted = [dict(row) for row in own]
        damage(crafted)
        with pytest.raises(MalformedInputError, match=match):
            target.import_(dumped(crafted))
        assert target.digest() == before and target.stats().users == 1


def first(rows: list[Row], table: str) -> Row:
    return next(row for row in rows if row.get("table") == table)
