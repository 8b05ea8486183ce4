"""The relation file: what it holds, what it refuses, and that a relation is added there alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from nscma_torch import Memory
from nscma_torch.core.errors import ConfigError
from nscma_torch.reading.relations import load_relations

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
        ('[kinds.k]\nlike = "thing"\nalso = ["other"]', "also"),
        ('[likes]\nmeaning = "m"\nen.states = ["S ~like O"]', "states: no such key; delete it"),
        ("[likes", "not a valid relations file"),
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
        '[sponsors]\nmeaning = "pays for an event"\nobject = "thing"\nen.template = "{subject} sponsors {object}"\n',
        encoding="utf-8",
    )
    config = {"facts": {"relations": str(path)}, "hierarchy": {"enabled": False}, "gate": {"rule": "everything"}}
    with Memory(tmp_path / "m.db", config=config) as memory:
        memory.add("Olu sponsors the regatta.", user_id="ada")
        memory.flush()
        (fact,) = memory.facts(user_id="ada")
    assert (fact.subject, fact.relation, fact.object) == ("Olu", "sponsors", "regatta")
