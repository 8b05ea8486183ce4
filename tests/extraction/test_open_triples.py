"""Triples with predicates of their own: <head; relation; tail>, Structural Memory section 3.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Statement
from nscma_torch.extraction.open_triples import opened
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.relations import Schema, load_relations, open_schema
from nscma_torch.semantic.triples import sentence
from tests.helpers.noting import day, opener, tell
from tests.llm.scripted import ScriptedEngine, data_of, extraction, statement, unit

Open = Callable[..., Memory]


@pytest.mark.parametrize(
    ("said", "triple"),
    [
        (Statement("Ann", "lives_in", "Oslo"), ("Ann", "lives in", "Oslo")),
        (Statement("Ann", "manager", "Bob"), ("Ann", "manager", "Bob")),
        (Statement("Ann", "favourite", "blue", topic="color"), ("Ann", "favourite color", "blue")),
        (Statement("Ann", "parent", "Bob"), ("Bob", "is a parent of", "Ann")),
        (Statement("Ann", "parent", "", negated=True), ("Ann", "parent", "")),
        (Statement("Ann", "sibling", "Bob"), ("Ann", "sibling", "Bob")),
        (Statement("Ann", "count", "two", topic="cats"), ("Ann", "count cats", "two")),
        (Statement("小明", "lives_in", "成都"), ("小明", "住在", "成都")),
        (Statement("bakery", "statement", "2007", topic="founded in"), ("bakery", "founded in", "2007")),
    ],
)
def test_the_wording_of_a_relation_is_its_predicate(said: Statement, triple: tuple[str, str, str]) -> None:
    schema = load_relations()
    found = opened(said, schema)
    assert (found.subject, found.topic, found.object) == triple and schema[found.relation].open
    assert (found.negated, found.start, found.end) == (said.negated, said.start, said.end)


def test_every_relation_can_be_opened() -> None:
    schema = load_relations()
    for name in schema.relations:
        found = opened(Statement("Ann", name, "Oslo", topic="thing"), schema)
        assert schema[found.relation].open and {found.subject, found.object} == {"Ann", "Oslo"}
        assert found.topic and "{" not in found.topic and sentence(found, schema).count(found.topic) == 1


def test_nothing_conflicts_and_units_are_open(open_memory: Open, light_surprise: Any) -> None:
    facts = {"units": ["triple"], "predicates": "open"}
    memory = opener(open_memory, light_surprise)("open.db", {"facts": facts})
    tell(memory, "{Ann|lives_in|Oslo}", 1)
    tell(memory, "{Ann|lives_in|Rome}", 2)
    tell(memory, "{Ann|manager|Bob}", 3)
    found = {(fact.relation, fact.topic, fact.object, fact.status) for fact in memory.facts(user_id="ada")}
    assert found == {
        ("statement", "lives in", "Oslo", "active"),
        ("statement", "lives in", "Rome", "active"),
        ("statement", "manager", "Bob", "active"),
    }
    hits = memory.search("Ann Oslo Rome Bob", user_id="ada", kinds=("triple",), now=day(9))
    assert {hit.text for hit in hits} == {"Ann lives in Oslo", "Ann lives in Rome", "Ann manager Bob"}
    assert memory.verify() == []


def test_a_language_model_is_shown_no_list_of_relations() -> None:
    read = statement("Moneybomb", "statement", "2007", topic="coined in")
    engine = ScriptedEngine(lambda _: extraction(read))
    tasks = PromptedTasks(engine, relations=open_schema(load_relations()))
    (found,) = tasks.extract([unit("Moneybomb is a neologism coined in 2007.")], listeners=[""])
    assert [(s.subject, s.relation, s.topic, s.object) for s in found.statements] == [
        ("Moneybomb", "statement", "coined in", "2007")
    ]
    (request,) = engine.batches[0]
    assert "lives_in" not in request.turns[0].content and "- statement:" in request.turns[0].content
    assert data_of(request.turns)["sentences"]


def test_a_schema_without_an_open_relation_is_refused() -> None:
    schema = load_relations()
    closed = Schema(relations={"likes": schema["likes"].model_copy(update={"opposite": ""})}, kinds=schema.kinds)
    with pytest.raises(ConfigError, match="open = true"):
        open_schema(closed)
