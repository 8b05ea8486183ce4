"""Find quoted speech in a text."""

from __future__ import annotations

import re

from nscma_torch.text.sentences import Span

_MARKS = re.compile(r"[\"“”]|「[^「」]*」|(?<!\S)'(?:[^'\"“”]|(?<=\w)'(?=\w)){3,}'(?=[\s.,!]|$)")


def quotations(text: str) -> list[Span]:
    """Return the spans in quotation marks, including the marks.

    Straight marks alternately open and close a quotation, with two exceptions: a mark between a word and a space never
    opens one (the text begins in mid-speech, or the mark means inches), and a mark between a space and a word never
    closes one (speech continues in the next paragraph).
    """
    found: list[Span] = []
    opened: int | None = None
    for mark in _MARKS.finditer(text):
        start, end = mark.span()
        if end - start > 1:
            if opened is None:
                found.append(Span(start, end))
            continue
        after_word = start > 0 and not text[start - 1].isspace()
        before_word = end < len(text) and not text[end].isspace()
        opens = mark[0] == "“" or (mark[0] == '"' and before_word and not after_word)
        closes = mark[0] == "”" or (mark[0] == '"' and after_word and not before_word)
        if opened is not None and not opens:
            found.append(Span(opened, end))
            opened = None
        elif not closes:
            found += [] if opened is None else [Span(opened, start)]
            opened = start
    return found


def without_speech(text: str) -> str:
    """Blank speech, keeping the punctuation mark that ends its sentence.

    Speech broken off by a dash is ended with a full stop.

    Quoted names don't count as speech.
    """
    parts, done = [], 0
    for span in quotations(text):
        if not _is_speech(text[span.start : span.end]):
            continue
        end = text[span.end - 2 : span.end] if text[span.end - 2] in ".!?…。！？" else ""
        if text[span.end - 2] in "-–—" and text[span.end :].lstrip()[:1].isupper():  # "I--" He rose.
            end = "." + text[span.end - 1]
        parts += [text[done : span.start], "\x00" * (span.end - span.start - len(end)), end]
        done = span.end
    return "".join([*parts, text[done:]])


def _is_speech(quoted: str) -> bool:
    """Return True if a quotation is more than a quoted name."""
    return len(quoted) > 4 and (len(quoted.split()) > 3 or not quoted.isascii())
