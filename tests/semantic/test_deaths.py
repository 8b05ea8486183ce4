"""The deaths of whom facts are about."""

from __future__ import annotations

import pytest

from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.graph.deaths import deaths
from nscma_torch.semantic.graph.fact_graph import FactGraph
from tests.helpers.fact_making import fact

SCHEMA = load_relations()


@pytest.mark.parametrize(
    ("relation", "state", "found"),
    [
        ("pet", "passed away", True),
        ("married_to", "died", True),
        ("pet", "ill", False),
        ("parent", "died", False),
        ("born_in", "dead", False),
    ],
)
def test_a_death_ends_what_holds_for_the_living(relation: str, state: str, found: bool) -> None:
    own, told, other = (
        fact("user", relation, "Noor", 1),
        fact("Noor", "status", state, 2),
        fact("Kim", "status", state, 2),
    )
    assert deaths([own], FactGraph([own, told, other], SCHEMA)) == ((told,) if found else ())
