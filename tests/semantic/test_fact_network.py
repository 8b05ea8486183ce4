"""The facts as PyG data: the same edges as plain Python finds, at every time, and the walk over messages."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_kernels import personalized_pagerank
from nscma_torch.core.errors import MissingDependencyError
from nscma_torch.core.records import Fact
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.text.names import name_key
from tests.helpers.fact_making import day, fact

SCHEMA = load_relations()
WHO = ("Ben", "Eva", "Mia", "Olga", "Rome", "Oslo")
RELATIONS = ("lives_in", "friend", "sibling", "works_at")
DAYS = (None, 0, 3, 5, 9)


def facts_of(seed: int, count: int) -> list[Fact]:
    rng, made = random.Random(seed), []
    for i in range(count):
        since, until = rng.choice(DAYS), rng.choice(DAYS)
        made.append(
            fact(
                *(rng.choice(WHO), rng.choice(RELATIONS), rng.choice(WHO), since, until),
                status=rng.choice(("active", "active", "disputed", "archived")),
                episode_ids=tuple(f"e{rng.randrange(8)}" for _ in range(rng.choice((0, 1, 1, 3)))),
                sequence=i,
            )
        )
    return made


def told_by_hand(graph: FactGraph, held: Sequence[Fact]) -> list[tuple[str, str]]:
    """Entity and message of each fact, once for its subject and once for its object."""
    keys = (((fact.subject, fact.object), fact.episode_ids) for fact in held)
    return sorted((name_key(name), episode) for names, episodes in keys for name in names for episode in episodes)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from((0, 1, 5, 20)), st.sampled_from(DAYS), st.sampled_from(DAYS))
def test_edges_are_those_of_the_facts_that_hold(seed: int, count: int, at: int | None, today: int | None) -> None:
    as_of, now = (None if number is None else day(number) for number in (at, today))
    graph = FactGraph(facts_of(seed, count), SCHEMA, now=now)
    held = [fact for fact in graph.facts if graph.holds(fact, as_of)]
    data = graph.data(as_of)
    keys, messages = list(graph.places), list(graph.network.messages)
    told = data["entity", "told_in", "message"]
    ends = [(keys[a], messages[b]) for a, b in told.edge_index.T.tolist()]
    assert sorted(ends) == told_by_hand(graph, held)
    related = data["entity", "related_to", "entity"]
    places = {place for place, fact in enumerate(graph.facts) if fact in held}
    assert set(related.fact.tolist()) == places and set(told.fact.tolist()) <= places
    names = list(SCHEMA.relations)
    for (a, b), relation, place in zip(
        related.edge_index.T.tolist(), related.relation.tolist(), related.fact.tolist(), strict=True
    ):
        one = graph.facts[place]
        forward = (name_key(one.subject), one.relation, name_key(one.object))
        assert forward == (keys[a], names[relation], keys[b]) or forward[::2] == (keys[b], keys[a])
    assert data.validate()


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from((1, 4, 15)))
def test_the_walk_visits_messages_as_one_over_a_graph_of_names(seed: int, count: int) -> None:
    """The same scores as over nodes numbered in another order, one edge at a time."""
    graph = FactGraph(facts_of(seed, count), SCHEMA, now=day(4))
    walked = graph.network.told(None, graph.now)
    held = [fact for fact in graph.facts if graph.holds(fact)]
    nodes = sorted({node for pair in told_by_hand(graph, held) for node in pair})
    if not nodes:
        assert walked.num_edges == 0
        return
    pairs = [(nodes.index(a), nodes.index(b)) for a, b in told_by_hand(graph, held)]
    by_hand = torch.tensor(pairs + [(b, a) for a, b in pairs]).T.contiguous()
    start = torch.zeros(1, len(nodes), dtype=torch.float64)
    start[0, 0] = 1.0
    names = [*graph.places, *graph.network.messages]
    ours = torch.zeros(1, len(names), dtype=torch.float64)
    ours[0, names.index(nodes[0])] = 1.0
    expected = personalized_pagerank(by_hand, start, num_nodes=len(nodes), damping=0.5)[0]
    scores = personalized_pagerank(walked, ours, damping=0.5)[0]
    found = dict(zip(names, scores.tolist(), strict=True))
    assert [found[name] for name in nodes] == pytest.approx(expected.tolist(), abs=1e-7)
    assert all(found[name] == 0 for name in names if name not in nodes)


def test_it_is_made_once_for_all_questions() -> None:
    graph = FactGraph(facts_of(1, 9), SCHEMA)
    assert graph.at(day(1)).network is graph.at(day(9)).network is graph.network
    assert graph.data() is not graph.data() and graph.network.data is graph.network.data
    before = graph.network.data["entity", "told_in", "message"].edge_index.clone()
    graph.data(day(3))
    assert torch.equal(graph.network.data["entity", "told_in", "message"].edge_index, before), "a view changes nothing"


def test_it_is_on_the_device_of_the_graph() -> None:
    data = FactGraph(facts_of(2, 9), SCHEMA, device=lambda: "meta").network.data
    assert {value.device.type for store in data.edge_stores for value in store.values()} == {"meta"}


def test_without_pyg_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "nscma_torch.semantic.graph.fact_network", raising=False)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(MissingDependencyError, match="pip install 'torch-geometric"):
        FactGraph([], SCHEMA).data()
