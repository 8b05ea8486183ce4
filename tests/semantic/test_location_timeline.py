"""Where things are: carried, put down, given away, placed, contained."""

from __future__ import annotations

import random

import pytest

from nscma_torch.core.records import SEQUENCE_STEP, Fact
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.semantic.graph.location_timeline import LocationTimeline
from tests.helpers.fact_making import day, fact


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_relations()


def places(facts: list[Fact], schema: Schema, name: str, as_of: int | None = None) -> list[str]:
    when = None if as_of is None else day(as_of)
    return [stay.place for stay in LocationTimeline(FactGraph(facts, schema)).stays(name, when)]


def chain(facts: list[Fact], schema: Schema, name: str) -> list[str]:
    return [link.name for link in LocationTimeline(FactGraph(facts, schema)).chain(name)]


CARRIED = [
    fact("Ines", "located_in", "shed", 1, 3),
    fact("lamp", "held_by", "Ines", 2, 6),
    fact("Ines", "located_in", "attic", 3, 5),
    fact("Ines", "located_in", "porch", 5, 8),
    fact("Ines", "located_in", "cellar", 8),
]


def test_a_thing_moves_with_its_holder_and_stays_where_it_is_put_down(schema: Schema) -> None:
    assert places(CARRIED, schema, "lamp") == ["shed", "attic", "porch"]
    assert places(CARRIED, schema, "the lamp", as_of=4) == ["shed", "attic"]
    assert places(CARRIED, schema, "Ines") == ["shed", "attic", "porch", "cellar"]
    assert chain(CARRIED, schema, "lamp") == ["porch"]


def test_stays_say_since_when_and_why(schema: Schema) -> None:
    stays = LocationTimeline(FactGraph(CARRIED, schema)).stays("lamp")
    assert [stay.since for stay in stays] == [day(2), day(3), day(5)]
    assert {f.relation for f in stays[1].facts} == {"held_by", "located_in"}


def test_before_means_before_the_latest_stay(schema: Schema) -> None:
    rooms = ["hall", "shed", "hall", "attic", "hall", "porch"]
    rows = [fact("Ines", "located_in", room, i, i + 1) for i, room in enumerate(rooms)]
    where = LocationTimeline(FactGraph(rows, schema))
    found = {place: where.before("Ines", place) for place in ("hall", "porch", "shed", "cellar")}
    assert {place: stay.place if stay else None for place, stay in found.items()} == {
        "hall": "attic",
        "porch": "hall",
        "shed": "hall",
        "cellar": None,
    }
    first = where.before("Ines", "hall", day(0))
    assert first is None


def test_a_thing_that_changes_hands_goes_with_the_new_holder(schema: Schema) -> None:
    rows = [
        fact("Ines", "located_in", "attic", 1),
        fact("Otto", "located_in", "attic", 1, 5),
        fact("lamp", "held_by", "Ines", 2, 4),
        fact("lamp", "held_by", "Otto", 4),
        fact("Otto", "located_in", "barn", 5),
    ]
    assert places(rows, schema, "lamp") == ["attic", "barn"]
    assert chain(rows, schema, "lamp") == ["Otto", "barn"]


def test_what_was_placed_before_it_was_taken_moves_and_what_is_placed_while_held_is_let_go(schema: Schema) -> None:
    rows = [
        fact("lamp", "located_in", "shed", 0),
        fact("Ines", "located_in", "shed", 0, 2),
        fact("lamp", "held_by", "Ines", 1),
        fact("Ines", "located_in", "attic", 2, 4),
        fact("Ines", "located_in", "porch", 4),
    ]
    assert places(rows, schema, "lamp") == ["shed", "attic", "porch"]
    put = [*rows, fact("lamp", "located_in", "cellar", 3)]
    assert places(put, schema, "lamp") == ["shed", "attic", "cellar"]
    where_she_is = [*rows, fact("lamp", "located_in", "attic", 3)]
    assert places(where_she_is, schema, "lamp") == ["shed", "attic", "porch"]


def test_containers_and_wholes_lie_around(schema: Schema) -> None:
    rows = [
        fact("coin", "located_in", "purse", 1),
        fact("purse", "held_by", "Ines", 2),
        fact("Ines", "located_in", "attic", 3),
        fact("attic", "part_of", "old house", 0),
    ]
    assert chain(rows, schema, "coin") == ["purse", "Ines", "attic", "old house"]
    assert places(rows, schema, "attic") == ["old house"]
    circle = [fact("a", "part_of", "b", 1), fact("b", "part_of", "a", 2)]
    assert chain(circle, schema, "a") == ["b"]


def test_without_a_place_there_is_only_the_holder(schema: Schema) -> None:
    rows = [fact("lamp", "held_by", "Ines", 2)]
    assert places(rows, schema, "lamp") == []
    assert chain(rows, schema, "lamp") == ["Ines"]
    assert chain(rows, schema, "nothing") == []
    left = [fact("Ines", "located_in", "shed", 1, 4)]
    assert places(left, schema, "Ines") == ["shed"] and chain(left, schema, "Ines") == []


def test_dropped_and_gone_in_one_breath_stays_behind(schema: Schema) -> None:
    said = 3 * SEQUENCE_STEP
    rows = [
        fact("Ines", "located_in", "shed", 1, 4, sequence=SEQUENCE_STEP, ended=said),
        fact("lamp", "held_by", "Ines", 2, 4, sequence=2 * SEQUENCE_STEP, ended=said),
        fact("Ines", "located_in", "attic", 4, sequence=said + 1),
    ]
    assert chain(rows, schema, "lamp") == ["shed"]


def test_taken_and_put_down_at_one_time_is_put_down(schema: Schema) -> None:
    step = SEQUENCE_STEP
    rows = [
        fact("Ines", "located_in", "shed", 1, sequence=step),
        fact("lamp", "held_by", "Ines", 5, 5, sequence=2 * step, ended=3 * step),
    ]
    assert chain(rows, schema, "lamp") == ["shed"]
    again = [*rows, fact("lamp", "held_by", "Otto", 5, sequence=4 * step)]
    assert chain(again, schema, "lamp") == ["Otto"]


@pytest.mark.parametrize("seed", range(20))
def test_against_a_simulation_of_random_days(schema: Schema, seed: int) -> None:
    """People walk, take, drop and hand over; the timelines must be those of a world that is simulated step by step."""
    rng = random.Random(seed)
    people, things, rooms = ["Ines", "Otto", "Kaya"], ["lamp", "rope", "jar"], ["shed", "attic", "porch", "barn"]
    at: dict[str, str] = {}
    holder: dict[str, str] = {}
    lying: dict[str, str] = {}
    open_: dict[tuple[str, str], tuple[str, int]] = {}
    rows: list[Fact] = []
    expected: dict[str, list[str]] = {name: [] for name in people + things}

    def end(subject: str, relation: str, now: int) -> None:
        if (subject, relation) in open_:
            value, since = open_.pop((subject, relation))
            rows.append(fact(subject, relation, value, since, now))

    for now in range(60):
        person, thing = rng.choice(people), rng.choice(things)
        match rng.randrange(4):
            case 0 | 1:
                room = rng.choice(rooms)
                if at.get(person) != room:
                    end(person, "located_in", now)
                    open_[person, "located_in"] = (room, now)
                    at[person] = room
            case 2 if holder.get(thing) != person:
                end(thing, "held_by", now)
                open_[thing, "held_by"] = (person, now)
                holder[thing] = person
                lying.pop(thing, None)
            case 3 if thing in holder:
                end(thing, "held_by", now)
                left = holder.pop(thing)
                if left in at:
                    lying[thing] = at[left]
        for name, stays in expected.items():
            place = at.get(name) or at.get(holder.get(name, ""), lying.get(name, ""))
            if place and stays[-1:] != [place]:
                stays.append(place)
    rows += [fact(subject, relation, value, since) for (subject, relation), (value, since) in open_.items()]
    rng.shuffle(rows)
    assert {name: places(rows, schema, name) for name in expected} == expected


def test_a_circle_of_holders_ends_where_it_closes(schema: Schema) -> None:
    rows = [fact("bag", "held_by", "box", 1), fact("box", "held_by", "bag", 2), fact("bag", "located_in", "bag", 3)]
    assert chain(rows, schema, "bag") == [] and places(rows, schema, "bag") == []
    assert chain(rows[:2], schema, "bag") == ["box"] and places(rows[:2], schema, "bag") == []


def test_what_was_put_down_rests_on_all_that_says_where(schema: Schema) -> None:
    rows = [fact("lamp", "held_by", "Ines", 1, 5), fact("Ines", "held_by", "cart", 1),
            fact("cart", "located_in", "shed", 1), fact("shed", "part_of", "farm", 1)]  # fmt: skip
    (link, *more) = LocationTimeline(FactGraph(rows, schema)).chain("lamp")
    assert (link.name, link.role, link.facts) == ("shed", "place", tuple(rows[:3]))
    assert [one.name for one in more] == ["farm"]
