"""Resolve a noun phrase to a name without context: if Ana speaks, "I" is Ana and "my sister" is Ana's sister."""

from __future__ import annotations

import re

from nscma_torch.reading.chinese_kin import KIN as HAN_KIN
from nscma_torch.reading.noun_phrases import KIN_NOUNS, PRONOUNS, bare, word_set
from nscma_torch.text.capitalised import NAME
from nscma_torch.text.pronouns import FIRST_PERSON, ONE_PERSON, SECOND_PERSON, THINGS

_ADJECTIVE = (
    r"(?:(?:older|younger|elder|little|big|best|old|new|twin|eldest|youngest|oldest|late|dear|lovely|only|good"
    r"|close|childhood|current|"
    r"line|first|second|baby|great|former|two|three|both|teenage|oldest|school|college|dear|maternal|paternal)\s+)*"
)
_FULL_NAME = rf"{NAME}(?:\s+{NAME}){{0,2}}"
_KIN_NAMED = re.compile(
    rf"(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Yy]our|{NAME}'s)\s+{_ADJECTIVE}(?:{KIN_NOUNS})s?"
    rf"(?:\s+(?:called|named|is called|is named)|\s*,)?\s+(?P<name>(?:(?:Dr|Mr|Mrs|Ms)\.?\s+)?{_FULL_NAME})"
)
_CALLED = re.compile(rf"(?:a|an|another|this|the)\s+(?:\w+\s+){{0,3}}(?:called|named)\s+(?P<name>{_FULL_NAME})")
_OWNED = re.compile(
    rf"(?P<owner>my|our|your|his|her|their|its|{NAME}(?:\s+{NAME})?'s?(?=\s))\s+(?:own\s+)?(?P<rest>.+)", re.IGNORECASE
)
_HAN_OWNED = re.compile(rf"(?P<owner>我们?|咱们?|你|您|他|她)(?:的|家的?|(?=(?:{HAN_KIN})))(?P<rest>.+)")
_ADJECTIVE_OF_KIN = re.compile(
    rf"(?:(?:lovely|dear|late|poor|beloved|old)\s+)(?P<rest>(?:{KIN_NOUNS})\b.*)", re.IGNORECASE
)
_OF_THE_SPEAKER = word_set("mum mom dad grandma grandpa granny gran nan papa mama mam")
_APPOSITION = re.compile(rf"(?P<name>{_FULL_NAME}),\s+(?!and\b|or\b)[a-z].*")  # "Elizabeth, we call her Lizzie"
_BRACKETED = re.compile(rf"(?P<head>.+?)\s\((?P<alias>{_FULL_NAME})\)")  # "Katarzyna (Kasia)", "my sister (Ana)"
_KEPT = ("new", "brand-new", "brand new", "all", "one of", "only", "both")


def name_of(phrase: str, speaker: str, listener: str, *, person: str = "") -> str:
    """Return the name that a speaker's phrase refers to, or "" if unclear.

    Args:
        person: the person that "she" and "her" refer to; "" if nobody was named before.
    """
    plain = " ".join(phrase.strip(" ,.'\"").split())
    if bracketed := _BRACKETED.fullmatch(plain):
        alone = _KIN_NAMED.fullmatch(f"{bracketed['head']}, {bracketed['alias']}")
        plain = alone.group() if alone else bracketed["head"]
    if apposition := _APPOSITION.fullmatch(plain):
        return apposition["name"]
    lowered = plain.lower()
    if lowered in FIRST_PERSON:
        return speaker
    if lowered in SECOND_PERSON:
        return listener
    if lowered in ONE_PERSON:
        return person
    if lowered in PRONOUNS | THINGS or not plain:
        return ""
    named = _KIN_NAMED.fullmatch(plain.rstrip(",")) or _CALLED.fullmatch(plain)
    if named:
        return named["name"]
    owned = _HAN_OWNED.fullmatch(plain) or _OWNED.match(plain)
    if owned and not owned["rest"].lower().startswith(("s ", "and ")):
        owner = _owner(owned["owner"], speaker, listener, person)
        return f"{owner}'s {_without_adjective(owned['rest'])}" if owner else ""
    if lowered in _OF_THE_SPEAKER:
        return f"{speaker}'s {lowered}"
    return bare(plain, keep=_KEPT)


def _owner(word: str, speaker: str, listener: str, person: str) -> str:
    lowered = word.lower()
    if lowered in ("my", "our", "我", "我们", "咱", "咱们"):
        return speaker
    if lowered in ("your", "你", "您"):
        return listener
    if lowered in ("his", "her", "他", "她"):
        return person
    return "" if lowered in ("its", "their") else word.removesuffix("'s").removesuffix("'")


def _without_adjective(phrase: str) -> str:
    match = _ADJECTIVE_OF_KIN.match(phrase)
    return match["rest"] if match else phrase
