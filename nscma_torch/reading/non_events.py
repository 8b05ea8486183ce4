"""Detect events that didn't happen: "almost moved to", "turned down", "ruled out", "was cancelled".

English marks such events with a small closed class of adverbs, negative implicative verbs and phrases such as "ruled
out". A marker affects only values in its own clause: "I turned down Google and joined Meta" doesn't negate Meta.
"""

from __future__ import annotations

import re
from typing import Literal

from nscma_torch.text.inflection import irregular_pasts, same_in_past

_CLAUSE_END = re.compile(
    r"[;:.!?—]\s|,\s|\b(?:but|because|since|although|though|so|when|while|where|after|before|until|that|if|instead)\b"
    r"|\band\s+(?!(?:a|an|the|my|our|his|her|their|some|any|to)\b|[A-Z]|\d)",
)
_NOT_QUITE = re.compile(r"\b(?:almost|nearly)\s+(\w+)", re.IGNORECASE)
_IN_COURSE = frozenset(
    {"forgot", "forgotten", "missed", "finished", "done", "completed"}
)  # statements that something holds
_NOT_DONE = re.compile(  # verbs that take another verb
    r"\b(?:(?:fail|refus|declin|neglect)(?:e|s|es|ed|ing)?\s+to|avoided\s+\w+ing|came\s+close\s+to|close\s+to\s+\w+ing"
    r"|(?:decided|opted|chose|chosen)\s+(?:not\s+to|against)|talked\s+(?:me|us|him|her|them)\s+out\s+of"
    r"|(?:was|were)\s+(?:just\s+|once\s+)?(?:going|supposed|meant|about)\s+to|never\s+(?:got|made\s+it)\s+(?:a?round\s+)?to"
    r"|did(?:\s+not|n['’]t)\s+(?:manage|get|end\s+up|make\s+it)|on\s+the\s+verge\s+of|(?:would|could)\s+have"
    r"|changed\s+(?:my|our|his|her|their)\s+minds?\s+about|den(?:y|ies|ied)\s+(?:having|being|that))\b",
    re.IGNORECASE,
)
_NOT_TAKEN = re.compile(  # verbs that take a thing, which may have been there before
    r"\b(?:turn(?:s|ed|ing)?\s+down|declin(?:ed|es|ing)|reject(?:s|ed)|passed\s+on|cancel(?:l?ed|s)|called\s+off|call\s+off"
    r"|(?:backed|pulled|opted|missed|lost)\s+out\s+(?:of|on))\b",
    re.IGNORECASE,
)
_RULED_OUT = re.compile(
    r"\b(?:rul(?:e|es|ed|ing)\s+out|exclud(?:e|es|ed|ing)|negative\s+for|misdiagnosed(?:\s+\w+)?\s+(?:with|as)"
    r"|(?:wrongly|falsely|mistakenly|incorrectly)\s+diagnosed(?:\s+\w+)?\s+(?:with|as)|cleared(?:\s+\w+)?\s+of"
    r"|no\s+(?:sign|signs|trace|traces|evidence|indication)\s+of|false\s+(?:alarm|positive)\s+(?:for|about))\b",
    re.IGNORECASE,
)
_AFTER_DENIED = re.compile(
    r"(?:\s+\w+){0,2}?\s+(?:was|were|is|has\s+been|had\s+been|got|came\s+back|turned\s+out\s+to\s+be)\s+(?:\w+ly\s+)?"
    r"(?:ruled\s+out|excluded|negative|a\s+(?:misdiagnosis|mistake|false\s+alarm|false\s+positive))\b",
    re.IGNORECASE,
)
_AFTER_NOT_TAKEN = re.compile(
    r"(?:\s+\w+){0,2}?\s+(?:(?:was|were|has\s+been|had\s+been|got)\s+(?:\w+ly\s+)?"
    r"(?:cancell?ed|called\s+off|rejected|turned\s+down|declined|scrapped)|fell\s+through|never\s+happened)\b",
    re.IGNORECASE,
)
_REACH = 200  # characters of a clause that are looked at


def not_so(sentence: str, start: int, end: int) -> Literal["", "denied", "undone", "not taken"]:
    """Classify the negation of the value `sentence[start:end]` in its own clause.

    "denied": the fact is false ("ruled out"); "undone": it neither began nor ended ("almost moved to"); "not taken": it
    didn't begin, or it has ended ("cancelled").
    """
    before = sentence[max(0, start - _REACH) : start]
    before = before[max((match.end() for match in _CLAUSE_END.finditer(before)), default=0) :]
    after = sentence[end : end + _REACH]
    if _RULED_OUT.search(before) or _AFTER_DENIED.match(after):
        return "denied"
    verbs = (word.lower() for word in _NOT_QUITE.findall(before))
    nearly = any(_is_past(verb) for verb in verbs if verb not in _IN_COURSE)
    if nearly or _NOT_DONE.search(before):
        return "undone"
    return "not taken" if _NOT_TAKEN.search(before) or _AFTER_NOT_TAKEN.match(after) else ""


def _is_past(word: str) -> bool:
    """Return True if a word can be a past-tense form: "moved", "bought", "put"."""
    return word in irregular_pasts() or word in same_in_past() or (word.endswith("ed") and len(word) > len("need"))
