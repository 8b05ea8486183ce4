"""Read stated aliases: "Robert, aka Bob", "Bob is short for Robert", "we call her Lizzie"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nscma_torch.core.records import Statement
from nscma_torch.reading.noun_phrases import NOT_NAMES, PERSON_NOUNS
from nscma_torch.reading.role_mentions import called
from nscma_torch.text.names import name_key
from nscma_torch.text.sentences import Span, split_sentences

_RELATION = "named"
_WORD = r"[A-ZÀ-ÖØ-ÞŁŚŠŽČŽĐİ][\w-]*+"
_FULL = rf"(?-i:{_WORD}(?:\s{_WORD}){{0,2}})"
_QUOTED = rf"[\"“'‘]?(?P<alias>(?-i:{_WORD}))[\"”'’]?"
_CALLERS = (
    r"(?:we|everyone|everybody|people|they|I"
    r"|(?:all\s)?(?:my|our|her|his|the|their)?\s?(?:friends|family|kids|colleagues))"
    r"\s(?:all\s|just\s|always\s|usually\s|also\s)?calls?"
)
_AKA = (
    r"(?:a\.?\s?k\.?\s?a\.?|also\s(?:known\sas|called)|(?:better\s|otherwise\s)?known\sas|nicknamed"
    r"|(?:who\s)?(?:goes\sby|prefers(?:\sto\sbe\scalled)?))"
)
_SHORT = r"(?:is\s|which\sis\s)?(?:short|a\snickname|the\snickname|another\sname|a\spet\sname)\s(?:for|of)"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\b(?P<name>{_FULL}),?\s(?:is\s)?\(?{_AKA}\s(?:the\sname\s)?{_QUOTED}",
        rf"(?<![\w-]){_QUOTED},?\s{_SHORT}\s(?P<name>{_FULL})",
        rf"\b(?P<name>{_FULL}),?\s\(?(?:whom?\s)?{_CALLERS}\s(?:him\s|her\s|them\s)?{_QUOTED}",
        rf"\b{_CALLERS}\s(?P<name>{_FULL})\s{_QUOTED}",
        rf"\b(?P<name>{_FULL})['’]s\snickname\sis\s{_QUOTED}",
        rf"\b(?P<name>(?-i:{_WORD}))\s[\"“](?P<alias>(?-i:{_WORD}))[\"”]",
    )
)
_OF_PRONOUN = re.compile(
    rf"\b(?:{_CALLERS}\s(?:him|her|them)|(?:his|her|their)\snickname\sis"
    rf"|(?:he|she|they)\s(?:goes\sby|go\sby|prefers?(?:\sto\sbe\scalled)?|(?:is|are)\salso\sknown\sas))\s{_QUOTED}",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(rf"\b(?P<name>{_WORD})\s\((?P<alias>{_WORD})\)")
_NAME = re.compile(rf"\b{_WORD}\b")
_CONFIDENCE = 0.95


def aliases(text: str) -> list[Statement]:
    """Return the aliases stated in a text, each as a statement that two names refer to the same entity."""
    found: dict[tuple[str, str], Statement] = {}
    spans = split_sentences(text) if text.isascii() or _NAME.search(text) else []
    for place, span in enumerate(spans):
        before = text[spans[place - 1].start : span.start] if place else ""
        for name, alias in _pairs(text[span.start : span.end], before):
            key = (name_key(name), name_key(alias))
            if key[0] != key[1] and not {key[0], key[1]} & NOT_NAMES:
                found.setdefault(key, _named(name, alias, span))
    return list(found.values())


def _pairs(sentence: str, before: str) -> Iterator[tuple[str, str]]:
    for form in _FORMS:
        yield from ((match["name"], match["alias"]) for match in form.finditer(sentence))
    for match in _IN_BRACKETS.finditer(sentence):
        name, alias = match["name"], match["alias"]
        if _is_short_for(alias, name) or _is_short_for(name, alias) or _is_pet_name(alias, name, sentence):
            yield name, alias
    if called_so := _OF_PRONOUN.search(sentence):
        name = _spoken_of(sentence[: called_so.start()]) or _spoken_of(before)
        if name:
            yield name, called_so["alias"]


def _spoken_of(text: str) -> str:
    """Return the last person with a name and a role ("my wife Elizabeth"), else the text's only name, else ""."""
    names = list(dict.fromkeys(name for name in _NAME.findall(text) if name.lower() not in NOT_NAMES))
    people = [name for name in names if called(name, text, PERSON_NOUNS)]
    return people[-1] if people else names[0] if len(names) == 1 else ""


def _is_short_for(short: str, name: str) -> bool:
    """Return True if `short` could be a short form of `name`: "Liz" for "Elizabeth", but not "Porto" for "Ana"."""
    stem = short.casefold().rstrip("yie")
    return len(stem) > 1 and stem[:3] in name.casefold()


def _is_pet_name(short: str, name: str, sentence: str) -> bool:
    """Return True if a name in parentheses begins like the name before it: "my daughter Katarzyna (Kasia)"."""
    alike = len(short) < len(name) and short[:2].casefold() == name[:2].casefold()
    return alike and bool(called(name, sentence, PERSON_NOUNS))


def _named(name: str, alias: str, span: Span) -> Statement:
    return Statement(name, _RELATION, alias, confidence=_CONFIDENCE, start=span.start, end=span.end)
