"""Describe the topics in a person's messages: co-occurring terms, numbers of messages and days, and an example.

Every part of such a line is verifiable: each source contains the topic, and the sentence is quoted from one of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.reading.cues import find_cues, salience
from nscma_torch.reading.noun_phrases import DETERMINERS, NO_THING
from nscma_torch.text.names import name_key
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences
from nscma_torch.text.terms import terms

LEAST = 3  # messages that hold a topic
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_TOPICAL = {"person", "name"}  # kinds of cue that a topic may be; the others are verbs, times and small talk
_BESIDE = 1 / 3  # of the messages with a topic that hold a further word, at least
_HEAD = re.compile(r".{1,400}? spoke of (.{1,400}?) in at least |.{1,400}?条消息说到(.{1,400}?)[，：]")
_DETERMINED = 0.3  # share of a noun's places that show that it is one, at least
_WORDS = 40  # longest sentence that is quoted


def speakers_of(units: Iterable[Unit]) -> tuple[str, ...]:
    """Return the keys of the speakers' names; a speaker without a name is represented by the role."""
    return tuple({name_key(unit.name or unit.role) for unit in units})


def nouns_of(texts: Sequence[str]) -> set[str]:
    """Return the terms that are often capitalised or at the end of a noun phrase with a determiner; in Chinese, all
    terms of two or more characters.

    These terms can be topics: "my family, and", "LGBTQ", but not "an important part".
    """
    named: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for text in texts:
        if script(text) == "cjk":
            named.update(term for term in terms(text) if len(term) > 1)
            continue
        words = [*_WORD.finditer(text)]
        for i, found in enumerate(words):
            word, before = found[0], words[i - 1][0].lower() if i else ""
            after = words[i + 1] if i + 1 < len(words) else None
            ends = after is None or text[found.end() : after.start()] != " " or not terms(after[0])
            owned = before in DETERMINERS or before == "s"  # "Ana's family"
            noun = (owned and ends) or not word[1:].islower()
            for term in terms(word):
                every[term] += 1
                named[term] += noun and word.lower() not in NO_THING
    return {term for term, n in named.items() if n >= _DETERMINED * every[term]}


def topic_line(
    group: Sequence[Unit],
    held: Sequence[set[str]],
    outside: Mapping[str, float],
    words: Mapping[str, str],
    topic: str,
) -> SourcedLine | None:
    """Return the line on a topic, citing the messages that contain it, or None if no sentence can be quoted.

    Args:
        held: the terms in each message.
        outside: how rare each term is outside the group; higher is rarer.
        words: spellings of the terms that can be listed with the topic.
    """
    places = [place for place, own in enumerate(held) if topic in own]
    beside = Counter(term for place in places for term in held[place] if term in words and term != topic)
    often = [term for term, n in beside.items() if n >= max(2, _BESIDE * len(places))]
    often = sorted(often, key=lambda term: (-beside[term] * math.log(1 + outside[term]), term))[:2]
    quote = _quote([group[place] for place in places], {topic, *often}, topic)
    if quote is None:
        return None
    days = len({group[place].occurred_at.date() for place in places})
    confidence = len(places) / len(group) * len(places) / (len(places) + 1)
    text = _said(group[0], words[topic], [words[term] for term in often], len(places), days, quote)
    return SourcedLine(text, tuple(places), confidence)


def topic_words(group: Sequence[Unit], speakers: Sequence[str]) -> dict[str, str]:
    """Map each term that can be a topic to its most common spelling.

    Time cues, small talk and speakers' names are excluded.

    Addressees' names are excluded because they occur in passing, often in a short form.
    """
    forms: dict[str, Counter[str]] = {}
    for unit in group:
        own = terms(unit.text)
        if script(unit.text) == "cjk":
            for term in own:
                if len(term) > 1:
                    forms.setdefault(term, Counter())[term] += 1
            continue
        for word in _WORD.findall(unit.text):
            stems = terms(word)
            if len(stems) == 1 and len(word) > 2:
                forms.setdefault(stems[0], Counter())[word] += 1
    found = {}
    for term, written in forms.items():
        lower = [word for word in written if word.islower()]
        word = min(lower or written, key=lambda word: (-written[word], word))
        addressed = any(part.startswith(name_key(word)) for name in speakers for part in name.split())
        if not addressed and find_cues(word).keys() <= _TOPICAL:
            found[term] = word
    return found


def _quote(units: Sequence[Unit], wanted: set[str], topic: str) -> str | None:
    """Return the most informative first-person statement that contains the topic."""
    best: tuple[tuple[float, float], str] | None = None
    for unit in units:
        for span in split_sentences(unit.text):
            sentence = " ".join(unit.text[span.start : span.end].split())
            own = set(terms(sentence))
            if topic not in own or sentence.endswith(("?", "？")) or len(sentence.split()) > _WORDS:
                continue
            if "self" not in find_cues(sentence):
                continue
            score = (float(len(own & wanted)), salience(sentence))
            if best is None or score > best[0]:
                best = score, sentence
    return None if best is None else best[1]


def is_on(text: str, topic: str) -> bool:
    """Return True if a line from `topic_line` is on this topic; its co-occurring terms and quotation don't count."""
    head = _HEAD.match(text)
    return head is not None and topic in terms(head[1] or head[2])


def _said(unit: Unit, topic: str, often: Sequence[str], times: int, days: int, quote: str) -> str:
    if script(quote) == "cjk":
        beside = f"，常同时说到{'、'.join(often)}" if often else ""
        return f"{unit.name or '用户'}在{days}天里至少有{times}条消息说到{topic}{beside}：“{quote}”"
    beside = f", often with {' and '.join(often)}" if often else ""
    on = f"on {days} days" if days > 1 else "on one day"
    return f"{unit.name or 'The user'} spoke of {topic} in at least {times} messages {on}{beside}: “{quote}”"
