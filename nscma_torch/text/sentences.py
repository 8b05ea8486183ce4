"""Split an English or CJK text into sentences with character offsets.

The splitter is rule-based and takes one pass in linear time: candidate ends are found by a pattern, then accepted or
rejected according to the text before them (abbreviations, initials, list numbers) and after them (lower case after a
closing quote, a digit). If in doubt, sentences are joined: half a sentence is worse evidence than two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nscma_torch.text.scripts import CJK_CHAR


@dataclass(frozen=True, slots=True)
class Span:
    """A span of characters, `text[start:end]`."""

    start: int
    end: int


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Followed by a name or a number, never by a new sentence.
_NEVER_END = _words("""
    mr mrs ms mx dr prof lt capt sgt maj cmdr hon messrs mme mlle e.g i.e cf vs viz approx fig figs eq eqs vol pp
""")
# They end a sentence only if the next word looks like the beginning of one.
_MAY_END = _words("""
    etc inc ltd co corp llc jr sr dept est min max hrs st ave blvd mt ft gen sen rep gov col rev pres sec ch pg ed eds
    al ca a.m p.m u.s u.k u.n e.u d.c ph.d b.a m.a m.d b.sc m.sc
""")
_MAY_END_AS_NAMES = _words(
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun"
)
_BEFORE_NUMBER = _words("no nos p")
_STARTERS = _words("""
    a an the this that these those it its he she his her they their we our i my you your there here what when where
    who why how which if in on at as for from to by with after before since while because although though however
    but and so or then now next also yes no not please thanks let do did does is are was were can could will would
    should have has had one some many most all both each every i'm i've i'll i'd it's he's she's that's we're
    they're you're don't let's there's
""")

_OPENERS = "\"'“‘«‹([{<¿¡*_~`#>-–—•"
_CLOSERS = "\"'”’»›)]}*_~`」』）】》〉］｝"
_EMOJI = "\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b50\u2b55\ufe0f\u200d\u20e3"
_C = re.escape(_CLOSERS)
_CANDIDATE = re.compile(
    rf"(?P<cjk>[。！？；｡．]++)[。！？；.!?…{_C}]*+"
    rf"|(?P<mark>[.!?…؟۔।॥]++)(?P<closer>[{_C}]*+)(?P<emoji>(?:[ \t]?[{_EMOJI}]++)*+)"
    rf"|(?P<smile>[{_EMOJI}]++(?:[ \t]?[{_EMOJI}]++)*+)"
    r"|(?P<line>[\n\r\u0085\u2028\u2029]\s*+)"
)
_NEXT_WORD = re.compile(rf"\s*+[{re.escape(_OPENERS)}]*+([^\W_]+(?:['’][^\W_]+)?)?(\.?)")
_BULLET = re.compile(r"[-*+•‣◦▪–—>#|]|\(?[0-9]{1,3}[.)]\s|\(?[A-Za-z][.)]\s|\[[ xX]\]")
_LIST_NUMBER = re.compile(r"\(?(?:[0-9]{1,3}|[A-Za-z])")
_WORD_BEFORE = 24  # characters that are looked at before a period
_WRAPPED_LINE = 50  # a line at least this long without an end mark may go on in the next one


def split_sentences(text: str) -> list[Span]:
    """Return the sentences in order; they don't overlap, and cover all characters except the whitespace around them.

    A blank line, a list item and a short line each end a sentence; a long line without an end mark that continues in
    the next line (hard-wrapped prose) does not. A text without sentences, such as code, is split into lines.
    """
    spans: list[Span] = []
    start, line_start = 0, 0
    for match in _CANDIDATE.finditer(text):
        if match["line"] is not None:
            cut = _line_ends_sentence(text, line_start, match)
            line_start = match.end()
        elif match["cjk"] is not None:
            cut = True
        elif match["smile"] is not None:
            cut = _follows_space_and_starter(text, match.end())
        else:
            cut = _mark_ends_sentence(text, start, line_start, match)
        if cut:
            _append_trimmed(spans, text, start, match.end())
            start = match.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    if left < len(piece):
        spans.append(Span(start + left, start + len(piece.rstrip())))


def _line_ends_sentence(text: str, line_start: int, match: re.Match[str]) -> bool:
    short = match.start() - line_start < _WRAPPED_LINE
    if short or len(match["line"].splitlines()) > 1 or _BULLET.match(text, match.end()):
        return True
    line = text[match.start() - _WORD_BEFORE : match.start()].rstrip()
    if not line:
        return True
    first = text[match.end() : match.end() + 1]
    if line.endswith("."):
        return line.split()[-1].strip(_OPENERS + _CLOSERS + ".").lower() not in _NEVER_END
    if line[-1] in "!?:;…" or line[-1] in _CLOSERS:
        return True
    return not (first.islower() or first.isupper() or first in _OPENERS)


def _mark_ends_sentence(text: str, start: int, line_start: int, match: re.Match[str]) -> bool:
    end = match.end()
    if end == len(text):
        return True
    if not text[end].isspace():
        return bool(CJK_CHAR.match(text[end])) and match["mark"][-1] in "!?"
    if text[end] in "\n\r\u0085\u2028\u2029":
        return False  # the line rule decides
    if match["emoji"]:
        return True
    mark = match["mark"]
    following = _NEXT_WORD.match(text, end)
    word = (following[1] or "") if following else ""
    if word[:1].islower() and (match["closer"] or mark[-1] == "…" or mark.endswith("..")):
        return False  # "Really?" he asked; well... maybe
    if mark != ".":
        return True
    before = text[max(start, match.start() - _WORD_BEFORE) : match.start()].split()[-1:]
    if not before or text.startswith(".", end + 1):
        return not before and word[:1].isupper()  # the spaced ellipsis . . .
    return _period_ends_sentence(before[0], word, bool(following and following[2]), text, line_start, match.start())


def _period_ends_sentence(before: str, word: str, dotted: bool, text: str, line_start: int, at: int) -> bool:
    """Return True if the period at `at`, between token `before` and `word`, ends a sentence; `dotted` is True if
    another period follows `word`.
    """
    token = before.lstrip(_OPENERS).rstrip(_CLOSERS)
    lowered = token.lower()
    in_front = text[line_start:at].removesuffix(before) if at - line_start < _WORD_BEFORE else before
    if _LIST_NUMBER.fullmatch(before) and not in_front.strip(_OPENERS + " \t"):
        return False  # "1. Wash the rice" at the beginning of a line
    starter = word.lower() in _STARTERS and word[:1].isupper() and not dotted
    if lowered in _NEVER_END:
        return False
    if lowered in _BEFORE_NUMBER:
        return not word[:1].isdigit()
    initial = len(token) == 1 and token.isupper()
    abbreviated = lowered in _MAY_END or token in _MAY_END_AS_NAMES or initial or _is_dotted(token)
    return starter or not abbreviated


def _is_dotted(token: str) -> bool:
    """Return True if a token is an abbreviation or initials with inner periods, such as J.K, U.S.A or Ph.D."""
    pieces = token.split(".")
    return len(pieces) > 1 and all(piece.isalpha() and len(piece) <= 2 for piece in pieces)


def _follows_space_and_starter(text: str, end: int) -> bool:
    if not text[end : end + 1].isspace():
        return False
    following = _NEXT_WORD.match(text, end)
    word = (following[1] or "") if following else ""
    return word[:1].isupper() and word.lower().replace("’", "'") in _STARTERS
