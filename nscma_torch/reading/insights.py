"""Insights without a language model: what a cluster of a person's messages is about, counted, with a sentence of it.

Every part of such a line can be checked: each of its sources holds the first word that it names, and the sentence is
one of theirs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from nscma_torch.reading.cues import find_cues, salience
from nscma_torch.records import SourcedLine, Unit
from nscma_torch.text.names import name_key
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences
from nscma_torch.text.terms import terms

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_TOPICAL = {"person", "name"}  # kinds of cue that a topic may be; the others are verbs, times and small talk
_LEAST = 3  # messages that hold a topic
_SHARE = 0.3  # of a cluster's messages that hold its topic, at least
_BESIDE = 1 / 3  # of those that hold a further word, at least
_WORDS = 40  # longest sentence that is quoted


def insights(groups: Sequence[Sequence[Unit]]) -> list[list[SourcedLine]]:
    """At most one line a group: the topic that tells it apart from the other groups, and what it goes with.

    A person has one line a topic. Alike messages are not all that hold it, so there may be more than a line counts.
    """
    held = [[set(terms(unit.text)) for unit in group] for group in groups]
    counts = [Counter(term for own in group for term in own) for group in held]
    everywhere = sum(counts, Counter[str]())
    messages = sum(len(group) for group in groups)
    speakers = tuple(name for name in {name_key(unit.name or "") for group in groups for unit in group} if name)
    found = []
    used: set[tuple[str | None, str]] = set()  # names and topics
    for group, own, count in zip(groups, held, counts, strict=True):
        written = _words(group, speakers)
        words = {term: word for term, word in written.items() if (group[0].name, term) not in used}
        outside = {term: (1 + messages - len(group)) / (1 + everywhere[term] - count[term]) for term in count}
        topic = _topic(group, count, outside, words)
        line = None if topic is None else _line(group, own, outside, written, topic)
        found.append([] if line is None else [line])
        if topic is not None and line is not None:
            used.add((group[0].name, topic))
    return found


def _topic(
    group: Sequence[Unit], count: Counter[str], outside: Mapping[str, float], words: Mapping[str, str]
) -> str | None:
    """The term that most messages of a group hold, and few others."""
    topics = [term for term, n in count.items() if term in words and n >= max(_LEAST, _SHARE * len(group))]
    return max(topics, key=lambda term: (count[term] * math.log(1 + outside[term]), term), default=None)


def _line(
    group: Sequence[Unit],
    held: Sequence[set[str]],
    outside: Mapping[str, float],
    words: Mapping[str, str],
    topic: str,
) -> SourcedLine | None:
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


def _words(group: Sequence[Unit], speakers: Sequence[str]) -> dict[str, str]:
    """How each term that may be a topic is mostly written: no cue of time or small talk, and nobody who speaks.

    Whoever is spoken to is named in passing, and often by the beginning of the name.
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
    """The statement in the first person that holds the topic, and says most beside."""
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


def _said(unit: Unit, topic: str, often: Sequence[str], times: int, days: int, quote: str) -> str:
    if script(quote) == "cjk":
        beside = f"，常同时说到{'、'.join(often)}" if often else ""
        return f"{unit.name or '用户'}在{days}天里至少有{times}条消息说到{topic}{beside}：“{quote}”"
    beside = f", often with {' and '.join(often)}" if often else ""
    on = f"on {days} days" if days > 1 else "on one day"
    return f"{unit.name or 'The user'} spoke of {topic} in at least {times} messages {on}{beside}: “{quote}”"
