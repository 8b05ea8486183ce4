"""The notation of forms and the reading of verb groups."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.reading import statement_forms
from nscma_torch.reading.statement_forms import Form, compile_forms, read_verb, verb_stems, verbs_of
from nscma_torch.reading.statements import StatementReader
from nscma_torch.records import Scope, Unit
from nscma_torch.relations import Relation, Schema, Wordings, load_relations


def form(source: str) -> Form:
    relation = Relation(name="r", meaning="m", en=Wordings(states=(source,)))
    kinds = {name: {"name": name, "like": name} for name in ("person", "any", "thing")}
    (compiled,) = compile_forms(Schema.model_validate({"relations": {"r": relation}, "kinds": kinds}))
    return compiled


def slots(source: str, clause: str) -> dict[str, str] | None:
    match = form(source).pattern.match(f" {clause}")
    return (
        None if match is None else {name: text for name, text in match.groupdict().items() if text and name != "verb"}
    )


@pytest.mark.parametrize(
    ("source", "clause", "expected"),
    [
        ("S ~move from R to O", "Anna has moved from Rome to Oslo", {"S": "Anna", "R": "Rome", "O": "Oslo"}),
        ("S ~(live|reside) in O", "Anna is residing in Oslo", {"S": "Anna", "O": "Oslo"}),
        ("S ~have [an|a] O", "Anna has a cat", {"S": "Anna", "O": "cat"}),
        ("S boss ~be O", "my boss is Olu", {"S": "my", "O": "Olu"}),
        ("S ~be [_] glad", "Anna is rather glad", {"S": "Anna"}),
        ("(cost|price) of S ~be O", "price of bread is 3", {"S": "bread", "O": "3"}),
        (
            "S ~go from R T to O T",
            "we went from three cats to four cats",
            {"S": "we", "R": "three", "T": "cats", "O": "four"},
        ),
        ("A ~put S on O", "the old man put tea on the table", {"S": "tea", "O": "the table"}),
        ("S ~move to O", "Anna moved from Rome", None),
        ("S ~be [_] glad", "Anna is not my glad", None),
    ],
)
def test_notation(source: str, clause: str, expected: dict[str, str] | None) -> None:
    assert slots(source, clause) == expected


def test_needs_are_words_that_every_match_has() -> None:
    assert form("S ~move [back] (to|into) O").needs[0] >= {"moves", "moved", "moving"}
    assert frozenset({"to", "into"}) in form("S ~move [back] (to|into) O").needs


@pytest.mark.parametrize(
    ("group", "verb", "negated", "tense"),
    [
        ("lives", "live", False, "tells"),
        ("live", "live", False, "holds"),
        ("lived", "live", False, "past"),
        ("has lived", "live", False, "happened"),
        ("no longer lives", "live", True, "tells"),
        ("do not live", "live", True, "holds"),
        ("used to live", "live", False, "used"),
        ("will live", "live", False, "ahead"),
        ("broke up", "break", False, "past"),
        ("has put down", "put", False, "happened"),
        ("quit", "quit", False, "tells"),
        ("was", "be", False, "past"),
    ],
)
def test_verb_groups(group: str, verb: str, negated: bool, tense: str) -> None:
    found = read_verb(group, (verb,))
    assert (found.negated, found.tense) == (negated, tense)


def test_every_form_of_the_bundled_file_compiles() -> None:
    forms = compile_forms(load_relations())
    assert {"moved", "lives", "quit"} <= verbs_of(forms)
    assert all(verb_stems(one) or "~" not in one.source or one.cjk for one in forms)


def test_a_pattern_is_compiled_when_a_clause_has_what_its_form_needs() -> None:
    schema = load_relations()
    statement_forms._pattern.cache_clear()
    reader = StatementReader(schema)
    assert statement_forms._pattern.cache_info().misses == 0
    said = Unit("u", Scope("ana"), "chunk", "I moved from Bonn to Porto.", (), datetime(2026, 3, 5, tzinfo=UTC), "user")
    assert [statement.object for statement in reader.read(said)] == ["Porto"]
    assert 0 < statement_forms._pattern.cache_info().misses < 200, "of more than a thousand forms"
