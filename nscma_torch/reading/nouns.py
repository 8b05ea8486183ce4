"""Singular and plural English nouns, and the relations that nouns name ("sister", "wifi password")."""

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
    """Return a noun with its last word in the plural."""
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
    """Return a noun with its last word in the singular; singular nouns are unchanged."""
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
    """Map nouns, in lower case and singular, to the relations whose objects they name."""
    found: dict[str, list[Relation]] = defaultdict(list)
    for relation in schema.relations.values():
        for noun in relation.nouns:
            found[noun.casefold()].append(relation)
    return dict(found)


def narrowing(relation: Relation, noun: str) -> str:
    """Return the noun if it is more specific than the relation ("sister" for the relation "sibling"), else "".

    If a relation can have many objects, its first noun is the general one.
    """
    one = singular(noun.casefold())
    if relation.alike(one):
        return one
    return one if relation.cardinality == "many" and relation.nouns and one != relation.nouns[0].casefold() else ""
