"""Reflect without a language model: find the most salient topics and how often they came up, with an example sentence.

If there is an earlier reflection on a topic, the topic is counted again, and the new line also cites that reflection.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.reading.cues import salience
from nscma_torch.reading.topics import LEAST, is_on, nouns_of, speakers_of, topic_line, topic_words
from nscma_torch.text.names import name_key
from nscma_torch.text.scripts import script
from nscma_torch.text.terms import terms

_COVERED = 0.5  # share of a topic's messages that a more salient topic may hold


def salient_questions(memories: Sequence[Unit], most: int) -> list[str]:
    """Return at most `most` questions about the topics discussed most by each speaker, the most salient first.

    A topic's weight is the total salience of its messages, and is higher if other speakers rarely mention the topic. If
    there is an earlier reflection on it, only later messages count.
    """
    said = [place for place, unit in enumerate(memories) if unit.kind == "chunk"]
    held = {place: set(terms(memories[place].text)) for place in said}
    everywhere = Counter(term for own in held.values() for term in own)
    ranked: list[tuple[float, str, str | None, frozenset[int]]] = []
    for person in dict.fromkeys(memories[place].name for place in said):
        places = [place for place in said if memories[place].name == person]
        words = topic_words([memories[place] for place in places], speakers_of(memories))
        nouns = nouns_of([memories[place].text for place in places])
        count = Counter(term for place in places for term in held[place] if term in words)
        for term, n in count.items():
            told = [place for place, unit in enumerate(memories) if _told(unit, person, term)]
            own = frozenset(place for place in places if term in held[place] and place > max(told, default=-1))
            if len(own) >= LEAST and term in nouns:
                rarity = math.log(1 + (1 + len(said) - len(places)) / (1 + everywhere[term] - n))
                weight = sum(salience(memories[place].text) for place in own) * rarity
                ranked.append((weight, words[term], person, own))
    ranked.sort(key=lambda one: (-one[0], one[1], one[2] or ""))
    chosen: list[tuple[str, str | None, frozenset[int]]] = []
    for _, word, person, own in ranked:
        if len(chosen) < most and all(len(own & other) <= _COVERED * len(own) for _, _, other in chosen):
            chosen.append((word, person, own))
    return [_question(word, person) for word, person, _ in chosen]


def reflections(question: str, memories: Sequence[Unit]) -> list[SourcedLine]:
    """Count how often the person named in a question mentioned its topic.

    Returns an empty list if the result is already known.
    """
    asked = set(terms(question))
    said = [place for place, unit in enumerate(memories) if unit.kind == "chunk"]
    people = {memories[place].name for place in said}
    named = {person for person in people if person and asked & set(terms(person))} or people & {None} or people
    lines = []
    for person in sorted(named, key=lambda name: name or ""):
        own = [place for place in said if memories[place].name == person]
        line = _line(asked, memories, own)
        if line is not None:
            lines.append(line)
    return sorted(lines, key=lambda line: (-len(line.sources), line.text))[:1]


def _line(asked: set[str], memories: Sequence[Unit], places: Sequence[int]) -> SourcedLine | None:
    group = [memories[place] for place in places]
    held = [set(terms(unit.text)) for unit in group]
    words = topic_words(group, speakers_of(memories))
    count = Counter(term for own in held for term in own if term in words and term in asked)
    topic = max(count, key=lambda term: (count[term], term), default=None)
    if topic is None or count[topic] < LEAST:
        return None
    line = topic_line(group, held, dict.fromkeys(words, 1.0), words, topic)
    earlier = [place for place, unit in enumerate(memories) if _told(unit, group[0].name, topic)]
    if line is None or any(memories[place].text == line.text for place in earlier):
        return None
    return SourcedLine(line.text, (*(places[source] for source in line.sources), *earlier), line.confidence)


def _told(memory: Unit, person: str | None, topic: str) -> bool:
    """Return True if a memory is a reflection on this person's topic."""
    own = name_key(memory.name or "") == name_key(person or "")
    return own and memory.kind == "reflection" and is_on(memory.text, topic)


def _question(word: str, person: str | None) -> str:
    if script(word) == "cjk":
        return f"{person or '用户'}说过哪些关于{word}的事？"
    return f"What did {person or 'the user'} say about {word}?"
