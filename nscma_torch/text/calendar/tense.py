"""Detect from a clause's verbs whether it refers to the past or the future: "I saw her on Monday", "I see the dentist
on Monday"."""

from __future__ import annotations

import re
from typing import Literal

from nscma_torch.text.inflection import forms, irregular_pasts, same_in_past

Direction = Literal[-1, 0, 1]  # back, not known, ahead

_BEFORE, _AFTER = 200, 120  # characters of a clause that are looked at
_CLAUSE_END = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)[.!?]+(?:\s|$)|[\n;]")
_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")
_SCHEDULED = re.compile(r"\b(?:for|to)\s+(?:the\s+)?$", re.IGNORECASE)  # "booked a table for Friday"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PAST = _words("was were did had wasn't weren't didn't hadn't")
_DID = _words("did didn't")
_AHEAD = _words("""
    will won't shall gonna must should can could might let's would i'll you'll we'll they'll he'll she'll it'll
""")
_BE = _words("am is are isn't aren't be i'm you're we're they're he's she's it's that's there's what's")
_HAVE = _words("have has haven't hasn't having i've you've we've they've")
_PRESENT = _BE | _HAVE | _words("do does don't doesn't need needs want wants plan plans hope hopes")
_PLANS = _words("appointment deadline due upcoming scheduled reminder booked reservation")
_COMMANDS = _words("see remind remember call book please tell ask buy send bring pick meet join don't")
_TIMETABLE = _words("""
    leaves starts begins opens closes ends finishes arrives departs lands comes goes returns flies moves visits meets
    sees gets runs plays sails expires retires marries
""")
_SUBJECTS = _words("i you we they")
_SUBJECTS_OF_THIRD = _words("he she it")
_DETERMINERS = _words("a an the this that these those my your his her its our their no some any")
_ADVERBS = _words("just already also never ever not been only still always since then")
_LY_VERBS = _words("fly apply rely reply supply")
_NO_PAST = re.compile(r"(?:need|feed|seed|weed|speed|indeed|exceed|proceed|succeed|bleed|breed|hundred|naked|sacred)$")


def direction(text: str, start: int, end: int) -> Direction:
    """Return the time direction of the clause around `text[start:end]`: -1 past, 1 future, 0 unclear.

    The nearest verb before the span decides, or else the first verb after it. English only.
    """
    before = _CLAUSE_END.split(text[max(0, start - _BEFORE) : start])[-1]
    after = _CLAUSE_END.split(text[end : end + _AFTER], maxsplit=1)[0]
    ahead_of = [_plain(word) for word in _WORD.findall(before)]
    behind = [_plain(word) for word in _WORD.findall(after)]
    found = (
        *(_of_word(ahead_of, i) for i in reversed(range(len(ahead_of)))),
        *(_of_word(behind, i) for i in range(len(behind))),
    )
    told: Direction = next((one for one in found if one), 0)
    if not told and (not _PLANS.isdisjoint((*ahead_of, *behind)) or (ahead_of and ahead_of[0] in _COMMANDS)):
        return 1
    return 1 if told < 0 and _SCHEDULED.search(before) else told


def leading(text: str) -> Direction:
    """Return the tense of the first finite verb in an English sentence: -1 past, 1 not past, 0 if there is no finite
    verb."""
    words = [_plain(word) for word in _WORD.findall(text)]
    return next((found for i in range(len(words)) if (found := _of_word(words, i))), 0)


def has_past_of(question: str, text: str) -> bool:
    """Return True if a text contains a past form of the question's verb, such as "taught" for "Where do I teach?"."""
    words = {_plain(word) for word in _WORD.findall(text)}
    asked = {_plain(word) for word in _WORD.findall(question)} - {"do", "does"}
    past = {form for word in asked for form, what in forms(word).items() if what == "past"}
    if not _BE.isdisjoint(asked):
        past |= {"was", "were"}
    return not words.isdisjoint(past - asked)


def _plain(word: str) -> str:
    return word.lower().replace("’", "'")


def _of_word(words: list[str], place: int) -> Direction:
    """Return the tense of the verb at a position: -1 past, 1 not past, 0 if it isn't a finite verb."""
    word, before = words[place], words[place - 1] if place else ""
    if word in _PAST:
        return -1
    if not _DID.isdisjoint(words[max(0, place - 3) : place]):
        return 0  # the auxiliary tells: "did I do"
    if word in _AHEAD or word in _PRESENT or word in _TIMETABLE:
        return 0 if before in _DETERMINERS else 1
    if word in irregular_pasts() or (word.endswith("ed") and len(word) > 3 and not _NO_PAST.search(word)):
        auxiliary = next(
            (
                one
                for one in reversed(words[max(0, place - 8) : place])
                if one not in _ADVERBS and not one.endswith("ly")
            ),
            "",
        )
        if auxiliary in _BE or auxiliary in _HAVE:
            return 1
        return 0 if before in _DETERMINERS or auxiliary in _PAST else -1
    if word in same_in_past():
        return 0
    if before in _SUBJECTS or (before in _SUBJECTS_OF_THIRD and word.endswith("s")):
        return 0 if word in _ADVERBS or (word.endswith("ly") and word not in _LY_VERBS) else 1
    return 0
