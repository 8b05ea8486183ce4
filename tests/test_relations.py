"""The relation file: what it holds, what it refuses, and that a relation is added there alone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from nscma_torch.errors import ConfigError
from nscma_torch.reading.statements import StatementReader
from nscma_torch.records import Scope, Unit
from nscma_torch.relations import Kind, load_relations

SCHEMA = load_relations()


def test_the_bundled_file_holds_the_relations_of_everyday_life() -> None:
    assert len(SCHEMA.relations) >= 40
    assert sum(bool(relation.zh.states) for relation in SCHEMA.relations.values()) >= 12
    assert {"located_in", "held_by"} <= SCHEMA.locating
    assert "lives_in" in SCHEMA
    assert SCHEMA["likes"].opposite == "dislikes"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[likes]\nmeaning = 1", "meaning"),
        ('[likes]\nmeaning = "m"\nobject = "unheard"', "unheard"),
        ('[likes]\nmeaning = "m"\ninverse = "liked_by"', "liked_by"),
        ('[likes]\nmeaning = "m"\ncolour = "red"', "colour"),
        ('[kinds.k]\nlike = "thing"\nalso = ["other"]', "other"),
        ("[likes", "TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "relations.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        load_relations(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_relations(tmp_path / "none.toml")


def test_a_new_relation_is_a_new_table(tmp_path: Path) -> None:
    path = tmp_path / "relations.toml"
    path.write_text(
        '[sponsors]\nmeaning = "pays for"\nobject = "thing"\nen.states = ["S ~sponsor O"]\n', encoding="utf-8"
    )
    unit = Unit("1", Scope("user"), "chunk", "Olu sponsors the regatta.", (), datetime(2026, 5, 14, tzinfo=UTC))
    (statement,) = StatementReader(load_relations(path)).read(unit)
    assert (statement.subject, statement.relation, statement.object) == ("Olu", "sponsors", "regatta")


@pytest.mark.parametrize(
    ("kind", "phrase", "admitted"),
    [
        (Kind(name="k", like="thing", words=("cat", "guinea pig")), "old guinea pig", True),
        (Kind(name="k", like="thing", words=("cat",)), "two cats", True),
        (Kind(name="k", like="thing", words=("cat",)), "cat food", False),
        (Kind(name="k", like="thing", words=("done",), whole=True), "half done", False),
        (Kind(name="k", like="thing", anywhere=("blue",)), "blue gate", True),
        (Kind(name="k", like="thing", endings=("ist",)), "florist", True),
        (Kind(name="k", like="thing", patterns=("[A-Z]",)), "Oslo", True),
        (Kind(name="k", like="thing", refuses=("hot dog",)), "hot dog", False),
        (Kind(name="k", like="title", words=("head",)), "head of sales", True),
    ],
)
def test_kinds_admit_by_words_endings_and_patterns(kind: Kind, phrase: str, admitted: bool) -> None:
    assert kind.admits(phrase, phrase.lower()) is admitted
