"""English nouns: singular and plural, and the relation that a noun names ("sister", "wifi password")."""

from __future__ import annotations

from collections import defaultdict

from nscma_torch.reading.relations import Relation, Schema

_PLURALS = {
    "child": "children",
    "wife": "wives",
    "life": "lives",
    "person": "people",
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "tooth": "teeth",
    "mouse": "mice",
}
_SINGULARS = {plural: one for one, plural in _PLURALS.items()}
_VOWELS = "aeiou"


def plural(noun: str) -> str:
    """A noun in the plural, its last word inflected."""
    head, _, last = noun.rpartition(" ")
    if last in _PLURALS:
        last = _PLURALS[last]
    elif last.endswith(("s", "x", "z", "ch", "sh")):
        last += "es"
    elif last.endswith("y") and last[-2:-1] not in _VOWELS:
        last = last[:-1] + "ies"
    else:
        last += "s"
    return f"{head} {last}".strip()


def singular(noun: str) -> str:
    """A noun in the singular, its last word inflected; one that is singular stays as it is."""
    head, _, last = noun.rpartition(" ")
    if last in _SINGULARS:
        last = _SINGULARS[last]
    elif last.endswith("ies") and len(last) > 4:
        last = last[:-3] + "y"
    elif last.endswith(("sses", "shes", "ches", "xes", "zzes")):
        last = last[:-2]
    elif last.endswith("s") and len(last) > 3 and not last.endswith(("ss", "us", "is")):
        last = last[:-1]
    return f"{head} {last}".strip()


def relations_by_noun(schema: Schema) -> dict[str, list[Relation]]:
    """Relations whose object a noun names, by the noun in lower case and the singular."""
    found: dict[str, list[Relation]] = defaultdict(list)
    for relation in schema.relations.values():
        for noun in relation.nouns:
            found[noun.casefold()].append(relation)
    return dict(found)


def narrowing(relation: Relation, noun: str) -> str:
    """The noun where it says more than the relation (a sister is more than a sibling), else "".

    Of a relation that holds many, the first noun is the general one.
    """
    one = singular(noun.casefold())
    if relation.alike(one):
        return one
    return one if relation.cardinality == "many" and relation.nouns and one != relation.nouns[0].casefold() else ""
