"""Detect later messages that may have changed a known fact, although no statement was read from them.

If no statement is read from a message, the old value stays: "I have a flight on the 3rd of May", then "The flight got
moved to the 5th of May". So before a question is answered with a single-valued fact, the speaker's next message and
their later messages on the same topic are checked. A message may renew the fact if it asserts something, contains
another value of the same shape (a date for a date, a number for a number, a name for a place or a person), and no
statement in this relation was read from it. Its meaning isn't analysed, so it is only a reason to be unsure.
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
_USER = frozenset(terms("user"))  # the facts' name for the user, which messages don't use
_AHEAD = re.compile(
    r"\b(?:will|shall|would|could|might|may|should|must|can|cannot|going to|wants? to|plans? to|hopes? to|needs? to"
    r"|about to|try to|trying to|tried to|ha(?:ve|s) to|like to|love to)\b"
)
_ALSO_CALLED = {"works_at": ("job",)}  # what has no noun of a relation's own, since other relations are asked by it
_SHORT = 8  # words of a message that refers to the previous one without naming its subject


def matter(known: Fact | Statement, question: str, asked_of: str = "") -> frozenset[str]:
    """Return the fact's topic terms; a message on the same topic contains at least one of them.

    The terms come from the fact's topic, or from the thing that the fact is about ("flight" in "user's flight"). If the
    fact is about a person, they come from the question, without the person's names; `asked_of` is the name used in the
    question.
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
    """Return True if a message may contain a newer value than the known one, given that no such statement was read from
    it.

    Args:
        about: the terms from `matter`.
        follows: True for the same speaker's next message in the same conversation.
    """
    told = statements(text)
    sentences = [told[span.start : span.end] for span in split_sentences(told)]
    return any(
        _holds_another(known, sentence, said, schema)
        for sentence in sentences
        if not set(about).isdisjoint(terms(sentence)) or (follows and _refers_back(sentence, text))
    )


def naming(known: Fact | Statement, question: str, asked_of: str = "") -> frozenset[str]:
    """Return the terms for a fact's topic and subject; a message that may change the fact contains at least one."""
    return matter(known, question, asked_of) | (frozenset(terms(f"{known.subject} {asked_of}")) - _USER)


def of_its_value(known: Fact | Statement, schema: Schema) -> frozenset[str]:
    """Return the terms with which a message may refer to a fact's value: "Lidl", "my employer", "my job"."""
    nouns = (*schema[known.relation].nouns, *_ALSO_CALLED.get(known.relation, ()))
    return frozenset(terms(" ".join((known.object, *nouns))))


def on_the_matter(text: str, about: Collection[str], *, follows: bool) -> bool:
    """Return True if a message mentions a topic, or is the next one (`follows`) and may refer to it indirectly.

    A message that only asks a question doesn't count.
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
