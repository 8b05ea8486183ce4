"""Apply corrections within one message: "I'm 34, I mean 43", "My name is Bob. Sorry, typo: Rob".

A self-repair has three parts (Levelt 1983): the reparandum (34), the editing term ("I mean") and the repair (43). A
repair is recognised by its parallel with the reparandum: the message gives the same relation and subject again, or a
bare phrase of the same shape follows the editing term (a number for a number, a name for a name, a date for a date).
Without such a parallel, nothing changes: "I live in Porto. Sorry, I was late."

Both values remain statements, and the repair is marked as a correction of the reparandum. Each has its own decision in
the log, so undoing the correction restores the first value.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from nscma_torch.core.records import Statement
from nscma_torch.reading.asserted_statements import SURE, ReadMessage, asserted
from nscma_torch.reading.editing_terms import (
    LEAD,
    LONGEST_DATE,
    PAUSES,
    REACH,
    Term,
    date_end,
    editing_terms,
    ends_alike,
)
from nscma_torch.reading.fact_reader import ReadFact
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relations import Schema
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.capitalised import NAME
from nscma_torch.text.names import name_key
from nscma_torch.text.number_words import LARGER, TO_TWENTY
from nscma_torch.text.scripts import HANZI
from nscma_torch.text.sentences import Span, split_sentences

_HAN_TERM = re.compile(
    r"(?<=[，,。.；;！!？?\s])(?:(?:不对|不對|不是?(?=[，,])|(?:我)?(?:说|說|打|写|寫)错了|(?:我)?(?:說|打|寫)錯了|口误|口誤|更正"
    r"|我是[说說]|(?:应|應)[该該]是)[，,：:。！!\s]{0,2})+"
)
_HAN_LINK = re.compile(r"(?:应该|應該)?是|(?:应该|應該)?[叫在]")

_BEFORE = re.compile(r"\b([a-z]+)\s+(?:(?:an?|the|my)\s+)?\Z|['’](s|m|re)\s+\Z", re.IGNORECASE)
_COPULAS = {"s": "is", "m": "is", "re": "is", "am": "is", "are": "is", "was": "is", "were": "is"}
_DENIED = re.compile(r"\b(?:not|never|no\s+longer)\b|n['’]t\b", re.IGNORECASE)
_ADDED = re.compile(r"\b(?:too|also|as\s+well|both)\b", re.IGNORECASE)
_VERB = re.compile(r"(?:\s+(?:is|are|was|were|has|have|had|can|will|would)\b|['’]s\b)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*(?!\w)")
_NUMBER_WORD = re.compile(rf"(?<!\w)(?:{'|'.join((*TO_TWENTY, *LARGER))})(?!\w)", re.IGNORECASE)
_MEASURE = re.compile(r"\d+(?:[.,:]\d+)*\s?[^\W\d_]{1,9}(?![^\W_])")
_AMOUNT = re.compile(r"[^\w\s]?\s?\d+(?:[.,:]\d+)*(?:\s?[^\W\d_]{1,9})?")
_NAME_WORD = NAME.replace(".", "")  # a stop ends the repair
_NAME = re.compile(rf"{_NAME_WORD}(?: {_NAME_WORD}){{0,3}}")
_HAN_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_HAN = re.compile(rf"[{HANZI}]{{1,6}}")
_ALONE = re.compile(r"[\s,.:;!?…—–-]{0,8}\Z")
_HAN_REACH = 12

_Key = tuple[tuple[str, str, str], str, int]


@dataclass(frozen=True, slots=True)
class _Said:
    """A statement, with the position of its object in the message."""

    statement: Statement
    fact: ReadFact
    start: int
    end: int


def asserted_with_repairs(read: ReadMessage, text: str, schema: Schema, said: datetime) -> list[Statement]:
    """Return a message's assertions, with each repaired value followed by its correction."""
    sentences = split_sentences(text)
    terms = list(editing_terms(text, sentences)) if read.statements else []
    if not terms:
        return asserted(read, schema)
    placed = [_Said(one, fact, *_place(one, fact, text)) for one, fact in read.statements]
    standing = sorted(placed, key=_start)
    repaired: dict[_Key, Statement] = {}
    for term in terms:
        low = bisect_left(standing, term.start - REACH, key=_start)
        high = bisect_right(standing, term.end + REACH, key=_start)
        near = standing[low:high]
        repairs = _by_fragment(near, term, text, sentences, said) or _by_statement(near, term, text, sentences, schema)
        repaired.update((_key(new.statement), old.statement) for old, new in repairs)
        if repairs:
            standing[low:high] = _after(near, repairs, term)
    if not repaired:
        return asserted(read, schema)
    found = asserted(ReadMessage([(one.statement, one.fact) for one in standing], read.picks), schema)
    return [own for one in found for own in _with_repaired(one, repaired)]


def _after(near: Sequence[_Said], repairs: Sequence[tuple[_Said, _Said]], term: Term) -> list[_Said]:
    """Return the statements without repaired ones, and without alternative readings of the term or the repair."""
    wrong, right = [id(old) for old, _ in repairs], [new for _, new in repairs]
    taken: list[_Said | Term] = [term, *right]
    left = [one for one in near if id(one) not in wrong and not any(_overlap(one, own) for own in taken)]
    return sorted([*left, *right], key=_start)


def _with_repaired(one: Statement, repaired: dict[_Key, Statement]) -> list[Statement]:
    """Return a chain of corrections that ends with `one`; remove its earlier statements from `repaired`."""
    chain = [one]
    while (old := repaired.pop(_key(chain[0]), None)) is not None:
        chain[0] = replace(chain[0], correction=True, replaces=old.object)
        chain.insert(0, replace(old, negated=False))
    return chain


def repair_chinese(statements: Sequence[Statement], text: str, said: datetime) -> list[Statement]:
    """Return the statements read by Chinese forms, each followed by its correction if a bare phrase repairs it."""
    count = Counter(map(_group, statements))
    found: list[Statement] = []
    for one in statements:
        at = text.find(one.object, one.start, one.end) if one.object else -1
        value = ""
        if at >= 0 and not (one.negated or one.past or count[_group(one)] > 1):
            value = _han_repair(text, one.object, at, said)
        new = replace(one, object=value)
        found += _with_repaired(new, {_key(new): one}) if value else [one]
    return found


def _han_repair(text: str, value: str, at: int, said: datetime) -> str:
    """Return the bare phrase after the next Chinese editing term if it has the value's shape, else ""."""
    end = at + len(value)
    term = _HAN_TERM.search(text, end, end + len(value) + _HAN_REACH)
    if term is None:
        return ""
    link = _HAN_LINK.match(text, term.end())
    linked = link is not None and link.group()[-1] in ("是", text[at - 1 : at])
    start = link.end() if link is not None and linked else term.end()
    if date_end(value, said) == len(value):
        new, alike = text[start : start + date_end(text[start : start + LONGEST_DATE], said)], True
    elif _HAN_NUMBER.fullmatch(value):
        new, alike = _matched(_HAN_NUMBER, text, start), True
    else:
        new = _matched(_HAN, text, start) if _HAN.fullmatch(value) else ""
        shares = len(new) == len(value) and (new[0] == value[0] or new[-1] == value[-1])
        alike = linked or shares or term.group().endswith("是")
    return new if alike and new not in ("", value) and ends_alike(text, start + len(new), end) else ""


def _matched(pattern: re.Pattern[str], text: str, at: int) -> str:
    match = pattern.match(text, at)
    return match.group() if match is not None else ""


def _place(one: Statement, fact: ReadFact, text: str) -> tuple[int, int]:
    """Return the position of a statement's object in its sentence."""
    at = text.find(fact.object.text, one.start, one.end)
    return at, at + len(fact.object.text)


def _by_fragment(
    standing: Sequence[_Said], term: Term, text: str, sentences: Sequence[Span], said: datetime
) -> list[tuple[_Said, _Said]]:
    """Pair the bare phrase after a term with the last value of the same shape before the term."""
    for one in sorted(standing, key=lambda one: -one.end):
        found = _bare_repair(one.start, one.end, term, text, said) if _repairable(one, term, text, sentences) else None
        if found is None:
            continue
        value = text[one.start : one.end]
        read = [other.end for other in standing if other.start == found.start and _is_like(other, one)]
        new = text[found.start : max([found.end, *read])]  # "Tuesday at ten", if it is read so
        if name_key(new) == name_key(value):
            return []
        span = next(own for own in sentences[term.sentence :] if found.start < own.end)
        same = [other for other in standing if (other.start, other.end) == (one.start, one.end)]
        return [(other, _renamed(other, new, found.start, span)) for other in same if other.statement.object == value]
    return []


def repaired_span(text: str, start: int, end: int, said: datetime) -> Span:
    """Return the span of the bare phrase that repairs the value `text[start:end]`, else the value's own span."""
    low = max(0, start - REACH)
    near = text[low : end + 2 * REACH]
    first, last = start - low, end - low
    sentences = split_sentences(near)
    for term in editing_terms(near, sentences):
        begin = max((own.start for own in sentences if own.start <= first), default=0)
        if _is_in_reach(first, last, begin, term, near, sentences):
            found = _bare_repair(first, last, term, near, said) or _bare_amount(first, last, term, near)
            if found is not None:
                return Span(low + found.start, low + found.end)
    return Span(start, end)


def _bare_repair(start: int, end: int, term: Term, text: str, said: datetime) -> Span | None:
    """Return the bare phrase after a term if it has the value's shape, and no other such phrase lies between."""
    value = text[start:end]
    lead = LEAD.match(text, term.end)
    assert lead is not None  # each of its parts may be absent
    shape = _shape(value, said)
    last = _end_of_like(shape, value, text, lead.end(), said)
    timed = shape in ("date", "measure")
    if not last or not ends_alike(text, last, end, timed=timed) or _has(shape, text[end : term.start], said):
        return None
    if shape == "name" and not _follows(start, term, lead.group(), text):
        return None
    return Span(lead.end(), last)


def _bare_amount(start: int, end: int, term: Term, text: str) -> Span | None:
    """Return the number after a term that repairs an amount without repeating its unit: "340 euros, no wait, 360"."""
    lead = LEAD.match(text, term.end)
    assert lead is not None
    number = _NUMBER.match(text, lead.end())
    if number is None or not _AMOUNT.fullmatch(text, start, end) or re.search(r"\d", text[end : term.start]):
        return None
    return Span(*number.span()) if ends_alike(text, number.end(), end) else None


def _is_like(new: _Said, old: _Said) -> bool:
    """Return True if `new` is certain, and has the same subject, relation and topic as `old`."""
    return _holds(new) and _group(new.statement) == _group(old.statement)


def _renamed(one: _Said, value: str, at: int, sentence: Span) -> _Said:
    """Return the same statement and confidence with another object."""
    right = replace(one.statement, object=value, negated=False, start=sentence.start, end=sentence.end)
    # "no" makes the reader doubt the value that is repaired, not the repair
    stances = tuple(float(stance == "holds") for stance in STANCES)
    fact = replace(one.fact, object=replace(one.fact.object, text=value), stances=stances)
    return _Said(right, fact, at, at + len(value))


def _by_statement(
    standing: Sequence[_Said], term: Term, text: str, sentences: Sequence[Span], schema: Schema
) -> list[tuple[_Said, _Said]]:
    """Pair statements before a term with statements after it that share subject and relation."""
    alone = _ALONE.match(text, term.end, sentences[term.sentence].end) is not None
    last = sentences[min(term.sentence + alone, len(sentences) - 1)]
    if _ADDED.search(text, term.end, min(last.end, term.end + REACH)):
        return []
    after = [one for one in standing if term.end <= one.start < last.end and _holds(one)]
    found: dict[int, tuple[_Said, _Said]] = {}
    for new in sorted(after, key=lambda one: one.start):
        old = max(
            (one for one in standing if _is_repaired(one, new, term, text, sentences, schema)),
            key=lambda one: one.end,
            default=None,
        )
        if old is not None:
            found.setdefault(id(old), (old, new))
    return list(found.values())


def _is_repaired(old: _Said, new: _Said, term: Term, text: str, sentences: Sequence[Span], schema: Schema) -> bool:
    """Return True if `new` repairs `old`; if the relation can have many objects, their values must be adjacent."""
    a, b = old.statement, new.statement
    if _group(a) != _group(b) or name_key(a.object) == name_key(b.object):
        return False
    if not _repairable(old, term, text, sentences):
        return False
    lead = LEAD.match(text, term.end)
    next_to_term = lead is not None and lead.end() == new.start
    if next_to_term and _VERB.match(text, new.end):
        return False  # "Monday, and, well, Tuesday is free"
    if schema[a.relation].cardinality == "one":
        return True
    adjacent = next_to_term and not text[old.end : term.start].strip(PAUSES)
    return adjacent and ends_alike(text, new.end, old.end)


def _repairable(one: _Said, term: Term, text: str, sentences: Sequence[Span]) -> bool:
    """Return True if the reader is sure of a statement, and a term can mark a repair of its value."""
    said = one.fact.stance in ("holds", "denied") and one.statement.confidence >= SURE
    return said and _is_in_reach(one.start, one.end, one.statement.start, term, text, sentences)


def _is_in_reach(start: int, end: int, begin: int, term: Term, text: str, sentences: Sequence[Span]) -> bool:
    """Return True if a term can mark a repair of the value `text[start:end]`.

    The term must be in the value's sentence, which begins at `begin`, or in the next one.

    Values denied by "not" are excluded: "I don't live in Porto, I mean Braga" doesn't say where the speaker lives.
    """
    first = sentences[max(0, term.sentence - term.begins)].start
    if not max(first, term.start - REACH) <= start < end <= term.start:
        return False
    between = text[end : term.start].rstrip()
    set_off = term.begins or not between or between[-1] in ",.;:!…—–-("
    return set_off and _DENIED.search(text, max(begin, start - REACH), start) is None


def _holds(one: _Said) -> bool:
    sure = one.statement.confidence >= SURE and one.fact.stance == "holds"
    return sure and not one.statement.negated


def _shape(value: str, said: datetime) -> str:
    """Return the shape of a phrase: "number", "measure", "date", "name", or "" for any other shape."""
    if _NUMBER.fullmatch(value) or _NUMBER_WORD.fullmatch(value):
        return "number"
    if date_end(value, said) == len(value):
        return "date"
    if _MEASURE.fullmatch(value):
        return "measure"
    return "name" if _NAME.fullmatch(value) else ""


def _end_of_like(shape: str, value: str, text: str, at: int, said: datetime) -> int:
    """Return the end of the phrase at position `at` that has the given shape, or 0 if there is none."""
    if shape == "number":
        match = _NUMBER.match(text, at) or _NUMBER_WORD.match(text, at)
    elif shape == "measure":
        match = _MEASURE.match(text, at)
        if match is not None and _unit(match.group()) != _unit(value):
            return 0
    elif shape == "date":
        end = date_end(text[at : at + LONGEST_DATE], said)
        return at + end if end else 0
    elif shape == "name":
        match = _NAME.match(text, at)
        if match is not None and (_shape(match.group(), said) != "name" or _longer(value, match.group())):
            return 0  # "Bob Smith. Sorry, Smyth" repairs a part
    else:
        match = None
    return match.end() if match is not None else 0


def _longer(a: str, b: str) -> bool:
    return len(a.split()) > len(b.split())


def _unit(measure: str) -> str:
    unit = measure.lstrip("0123456789.,: ").lower()
    return "o'clock" if unit in ("am", "pm") else unit


def _has(shape: str, between: str, said: datetime) -> bool:
    """Return True if another phrase of the shape, which may be the repaired one, lies between a value and a term."""
    if shape == "date":
        return bool(find_dates(between, said))
    if shape == "name":
        return any(own.group() != "I" for own in _NAME.finditer(between))
    return bool(re.search(r"\d", between) or _NUMBER_WORD.search(between))


def _follows(start: int, term: Term, lead: str, text: str) -> bool:
    """Return True if a name replaces the name before the term: both follow the same word, or the new one is bare.

    A bare name that follows only "Sorry" or "Wait" at the beginning of a sentence may address somebody: "Sorry, Ana."
    """
    word = _word_before(lead)
    if word:
        return word == _word_before(text[max(0, start - 40) : start])
    return term.firm or ":" in lead or not term.begins


def _word_before(text: str) -> str:
    """Return the last word of a text, or "" if there is none.

    Articles are skipped, and all forms of "be" count as one word.
    """
    match = _BEFORE.search(text)
    word = (match.group(1) or match.group(2)).lower() if match is not None else ""
    return _COPULAS.get(word, word)


def _overlap(a: _Said, b: _Said | Term) -> bool:
    return a.start < b.end and b.start < a.end


def _start(one: _Said) -> int:
    return one.start


def _key(one: Statement) -> _Key:
    return _group(one), one.object, one.start


def _group(one: Statement) -> tuple[str, str, str]:
    return name_key(one.subject), one.relation, one.topic
