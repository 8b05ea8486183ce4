"""Find the role noun that a text uses for a name: "brother" for Dan in "my brother Dan" and "Dan, my little brother".

Four constructions are tried, the plainest first, and the first match counts, wherever it is in the text: "Dan is my
brother", "my brother is called Dan", "my brother Dan", "Dan, my brother". A match lies within one sentence, and a list
of names needs a plural noun ("my sisters Eve and Ann").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nscma_torch.reading.nouns import plural
from nscma_torch.text.scripts import HANZI

_NAME = r"(?-i:[A-ZÀ-ÖØ-Þ])[\w-]*+"
_NAMES = rf"(?:{_NAME}(?:\s{_NAME})?(?:,\s(?:and\s)?|\sand\s|\s&\s)){{1,4}}"
_OWNER = rf"(?:my|our|his|her|their|your|the|a|an|{_NAME}(?:\s{_NAME})?['’]s)"
_ADJECTIVES = r"(?:(?-i:[a-z])[\w-]*+\s){0,3}?"
_IS = r"(?:\s(?:is|was|are|were)|['’]s)"
_SAID = r"(?:(?:also|now|still|really|actually|both|one\sof)\s)*+"
_TITLE = r"(?:(?:Dr|Mr|Mrs|Ms)\.?\s)?"
_CALLED = (
    rf"(?:,?\s(?:who|which|that))?(?:['’]?s?\s(?:\w++\s)?name{_IS}|,?\swhose\sname{_IS}|{_IS}(?:\s(?:called|named))?"
    rf"|\s(?:called|named)|\s?[:=(]|\s(?:is\snot|isn['’]t)\s{_NAME}\sbut)\s?(?:both\s)?"
)
_NO_OTHER = rf"(?!['’]s|\s(?:and|is|was|are|were|has|had|called|named|{_NAME})\b)"
_NO_OWNER = rf"(?!['’]s|\s{_NAME}['’]s)"
_LATIN = "A-Za-zÀ-ÖØ-öø-ÿ0-9"
_OWNS = re.compile(r"['’]s?(?=\s+[a-z])")
_REACH = 96  # characters before or after a name


class _Form(NamedTuple):
    """A construction: a pattern for the text before or after the name.

    `names` is True if the construction states a role.
    """

    before: bool
    pattern: re.Pattern[str]
    names: bool = False


class _Nouns(NamedTuple):
    """Singular nouns by spelling, the pattern for names that end with a noun, and constructions with the nouns."""

    singulars: dict[str, str]
    ending: re.Pattern[str]
    forms: tuple[_Form, ...]


def called(name: str, text: str, nouns: Sequence[str]) -> str:
    """Return the noun, as spelled in `nouns`, that the text uses for the name, or "" if there is none.

    Args:
        name: a person's or thing's name. If it ends with a noun ("grey cat", "Maria (cousin)"), the result is that
            noun.
        text: the text to search.
        nouns: singular nouns, English or Chinese.
    """
    if not nouns or not name.strip():
        return ""
    known = _known(tuple(nouns))
    name, _, role = name.removesuffix(")").partition(" (")
    if role.casefold() in known.singulars:
        return known.singulars[role.casefold()]
    own = known.ending.search(name)
    if own:
        return known.singulars.get(own[0].casefold(), "")
    text = " ".join(text.split())
    places = [*_places(name, text)]
    for form in known.forms:
        for start, end in places:
            near = text[max(0, start - _REACH) : start] if form.before else text[end : end + _REACH]
            match = form.pattern.search(near) if form.before else form.pattern.match(near)
            if match and not (form.names and _OWNS.match(text, end)):  # "my brother is Kim's boss"
                return known.singulars.get((match["one"] or match.groupdict().get("many") or "").casefold(), "")
    return ""


def _places(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of a name in the same case, else in any case; "Will" doesn't match "will"."""
    spelled = re.escape(name)
    if name[0].isascii():
        spelled = rf"(?<![{_LATIN}]){spelled}"
    if name[-1].isascii():
        spelled = rf"{spelled}(?![{_LATIN}])"
    found = [match.span() for match in re.finditer(spelled, text)]
    yield from found or (match.span() for match in re.finditer(spelled, text, re.IGNORECASE))


def _either(words: Sequence[str] | dict[str, str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@lru_cache(maxsize=64)
def _known(nouns: tuple[str, ...]) -> _Nouns:
    single = {noun.casefold(): noun for noun in nouns}
    several = {plural(noun.casefold()): noun for noun in nouns if noun.isascii()}
    latin, han = _either([noun for noun in single if noun.isascii()]), _either([n for n in single if not n.isascii()])
    bounds = rf"(?<![{_LATIN}-])", rf"(?![{_LATIN}-])"
    many = rf"{bounds[0]}(?P<many>{_either(several) or '(?!)'}){bounds[1]}"
    one = rf"{bounds[0]}(?P<one>{latin or '(?!)'}){bounds[1]}"
    singulars = {**several, **single}
    any_ = rf"{bounds[0]}(?P<one>{_either(singulars)}){bounds[1]}"
    ending = rf"(?:{bounds[0]}|(?<=[{HANZI}])(?=[{HANZI}]))(?:{_either(singulars)})$"
    some = rf"(?P<one>{han or '(?!)'})"
    beside = rf"(?:(?:,\s|,?\sand\s|\s&\s){_NAME}){{0,4}}"
    rows = [
        (False, rf"(?:{_IS}|{beside}\s(?:are|were))\s{_SAID}{_OWNER}\s{_ADJECTIVES}{any_}{_NO_OWNER}"),
        (False, rf"\s?(?:现在|也|就|都)?是\s?(?:我们?|你们?|他们?|她们?)?(?:的|家的?)?[亲大小二]?{some}"),
        (True, naming := rf"(?:{one}{_CALLED}|{many}{_CALLED}(?:{_NAMES})?){_TITLE}$"),
        (True, rf"{some}的?，?(?:给[它他她])?(?:名字|[起取]?名)?(?:叫做?|是)\s?$"),
        (True, rf"(?:{one},?\s|{many},?\s(?:{_NAMES})?){_TITLE}$"),
        (True, rf"{some}\s?$"),
        (False, rf"(?:,\s|\s?\()(?:who\sis\s)?{_SAID}{_OWNER}\s{_ADJECTIVES}{any_}{_NO_OTHER}"),
    ]
    forms = tuple(_Form(before, re.compile(row, re.IGNORECASE), row == naming) for before, row in rows)
    return _Nouns(singulars, re.compile(ending, re.IGNORECASE), forms)
