"""Recognise that a message asks to forget something that was said: "please forget what I said about the gate code".

Only requests about something *said* count: what somebody said or told, a message, notes, or the memory. "Forget the
milk" and "don't forget my keys" don't. English only.
"""

from __future__ import annotations

import re

_VERB = r"(?:forget|delete|erase|wipe|scrub|scrap|remove|strike|disregard|unlearn)"
_SAID = r"(?:said|told|wrote|mentioned|gave|sent|posted|shared)"
_WHAT = (
    r"(?:what|everything|anything|all|whatever)\s+(?:that\s+)?(?:i|we)(?:['’]ve|['’]d)?(?:\s+(?:just|ever|once))*"
    rf"\s+{_SAID}"
)
_YOU = (
    r"(?:\s+(?:to\s+)?(?:you|u|everyone|everybody|all\s+of\s+you|here|earlier|before|just\s+now|above|yesterday"
    r"|this\s+morning))*"
)
_FROM = r"(?:\s+from\s+(?:your|ur|the)\s+(?:notes?|memory|records?|log|chat))?"
_NEGATED = r"(?<!don't )(?<!don’t )(?<!dont )(?<!not )(?<!never )(?<!didn't )(?<!didn’t )"
_REQUEST = re.compile(
    rf"(?<![\w'’]){_NEGATED}(?P<verb>{_VERB}){_FROM}\s+"
    rf"(?:{_WHAT}{_YOU}(?P<clause>[^.!?;\n]*)"
    rf"|(?P<thing>(?:the|my|our|that|this|those|these)\b[^.!?;\n]{{1,80}}?)\s+(?:that|which)?\s*(?:i|we)\s+(?:just\s+)?{_SAID}\b[^.!?;\n]*"
    rf"|(?P<message>(?:that|this|the|my)\s+(?:last\s+|previous\s+)?(?:message|post|note)|what\s+i\s+just\s+{_SAID})\b[^.!?;\n]*"
    rf"|(?P<noted>(?:the|my|our|that)\b[^.!?;\n]{{1,80}}?)\s+from\s+(?:your|ur|the)\s+(?:notes?|memory|records?))",
    re.IGNORECASE,
)
_ASKED_TO = re.compile(
    r"\b(?:please|pls|plz|kindly|(?:can|could|would|will)\s+you|(?:have|want|need|like)\s+(?:to\s+ask\s+)?you(?:\s+all)?\s+to|then|and|better)\s+$",
    re.IGNORECASE,
)
_SUBJECTS = frozenset({"i", "we", "you", "he", "she", "they", "it", "who", "that"})
_ABOUT = re.compile(r"^\s*(?:about|regarding|concerning|on|of)\s+", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.!?;:\n–—]|\s-\s")
_TOPIC_ENDS = re.compile(r"[,(–—]|\s-\s")
_POLITE = frozenset({"please", "pls", "plz", "thanks", "ok", "okay", "everyone"})


def forget_request(text: str) -> str | None:
    """Return what a message asks to forget, "" for the speaker's message before it, or None if it asks for nothing.

    "please forget what I said about the gate code" asks to forget "the gate code".
    """
    before = ""
    for match in _REQUEST.finditer(text):
        if not _is_asked(text[: match.start()]):
            continue
        topic = _trimmed(match["clause"] or match["thing"] or match["noted"] or "")
        if topic:
            return topic
        before = "found"
    return "" if before else None


def _is_asked(before: str) -> bool:
    """Return True if the words before a verb let it be a command: "could you", a name, "hey bot pls", or none."""
    clause = _CLAUSE_END.split(before)[-1]
    words = [word.strip(",").lower() for word in clause.split()]
    if clause.rstrip().endswith(",") or _ASKED_TO.search(clause):
        return True
    return len(words) <= 2 and _SUBJECTS.isdisjoint(words)


def _trimmed(topic: str) -> str:
    """Remove "about" before a topic, and what follows it: a further clause, "please"."""
    words = _TOPIC_ENDS.split(_ABOUT.sub("", topic).strip(" ,:"), maxsplit=1)[0].split()
    while words and words[-1].lower() in _POLITE:
        words.pop()
    return " ".join(words)
