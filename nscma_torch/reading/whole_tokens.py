"""Extend a value's span to whole tokens: "1.299,00", "+32 470 12 34 56" and "hunter2.X9!" are single values.

A network's tokens end at punctuation, and before the accent of a decomposed letter. Here, a token is the text between
whitespace, without the sentence's punctuation.
"""

from __future__ import annotations

import re
import unicodedata

from nscma_torch.text.scripts import CJK_CHAR

_REACH = 160  # characters on either side of a span that are looked at
_OPENERS = "([{<\"'“‘«*_`~"
_CLOSERS = ")]}>\"'”’»*_`~.,;:!?…"
_BREAK = r"\s—–\u2e80-\u9fff\uff00-\uffef"
_BEFORE = re.compile(rf"[^{_BREAK}]*\Z")  # `$` would also match before a newline at the end
_AFTER = re.compile(rf"[^{_BREAK}]*")
_JOINED = re.compile(r"[^\W_](?:[@&_]|['’](?=[A-Z])|\.(?=[a-z0-9]))[^\W_]|://")
_COMPOUND = re.compile(r"(?<=\d)-(?=[A-Za-z]{2})|(?<=[A-Za-z]):(?!//)|=|['’]s$")  # 20-year-old, port:8080, 2024's
_SYMBOL = re.compile(r"(?<=[A-Za-z])(?:\+{1,2}|#)(?![^\s.,;:!?)])")  # C++, F#
_SECRET = re.compile(
    r"\b(?:password|passphrase|passcode|passwd|pin|code|key|token|secret|login|credentials?)\b", re.IGNORECASE
)
_CURRENCY = re.compile(r"[^\S\n]?(?:[€$£¥₹]|(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN)\b)")
_CURRENCY_BEFORE = re.compile(r"(?:[€$£¥₹]|\b(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD))[^\S\n]?\Z")
_AMOUNT = re.compile(r"[+-]?[\d.,' ]*\d")
_GROUPS = re.compile(r"\(?\+?\d+\)?(?:[ .-]\(?\d+\)?)+")
_GROUP_BEFORE = re.compile(r"(?:(?:\+\d+|\(\+?\d+\)|\b\d+)[ .-])+\Z")
_GROUP_AFTER = re.compile(r"(?:[ .-]\(?\d+\)?(?!\w))+")
_CODE = re.compile(  # groups of a code with capitals: "DE89 3704 0044", "GB29 NWBK 6016"
    r"(?<![\w.,])[A-Z]{0,4}\d[A-Z\d]*(?: (?:[A-Z]{0,4}\d[A-Z\d]*|[A-Z]{4}(?= [A-Z]*\d)))+(?!\w)"
)
_FEWEST_DIGITS = 6  # of a number or code in groups that is taken whole
_QUOTED = re.compile(
    r"(?<![\w])(?:\"(?P<a>[^\"\n]{1,60})\"|“(?P<b>[^”\n]{1,60})”|«(?P<c>[^»\n]{1,60})»|`(?P<d>[^`\n]{1,60})`"
    r"|'(?P<e>(?:[^'\n]|'(?=\w)){1,60})'|‘(?P<f>(?:[^’\n]|’(?=\w)){1,60})’)(?!\w)"
)
_NAMING = re.compile(r"\b(?:is|are|was|be|called|named|titled|to)\s\Z", re.IGNORECASE)


def whole_tokens(text: str, start: int, end: int) -> tuple[int, int]:
    """Return `text[start:end]` extended to whole words, numbers, addresses or passwords at its ends."""
    if start >= end:
        return start, end
    start, end = _quoted(text, *_words(text, start, end))
    start, end = _token_before(text, start), _token_after(text, end)
    if _GROUPS.fullmatch(text, start, end) and sum(map(str.isdigit, text[start:end])) >= _FEWEST_DIGITS:
        before, after = _GROUP_BEFORE.search(text, max(0, start - _REACH), start), _GROUP_AFTER.match(text, end)
        start, end = before.start() if before else start, after.end() if after else end
    if _AMOUNT.fullmatch(text, start, end):
        before, after = _CURRENCY_BEFORE.search(text, max(0, start - 4), start), _CURRENCY.match(text, end)
        start, end = before.start() if before else start, after.end() if after else end
    return _balanced(text, *_grouped(text, start, end))


def _grouped(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend the span to the other groups of the code that it is part of."""
    for match in _CODE.finditer(text, max(0, start - _REACH), end + _REACH):
        if match.start() <= start and end <= match.end():
            code = match.group()
            long = sum(map(str.isdigit, code)) >= _FEWEST_DIGITS and any(map(str.isalpha, code))
            return match.span() if long else (start, end)
    return start, end


def _quoted(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a span at the beginning or end of a quoted password, name or title to the whole quotation."""
    for match in _QUOTED.finditer(text, max(0, start - _REACH), end + _REACH):
        first, last = match.start() + 1, match.end() - 1
        if not (first <= start and end <= last):
            continue
        secret = _SECRET.search(text, max(0, first - 60), first) is not None
        if not secret:
            last -= text[last - 1] in ".,"
        at_edge = start == first or not text[end:last].strip(_CLOSERS)
        named = secret or _NAMING.search(text, max(0, first - 10), first - 1) is not None
        return (first, last) if at_edge and named else (start, end)
    return start, end


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """Add the bracket after the span that closes a bracket inside it; drop an unclosed opening bracket."""
    opened = text.rfind("(", start, end)
    if opened < 0 or ")" in text[opened:end]:
        return start, end
    if text[end : end + 1] == ")":
        return start, end + 1
    kept = text[start:opened].rstrip()
    return (start, start + len(kept)) if kept else (start, end)


def _words(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend the span at both ends by adjacent letters, digits and accents."""
    while start > 0 and _goes_on(text[start]) and _goes_on(text[start - 1]):
        start -= 1
    while end < len(text) and _goes_on(text[end - 1]) and _goes_on(text[end]):
        end += 1
    symbol = _SYMBOL.match(text, end)
    return start, symbol.end() if symbol else end


def _goes_on(character: str) -> bool:
    return CJK_CHAR.match(character) is None and (character.isalnum() or unicodedata.category(character)[0] == "M")


def _token_before(text: str, start: int) -> int:
    """Return the start of the token that contains `text[start]`, if that token is part of a value."""
    first, last = _token(text, start)
    token = text[first:last]
    while first < start and text[first] in _OPENERS:
        first += 1
    if not _is_value(token):
        return start
    if _is_whole(text, first, token):
        return first
    begin = last - len(token)
    return max([first, *(begin + cut.end() for cut in _COMPOUND.finditer(token) if begin + cut.end() <= start)])


def _token_after(text: str, end: int) -> int:
    """Return the end of the token that contains `text[end - 1]`, if that token is part of a value."""
    first, last = _token(text, end - 1)
    token = text[first:last]
    if not _is_value(token):
        return end
    whole = _is_whole(text, first, token)
    marks = _CLOSERS.replace("!", "").replace("?", "") if whole else _CLOSERS
    while last > end and text[last - 1] in marks:
        last -= 1
    if whole:
        return last
    return min([last, *(first + cut.start() for cut in _COMPOUND.finditer(token) if first + cut.start() >= end)])


def _token(text: str, at: int) -> tuple[int, int]:
    before = _BEFORE.search(text, max(0, at - _REACH), at)
    after = _AFTER.match(text, at, at + _REACH)
    return before.start() if before else at, after.end() if after else at


def _is_value(token: str) -> bool:
    """Return True if a token is a number, address or code whose parts are meaningless on their own."""
    return any(map(str.isdigit, token)) or _JOINED.search(token) is not None


def _is_whole(text: str, start: int, token: str) -> bool:
    """Return True if punctuation inside a token, and "!" at its end, is part of it, as in an address or a password."""
    secret = not token.isdigit() and any(map(str.isalpha, token))
    return "://" in token or "@" in token or (secret and _SECRET.search(text, max(0, start - 60), start) is not None)
