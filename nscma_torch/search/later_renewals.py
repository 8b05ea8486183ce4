"""Detects later messages that may have changed a known fact though no statement was read from them.

What no statement is read from leaves the old value standing: "I have a flight on the 3rd of May", then
"The flight got moved to the 5th of May". So before a fact of one value answers, the later messages of its speaker that
name the same matter are looked at, and the one that comes next. One may renew it if it asserts something, holds another
value of the same shape (a date for a date, a number for a number, a name for a place or a person) and no statement of
this relation was read from it. What it says is not understood: it is only a reason to be unsure.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

from nscma_torch.core.records import Fact, Statement
from nscma_torch.reading.cues import find_cues
from nscma_torch.reading.noun_phrases import NOT_NAMES
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.turn_forms import only_asks, statements
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.capitalised import INSIDE
from nscma_torch.text.names import name_key
from nscma_torch.text.sentences import split_sentences
from nscma_torch.text.terms import query_terms, terms

_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_REFERS = re.compile(r"\b(?:it|that|this|them)\b|[它这那]", re.IGNORECASE)
_USER = frozenset(terms("user"))  # what a fact calls whose memory it is: no word that messages name them by
_AHEAD = re.compile(
    r"\b(?:will|shall|would|could|might|may|should|must|can|cannot|going to|wants? to|plans? to|hopes? to|needs? to"
    r"|about to|try to|trying to|tried to|ha(?:ve|s) to|like to|love to)\b"
)
_ALSO_CALLED = {"works_at": ("job",)}  # what has no noun of a relation's own, since other relations are asked by it
_SHORT = 8  # words of a message that speaks of what was said just before without naming it


def matter(known: Fact | Statement, question: str, asked_of: str = "") -> frozenset[str]:
    """Lexical terms of which a message about the same matter has at least one.

    Those of its topic, or of the thing that it is about ("flight" of "user's flight"); of what is known about a person,
    those of the question without the names of the person, of which `asked_of` is the one in the question.
    """
    if known.topic:
        return frozenset(terms(known.topic))
    owner, _, thing = known.subject.rpartition("'s ")
    if owner or (known.subject[:1].islower() and name_key(known.subject) != "user"):
        return frozenset(terms(thing))
    names = terms(f"{known.subject} {asked_of}")
    return frozenset(query_terms(question)) - set(names) - set(terms(known.object))


def may_renew(
    known: Fact | Statement, text: str, said: datetime, about: Collection[str], schema: Schema, *, follows: bool
) -> bool:
    """Return True if a message without such a statement could still contain something newer than what is known.

    Args:
        about: the terms of `matter`.
        follows: it is the next message of the same speaker in the same conversation.
    """
    told = statements(text)
    sentences = [told[span.start : span.end] for span in split_sentences(told)]
    return any(
        _holds_another(known, sentence, said, schema)
        for sentence in sentences
        if not set(about).isdisjoint(terms(sentence)) or (follows and _refers_back(sentence, text))
    )


def naming(known: Fact | Statement, question: str, asked_of: str = "") -> frozenset[str]:
    """Lexical terms of which a message that may change a fact has at least one: its matter's, or its subject's."""
    return matter(known, question, asked_of) | (frozenset(terms(f"{known.subject} {asked_of}")) - _USER)


def of_its_value(known: Fact | Statement, schema: Schema) -> frozenset[str]:
    """Lexical terms by which a message names the value of a fact itself: "Lidl", "my employer", "my job"."""
    nouns = (*schema[known.relation].nouns, *_ALSO_CALLED.get(known.relation, ()))
    return frozenset(terms(" ".join((known.object, *nouns))))


def on_the_matter(text: str, about: Collection[str], *, follows: bool) -> bool:
    """Return True if a message names a matter, or could refer to it without naming it because it follows (`follows`).

    A message that only asks says nothing of it.
    """
    return not only_asks(text) and (not set(about).isdisjoint(terms(text)) or (follows and _refers_back(text, text)))


def _refers_back(sentence: str, text: str) -> bool:
    return len(text.split()) <= _SHORT and bool(_REFERS.search(sentence))


def _holds_another(known: Fact | Statement, sentence: str, said: datetime, schema: Schema) -> bool:
    """Return True if a sentence contains a value that could replace the known one."""
    value = known.object
    shape = schema.shape(known.relation)
    if shape == "date":
        return any(sentence[one.start : one.end].lower() not in value.lower() for one in find_dates(sentence, said))
    if _NUMBER.search(value):
        return bool(set(_NUMBER.findall(sentence)) - set(_NUMBER.findall(value)))
    if shape in ("person", "place", "group", "name"):
        if _AHEAD.search(sentence):  # "I will live in Porto from 2031"
            return False
        own = {*name_key(value).split(), *name_key(known.subject).split()}
        names = (name.lower().rstrip(".").removesuffix("'s") for name in INSIDE.findall(sentence))
        return any(name not in own and name not in NOT_NAMES and name != "i" for name in names)
    return "change" in find_cues(sentence)
