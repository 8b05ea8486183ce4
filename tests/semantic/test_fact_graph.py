"""The graph of facts: what holds when, walks over inverse and symmetric relations, names, the PyG view, PageRank."""

from __future__ import annotations

import pytest
import torch

from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.semantic.graph import fact_graph
from nscma_torch.semantic.graph.fact_graph import FactGraph, same, topic_key
from tests.helpers.fact_making import day, fact


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_relations()


def names(graph: FactGraph, start: str, *path: str, as_of: int | None = None, topic: str = "") -> list[str]:
    when = None if as_of is None else day(as_of)
    return [reached.name for reached in graph.walk([start], path, when, topic=topic)]


def test_walk_takes_several_steps_and_keeps_their_facts_in_order(schema: Schema) -> None:
    rows = [fact("Ben", "sibling", "Anna"), fact("Anna", "works_at", "Bosch"), fact("Ben", "works_at", "Siemens")]
    graph = FactGraph(rows, schema)
    (reached,) = graph.walk(["ben"], ["sibling", "works_at"])
    assert reached.name == "Bosch"
    assert [f.id for f in reached.facts] == [rows[0].id, rows[1].id]


def test_symmetric_and_inverse_relations_are_walked_both_ways(schema: Schema) -> None:
    graph = FactGraph([fact("Ben", "friend", "Eva"), fact("Eva", "parent", "Olga")], schema)
    assert names(graph, "Eva", "friend") == ["Ben"]
    assert names(graph, "Olga", "child") == ["Eva"]
    assert names(graph, "Olga", "child", "friend") == ["Ben"]
    assert names(graph, "Olga", "parent") == []


def test_only_what_holds_at_the_time_is_walked(schema: Schema) -> None:
    rows = [
        fact("Ben", "lives_in", "Rome", None, 10),
        fact("Ben", "lives_in", "Oslo", 10, 20),
        fact("Ben", "lives_in", "Graz", 20),
    ]
    graph = FactGraph(rows, schema)
    assert names(graph, "Ben", "lives_in") == ["Graz"]
    assert [names(graph, "Ben", "lives_in", as_of=at) for at in (0, 9, 10, 19, 20, 99)] == [
        *(["Rome"], ["Rome"]),
        *(["Oslo"], ["Oslo"]),
        *(["Graz"], ["Graz"]),
    ]


def test_now_decides_over_what_is_said_of_the_future(schema: Schema) -> None:
    rows = [fact("Ben", "works_at", "Bosch", 0, 50), fact("Ben", "works_at", "Siemens", 50)]
    assert names(FactGraph(rows, schema, now=day(30)), "Ben", "works_at") == ["Bosch"]
    assert names(FactGraph(rows, schema, now=day(60)), "Ben", "works_at") == ["Siemens"]


def test_forgotten_facts_do_not_hold_now_but_did_then(schema: Schema) -> None:
    graph = FactGraph([fact("Ben", "likes", "chess", 1, status="archived")], schema, now=day(90))
    assert names(graph, "Ben", "likes") == []
    assert names(graph, "Ben", "likes", as_of=50) == ["chess"]


def test_corrected_facts_never_held(schema: Schema) -> None:
    rows = [fact("Ben", "age", "43", 1, 1, confidence=0.0), fact("Ben", "age", "34", 1)]
    graph = FactGraph(rows, schema)
    assert [f.object for f in graph.facts] == ["34"]


def test_a_possessive_means_the_entity_and_whom_the_relation_names(schema: Schema) -> None:
    rows = [
        fact("user", "sibling", "Anna"),
        fact("Anna", "works_at", "Bosch"),
        fact("user's sister", "lives_in", "Oslo"),
        fact("user's boss", "likes", "opera"),
    ]
    graph = FactGraph(rows, schema)
    assert names(graph, "user's sister", "works_at") == ["Bosch"]
    assert names(graph, "user's sister", "lives_in") == ["Oslo"]
    assert names(graph, "user's boss", "likes") == ["opera"]
    assert names(graph, "user's sister's boss", "likes") == []


def test_a_noun_is_told_apart_where_the_facts_say_so(schema: Schema) -> None:
    rows = [
        fact("user", "sibling", "Anna", topic="sister"),
        fact("user", "sibling", "Tom", topic="brother"),
        fact("Anna", "lives_in", "Oslo"),
        fact("Tom", "lives_in", "Rome"),
    ]
    graph = FactGraph(rows, schema)
    assert names(graph, "user's brother", "lives_in") == ["Rome"]
    assert names(graph, "user's sibling", "lives_in") == ["Oslo", "Rome"]


def test_who_is_called_so_is_the_same_while_the_name_is_his_alone(schema: Schema) -> None:
    rows = [fact("user", "named", "Ben"), fact("Ben", "owns", "boat"), fact("user", "likes", "tea")]
    graph = FactGraph(rows, schema)
    assert names(graph, "user", "owns") == ["boat"]
    assert names(graph, "Ben", "likes") == ["tea"]
    two = FactGraph([*rows, fact("Eva's cat", "named", "Ben")], schema)
    assert names(two, "Ben", "likes") == []


def test_bare_and_owned_names_of_a_thing_meet_only_when_one_is_meant(schema: Schema) -> None:
    graph = FactGraph([fact("user's laptop", "color", "grey"), fact("API", "version", "2.1")], schema)
    assert names(graph, "the laptop", "color") == ["grey"]
    assert names(graph, "user's API", "version") == ["2.1"]
    two = FactGraph([fact("user's laptop", "color", "grey"), fact("Ben's laptop", "color", "red")], schema)
    assert names(two, "laptop", "color") == []


def test_topics_meet_over_spelling_and_number(schema: Schema) -> None:
    graph = FactGraph([fact("user", "favourite", "blue", topic="colour")], schema)
    assert names(graph, "user", "favourite", topic="color") == ["blue"]
    assert names(graph, "user", "favourite", topic="food") == []
    assert topic_key("Wifi passwords") == topic_key("wifi password") != topic_key("password")


def test_names_written_out_further_meet_for_people_places_and_groups_only() -> None:
    assert same("Bosch", "Bosch in Ulm", "group")
    assert not same("York", "New York", "place")
    assert not same("chocolate", "chocolate milk", "thing")
    assert same("the Milk", "milk", "thing")
    assert not same("?", "Bosch", "group"), "a name without words is the beginning of none"


def test_backwards_finds_subjects(schema: Schema) -> None:
    rows = [
        fact("Ben", "works_at", "Bosch GmbH"),
        fact("Eva", "works_at", "Bosch"),
        fact("Tom", "works_at", "Bosch", 0, 5),
    ]
    graph = FactGraph(rows, schema)
    assert {r.name for r in graph.backwards("Bosch", "works_at")} == {"Ben", "Eva"}
    assert {r.name for r in graph.backwards("Bosch", "works_at", day(3))} == {"Ben", "Eva", "Tom"}


def test_data_is_a_pyg_view_of_what_holds(schema: Schema) -> None:
    rows = [
        fact("Ben", "lives_in", "Rome", None, 10),
        fact("Ben", "lives_in", "Oslo", 10),
        fact("Ben", "sibling", "Eva"),
    ]
    graph = FactGraph(rows, schema)
    whole = graph.data()
    data = whole["entity", "related_to", "entity"]
    entities, relations = graph.entities, list(schema.relations)
    edges = {
        (entities[s], relations[r], entities[t])
        for s, t, r in zip(*data.edge_index.tolist(), data.relation.tolist(), strict=True)
    }
    assert edges == {("Ben", "lives_in", "Oslo"), ("Ben", "sibling", "Eva"), ("Eva", "sibling", "Ben")}
    assert whole["entity"].num_nodes == len(entities) == 4
    assert whole.validate()
    oslo = [graph.facts[i].object for i in data.fact.tolist()].index("Oslo")
    assert data.valid_from[oslo] == day(10).timestamp() * 10**6
    assert data.valid_to.tolist() == [torch.iinfo(torch.int64).max] * 3
    past = graph.data(day(3))["entity", "related_to", "entity"]
    assert past.edge_index.shape == (2, 3)
    rome = [graph.facts[i].object for i in past.fact.tolist()].index("Rome")
    assert past.valid_from[rome] == torch.iinfo(torch.int64).min and past.valid_to[rome] == day(10).timestamp() * 10**6
    empty = FactGraph([], schema).data()
    assert empty["entity", "related_to", "entity"].edge_index.shape == (2, 0) == (2, empty["entity"].num_nodes)


def test_views_share_what_was_computed_of_the_facts(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each view computed it again: it was copied before anything had been computed."""
    graph = FactGraph([fact("Ben", "named", "Benno"), fact("Ben", "friend", "Eva")], schema)
    keys: list[str] = []
    name_key = fact_graph.name_key
    monkeypatch.setattr(fact_graph, "name_key", lambda name: keys.append(name) or name_key(name))
    counts = []
    for _ in range(3):
        keys.clear()
        graph.at(day(2024)).resolve("Eva")
        counts.append(len(keys))
    many = FactGraph([fact(f"Person {i}", "named", f"P{i}") for i in range(50)], schema)
    keys.clear()
    many.at(day(2024)).resolve("P7")
    assert counts[0] == counts[1] == counts[2] and len(keys) < 10


def test_a_name_means_its_namesakes_too(schema: Schema) -> None:
    rows = [fact("Maria", "lives_in", "Rome"), fact("Maria (cousin)", "lives_in", "Lima")]
    graph = FactGraph([*rows, fact("user", "relative", "Maria (cousin)")], schema)
    assert names(graph, "Maria", "lives_in") == ["Rome", "Lima"]
    assert names(graph, "user's cousin", "lives_in") == ["Lima"]
