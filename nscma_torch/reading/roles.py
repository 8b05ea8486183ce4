"""Find the nouns a speaker uses for people ("boss", "cousin"), and compare whether two can refer to the same person."""

from __future__ import annotations

import re
from functools import lru_cache

from nscma_torch.reading.noun_phrases import PERSON_NOUN, PERSON_NOUNS
from nscma_torch.reading.nouns import singular
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.role_mentions import called
from nscma_torch.text.spelling_variants import american

_MINE = re.compile(
    rf"\bmy\s+(?:[\w-]+\s+){{0,2}}?({PERSON_NOUN.pattern})(?!['’]s\s+{PERSON_NOUN.pattern})", re.IGNORECASE
)
_NOUN = re.compile(rf"(?<![\w-]){PERSON_NOUN.pattern}", re.IGNORECASE)
_OWNER = re.compile(
    r"(?:[\w-]+(?:['’]s|s['’])|\b(?:his|her|their))\s(?:(?:older|younger|new|late|own|ex)[\s-])?$", re.IGNORECASE
)
_REACH = 60  # characters before a noun in which its owner is looked for
_COUPLE = frozenset({"married_to", "partner"})  # relations that follow each other with one person


def role_of(name: str, text: str) -> str:
    """Return the singular noun used with "my" or "our" for a name ("my boss Maria"), or "" if there is none."""
    noun = called(name, text, PERSON_NOUNS)
    own = noun and re.search(rf"\b(?:my|our)\s+(?:[\w-]+\s+){{0,3}}?{re.escape(noun)}s?\b", text, re.IGNORECASE)
    return noun if own else ""


def of_others(question: str, text: str, schema: Schema) -> str:
    """Return the relative that a text mentions if it isn't the asker's own, else "".

    For a question about "my wife", that is "brother's wife" if the text only mentions other people's wives.
    """
    asked = _MINE.search(question)
    if asked is None:
        return ""
    places = [one.span() for one in _NOUN.finditer(text) if same_role(one[0], asked[1], schema)]
    owners = [_OWNER.search(text[max(0, start - _REACH) : start]) for start, _ in places]
    first = owners[0] if owners and all(owners) else None
    return f"{first[0]}{text[slice(*places[0])]}" if first else ""


def roles_of(name: str, text: str) -> frozenset[str]:
    """Return all nouns that a text uses for a name: boss and cousin in "my boss Maria is my cousin"."""
    return frozenset(noun for noun in PERSON_NOUNS if noun in text.casefold() and called(name, text, (noun,)))


def same_role(one: str, other: str, schema: Schema) -> bool:
    """Return True if two nouns can mean one person in the same role: "mum" and "mother", "girlfriend" and "wife"."""
    first, second = american(singular(one.casefold())), american(singular(other.casefold()))
    if first == second:
        return True
    relations, groups = _nouns(schema)
    together = relations.get(first, frozenset()) & relations.get(second, frozenset())
    couple = not _COUPLE.isdisjoint(relations.get(first, ())) and not _COUPLE.isdisjoint(relations.get(second, ()))
    apart = groups.get(first), groups.get(second)
    return bool(together or couple) and (None in apart or apart[0] == apart[1])


@lru_cache(maxsize=4)
def _nouns(schema: Schema) -> tuple[dict[str, frozenset[str]], dict[str, tuple[str, int]]]:
    """Map each noun to the relations it expresses, and to the exclusive role it names in one of them."""
    relations: dict[str, frozenset[str]] = {}
    groups: dict[str, tuple[str, int]] = {}
    for name, relation in schema.relations.items():
        for noun in (*relation.nouns, *(noun for role in relation.exclusive_roles for noun in role)):
            relations[american(noun)] = relations.get(american(noun), frozenset()) | {name}
        for number, role in enumerate(relation.exclusive_roles):
            groups.update({american(noun): (name, number) for noun in role})
    return relations, groups
