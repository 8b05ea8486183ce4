"""The profile: which facts it takes, in what order, and when it counts as changed."""

from __future__ import annotations

from datetime import date

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database import user_versions
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import ProfileLine, Statement
from nscma_torch.curator.profile import write_profile
from nscma_torch.curator.store import profiles
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.store import namespaces
from tests.helpers.telling import day
from tests.helpers.told import Told


def written(told: Told, at: int = 50, agent: str | None = None, **settings: int) -> tuple[int, list[ProfileLine]]:
    section, namespace = CuratorConfig(**settings), namespaces.namespace_id("ada", agent)  # type: ignore[arg-type]
    with told.memory.components.database.write(ALL_USERS) as connection:
        changed = write_profile(connection, namespace, day(at), load_relations(), section)
        return changed, profiles.lines(connection, "ada", agent)


def fill(told: Told) -> None:
    told.tell(Statement("Ben", "likes", "tea", confidence=0.9), at=1)
    told.tell(Statement("Ben", "likes", "jazz", confidence=0.8), at=1)
    told.tell(Statement("Ben", "likes", "golf", confidence=0.95), at=1)
    told.tell(Statement("Ben", "lives_in", "Oslo", confidence=0.7), at=2)
    told.tell(Statement("Ben", "favourite", "blue", "colour", confidence=0.6, valid_from=day(-9)), at=2)


def test_the_weightiest_facts_come_first_one_line_a_relation_and_topic(told: Told) -> None:
    fill(told)
    changed, lines = written(told, at=2)
    by_object = {fact.object: fact.id for fact in told.facts()}
    assert [(line.number, line.text, line.day) for line in lines] == [
        (0, "Ben likes golf, tea, jazz", date(2024, 1, 2)),
        (1, "Ben lives in Oslo", date(2024, 1, 3)),
        (2, "Ben's favourite colour is blue", date(2023, 12, 23)),
    ]
    assert lines[0].fact_ids == tuple(by_object[thing] for thing in ("golf", "tea", "jazz")) and changed == 3
    assert [line.text for line in written(told, at=2, profile_lines=2, profile_objects=1)[1]] == [
        "Ben likes golf",
        "Ben lives in Oslo",
    ]


def test_open_statements_are_left_to_search(told: Told) -> None:
    told.tell(Statement("Ben", "lives_in", "Oslo"), at=1)
    told.tell(Statement("Ben", "statement", "a hinge", "already broke"), at=1)
    assert [line.text for line in written(told)[1]] == ["Ben lives in Oslo"]


def test_what_is_counted_are_the_lines_that_changed(told: Told) -> None:
    fill(told)
    assert written(told)[0] == 3
    with told.memory.components.database.read(ALL_USERS) as connection:
        version = user_versions.version(connection, "ada")
    assert written(told)[0] == 0
    with told.memory.components.database.read(ALL_USERS) as connection:
        assert user_versions.version(connection, "ada") == version, "an unchanged profile is not written"
    assert written(told, profile_lines=1)[0] == 2, "two lines went"
    with told.memory.components.database.read(ALL_USERS) as connection:
        assert user_versions.version(connection, "ada") > version
    assert written(told)[0] == 2
    told.tell(Statement("Ben", "lives_in", "Rome"), at=40)
    assert 1 <= written(told)[0] <= 3


def test_it_is_about_those_who_speak_as_users_and_what_holds(told: Told) -> None:
    told.tell(Statement("Ben", "likes", "tea"), at=1)
    told.tell(Statement("user", "likes", "rain"), at=1, name=None)
    told.tell(Statement("Robin", "likes", "oil"), at=1, name="Robin", role="assistant")
    told.tell(Statement("Zoe", "likes", "wind"), at=1)
    told.tell(Statement("Ben", "lives_in", "Oslo", past=True, valid_from=day(-9), valid_to=day(-3)), at=1)
    told.tell(Statement("Ben", "job", "nurse", valid_from=day(90)), at=1)
    told.tell(Statement("Ben", "works_at", "Acme"), at=1)
    told.tell(Statement("Ben", "works_at", "Bolt"), at=2, name="Carl")
    told.tell(Statement("Ben", "likes", "snow"), at=1, agent="cook")
    assert {line.text for line in written(told)[1]} == {"Ben likes tea", "user likes rain"}
    assert {line.text for line in written(told, agent="cook")[1]} == {"Ben likes snow"}
    assert "Ben works as nurse" in " ".join(line.text for line in written(told, at=100)[1]).replace(" a ", " ")


def test_what_was_told_last_weighs_more(told: Told) -> None:
    told.tell(Statement("Ben", "likes", "tea"), at=1)
    told.tell(Statement("Ben", "lives_in", "Oslo"), at=30)
    assert [line.text for line in written(told)[1]] == ["Ben lives in Oslo", "Ben likes tea"]
