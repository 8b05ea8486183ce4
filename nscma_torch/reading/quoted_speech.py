"""Speech in a text: what stands between quotation marks, and the sentences in its midst that a narrator tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nscma_torch.reading.noun_phrases import AUXILIARIES, is_person
from nscma_torch.text.sentences import Span, split_sentences

_MARKS = re.compile(r"[\"“”]|「[^」]*」|(?<!\S)'(?:[^'\"“”]|(?<=\w)'(?=\w)){3,}'(?=[\s.,!]|$)")
_SPEAKERS = re.compile(
    r"\b(?:I|me|my|mine|we|us|our|ours|you|your|yours|he|she|him|his|her|hers|they|them|their|it|this|that|these|those"
    r"|here|now)\b",
    re.IGNORECASE,
)


def speech_in(text: str) -> list[Span]:
    """The quotations of a text that are more than the quoted words of a name."""
    return [span for span in _quotations(text) if _is_speech(text[span.start : span.end])]


def _quotations(text: str) -> list[Span]:
    """What stands between quotation marks, with them.

    A straight mark opens and closes in turn, but where only one can be: after a word and before a blank nothing opens
    (a text that was cut in mid-speech, inches), after a blank and before a word nothing closes (a paragraph of speech
    that the next one goes on with).
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


def without_speech(text: str, speech: Sequence[Span]) -> str:
    """The text with speech as blanks up to the mark that ends its sentence; speech that breaks off ends one, too."""
    parts, done = [], 0
    for span in speech:
        end = text[span.end - 2 : span.end] if text[span.end - 2] in ".!?…。！？" else ""
        if text[span.end - 2] in "-–—" and text[span.end :].lstrip()[:1].isupper():  # "I--" He rose.
            end = "." + text[span.end - 1]
        parts += [text[done : span.start], "\x00" * (span.end - span.start - len(end)), end]
        done = span.end
    return "".join([*parts, text[done:]])


def _is_speech(quoted: str) -> bool:
    """Whether it is more than the quoted words of a name."""
    return len(quoted) > 4 and (len(quoted.split()) > 3 or not quoted.isascii())


def told_within(text: str, speech: Span, verbs: frozenset[str]) -> list[Span]:
    """Sentences within a speech that begin with a name and its verb, and name no speaker.

    The first is the speaker's, and the last before the mark that closes it. Of a paragraph that none closes, since the
    next one goes on with the speech, the last may be told.
    """
    closed = not text[speech.end - 1].isspace()
    inside = split_sentences(text[speech.start + 1 : speech.end - 1])[1 : -1 if closed else None]
    moved = [Span(speech.start + 1 + span.start, speech.start + 1 + span.end) for span in inside]
    return [span for span in moved if _tells(text[span.start : span.end], verbs)]


def _tells(sentence: str, verbs: frozenset[str]) -> bool:
    name, _, rest = sentence.partition(" ")
    verb = rest.partition(" ")[0].lower()
    return (
        sentence.endswith(".") and is_person(name) and (verb in verbs or verb in AUXILIARIES)
    ) and not _SPEAKERS.search(sentence)
