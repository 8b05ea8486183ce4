"""Gemini's activity in Google Takeout: `My Activity/Gemini Apps/MyActivity.json`; folders and files have translated
names.

An activity contains a prompt (its title) and Gemini's answer (HTML), and links to its conversation in newer exports.
Activities without a link form a session a day. Other activities, attached files and Gems are not imported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from nscma_torch.compat.exports.archives import ExportFile, parts
from nscma_torch.compat.exports.choices import Choices
from nscma_torch.compat.exports.foreign import Foreign, Found, LeftOut, listed, sequence, time_in, until_fault
from nscma_torch.compat.exports.occurrences import Occurrences
from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message
from nscma_torch.text.files.converted.web_pages import markdown_of

_PRODUCT = re.compile(r"gemini|bard", re.I)
_PROMPTED = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Branched|Answered)\s+")
_DONE = re.compile(r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Removed|Viewed|Visited|Turned)\s")
_CONVERSATION = re.compile(r"https://gemini\.google\.com/app/([0-9a-f]{6,64})")
_PAGES = (".html", ".htm")
_NOT_HTML = "is HTML; export My Activity again with Gemini Apps alone, and the format JSON"


class _Activity(NamedTuple):
    when: datetime | None
    faults: tuple[str, ...]
    prompt: str
    answer: list[str]
    conversation: str


def read(path: Path, _: Choices) -> Iterator[Found]:
    """Yield prompts and answers, oldest first."""
    with parts(path, _may_be_activity, "Gemini Apps/MyActivity.json") as found:
        data = [part for part in found if not part.base.lower().endswith(_PAGES)]
        if not data:
            raise InvalidInputError(f"{found[0].name} {_NOT_HTML}")
        for part in data:
            yield from until_fault(_activities(part))


def _may_be_activity(name: str) -> bool:
    above, _, base = name.rpartition("/")
    ours = not above or _PRODUCT.search(above.rpartition("/")[2]) is not None
    return ours and base.lower().endswith((".json", *_PAGES))


def _activities(part: ExportFile) -> Iterator[Found]:
    left: Counter[str] = Counter()
    kept: list[_Activity] = []
    name = part.name
    for number, item in enumerate(sequence(part.json(), name), start=1):
        if not isinstance(item, Mapping):
            yield MalformedInputError(f"{name}: activity {number} is not an object but {type(item).__name__}")
        elif not _is_of_gemini(item):
            left["activities of other products"] += 1
        elif (prompt := _prompt(item)) is None:
            left["activities that are not prompts"] += 1
        else:
            when, faults = time_in(item.get("time"))
            kept.append(_Activity(when, faults, prompt, _answer(item), _conversation(item)))
    seen = Occurrences()
    for one in sorted(kept, key=_place):
        yield from _messages(one, seen)
    if left:
        yield LeftOut(left)


def _place(one: _Activity) -> tuple[float, str]:
    return 0.0 if one.when is None else one.when.timestamp(), one.prompt


def _messages(one: _Activity, seen: Occurrences) -> Iterator[Found]:
    day = "" if one.when is None else f" {one.when.date().isoformat()}"
    session = f"Gemini ({one.conversation[:8]})" if one.conversation else f"Gemini{day}"
    metadata = {"conversation": one.conversation} if one.conversation else {}
    # The title's verb changes when a conversation is branched, and the conversation may be missing in older exports.
    key = f"gemini:{seen.key(one.prompt) if one.when is None else seen.key(one.when.isoformat())}"
    question = Message("user", one.prompt, one.when, session=session, metadata=metadata, idempotency_key=f"{key}:q")
    yield Foreign(question, {}, faults=one.faults)
    text, faults = _markdown(one.answer)
    if text.strip():
        reply = Message("assistant", text, one.when, session=session, metadata=metadata, idempotency_key=f"{key}:a")
        yield Foreign(reply, {}, faults=faults)


def _markdown(answer: list[str]) -> tuple[str, tuple[str, ...]]:
    try:
        return "\n\n".join(markdown_of(html).strip() for html in answer), ()
    except MalformedInputError as error:
        return "", (f"the answer is omitted: {error}",)


def _is_of_gemini(item: Mapping[str, Any]) -> bool:
    named = [item.get("header"), *listed(item.get("products"))]
    return any(isinstance(name, str) and _PRODUCT.search(name) for name in named)


def _prompt(item: Mapping[str, Any]) -> str | None:
    """Return the prompt in a title, without the verb in front of it; None if the activity is something else.

    Titles in other languages keep their verb. Without an answer or a conversation they may be anything, and are left
    out.
    """
    title = item.get("title")
    if not isinstance(title, str) or _DONE.match(title):
        return None
    if verb := _PROMPTED.match(title):
        return title[verb.end() :].strip() or None
    return title.strip() or None if _answer(item) or _conversation(item) else None


def _answer(item: Mapping[str, Any]) -> list[str]:
    found = [one.get("html") for one in listed(item.get("safeHtmlItem")) if isinstance(one, Mapping)]
    return [html for html in found if isinstance(html, str) and html.strip()]


def _conversation(item: Mapping[str, Any]) -> str:
    """Return the id of the conversation; of several, which a branch gives, the first."""
    urls = [one.get("url") for one in listed(item.get("details")) if isinstance(one, Mapping)]
    for url in [*urls, item.get("titleUrl")]:
        if isinstance(url, str) and (found := _CONVERSATION.match(url)):
            return found[1]
    return ""
