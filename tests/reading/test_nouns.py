"""Number of English nouns, and the relations that they name."""

from __future__ import annotations

import pytest

from nscma_torch.reading.nouns import narrowing, plural, relations_by_noun, singular
from nscma_torch.reading.relations import load_relations

PAIRS = [
    *(("sister", "sisters"), ("child", "children"), ("allergy", "allergies"), ("boss", "bosses"), ("wife", "wives")),
    *(("boy", "boys"), ("box", "boxes"), ("best friend", "best friends"), ("wifi password", "wifi passwords")),
]


@pytest.mark.parametrize(("one", "many"), PAIRS)
def test_number(one: str, many: str) -> None:
    assert plural(one) == many
    assert singular(many) == one
    assert singular(one) == one


def test_nouns_name_one_relation_each() -> None:
    found = relations_by_noun(load_relations())
    assert {noun: [r.name for r in some] for noun, some in found.items() if len(some) > 1} == {}
    assert found["sister"][0].name == "sibling"


def test_narrowing_nouns_say_more_than_their_relation() -> None:
    schema = load_relations()
    assert narrowing(schema["sibling"], "Sisters") == "sister"
    assert narrowing(schema["sibling"], "siblings") == ""
    assert narrowing(schema["works_at"], "company") == ""
