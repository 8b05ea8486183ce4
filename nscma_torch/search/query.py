"""Parse a question into lexical terms, names, dates, and the text to embed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nscma_torch.core.errors import EmptyTextError, InvalidInputError
from nscma_torch.reading.question_intent import Intent, intent
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.terms import query_terms, terms

_FIRST_PERSON = re.compile(r"\b(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself|we|us|our|ours)\b|[我咱]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed question.

    `terms` exclude the names of `speakers` and the words of `periods`, which are matched against the speakers and times
    of messages. `roles` is ("user",) for a question in the first person, unless it asks for an overview of all
    speakers. `meaning` is the text to embed, without the speakers' names, as people's own messages seldom contain their
    names.
    """

    text: str
    terms: tuple[str, ...]
    speakers: tuple[str, ...]
    roles: tuple[str, ...]
    periods: tuple[tuple[datetime, datetime], ...]  # first instant, and the first one after
    meaning: str
    intent: Intent | None


def parse(text: str, *, names: Sequence[str], now: datetime, user: str = "") -> Query:
    """Parse a question, given the speakers' names and the time at which it is asked.

    `user` is the user's name; a question that contains it also covers the user's messages without a name.

    Raises `EmptyTextError` for a blank text, `InvalidInputError` for anything but a string.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"the question must be a string, got {type(text).__name__}")
    if not text.strip():
        raise EmptyTextError("the question is empty")
    asked = set(query_terms(text))
    tokens = {token: set(terms(token)) & asked for name in names for token in name.split()}
    speakers = tuple(name for name in names if any(tokens[token] for token in name.split()))
    of_user = set(terms(user)) & asked if user else set()
    spoken = [token for token, own in tokens.items() if own] + ([user] if of_user else [])
    mentions = find_dates(text, now)
    periods = tuple(mention.instants(now.tzinfo) for mention in mentions)
    dropped = of_user | {term for own in tokens.values() for term in own}
    wanted = intent(text)
    rest = _without_spans(text, [(mention.start, mention.end) for mention in mentions])
    return Query(
        text,
        terms=tuple(term for term in query_terms(rest) if term not in dropped),
        speakers=speakers,
        roles=("user",) if (of_user or _FIRST_PERSON.search(text)) and wanted != "overview" else (),
        periods=periods,
        meaning=_without_words(text, spoken),
        intent=wanted,
    )


def _without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = f"{text[:start]} {text[end:]}"
    return text


def _without_words(text: str, words: Sequence[str]) -> str:
    """Remove words and their possessives from a text, ignoring case.

    If nothing would be left, the text is returned unchanged.
    """
    if not words:
        return text
    longest_first = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{longest_first})(?:['’]s)?(?!\w)\s*", "", text, flags=re.IGNORECASE).strip() or text
