"""Infer a new home from a move to a named place: somebody who moved to Lagos lives there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from nscma_torch.core.records import Statement
from nscma_torch.reading.noun_phrases import PERSON_NOUN
from nscma_torch.reading.relations import Schema

_THERE, _HOME = "located_in", "lives_in"
_MOVE = re.compile(
    r"\b(?:mov(?:ed|ing)|(?:re|e)locat(?:ed|ing)|(?:im|e)migrat(?:ed|ing))\b[^.,;:!?]{0,60}?\bto\s$", re.I
)
_REACH = 80  # characters before a place in which the move is looked for
_PERSON = re.compile(rf"(?:.*['’]s\s)?(?:[\w-]+\s)?{PERSON_NOUN.pattern}", re.IGNORECASE)


def with_new_homes(statements: Sequence[Statement], text: str, schema: Schema) -> list[Statement]:
    """Return a text's statements, adding the person's new home after each move.

    Only named places count: moving to the kitchen, the Garden or Room 12 doesn't change the home.
    """
    if _HOME not in schema:
        return list(statements)
    found: list[Statement] = []
    for one in statements:
        found.append(one)
        if one.relation == _THERE and not one.negated and _is_person(one.subject) and _moved(one, text):
            found.append(replace(one, relation=_HOME))
    return found


def _is_person(subject: str) -> bool:
    return (subject[:1].isupper() and "'s " not in subject) or _PERSON.fullmatch(subject) is not None


def _moved(one: Statement, text: str) -> bool:
    """Return True if a statement's sentence reports that its subject moved to a named place."""
    if not one.object[:1].isupper() or any(letter.isdigit() for letter in one.object):
        return False
    at = text.find(one.object, one.start, one.end)
    return at >= 0 and _MOVE.search(text[max(one.start, at - _REACH) : at]) is not None
