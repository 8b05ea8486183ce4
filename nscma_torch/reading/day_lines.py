"""Build daily summaries and personal insights without a language model, from sentences quoted from the day.

A line is one sentence with its speaker, and with its date if lines from several days are combined. Sentences are never
joined or reworded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date

from nscma_torch.core.records import SourcedLine, Unit
from nscma_torch.reading.cues import find_cues, salience
from nscma_torch.reading.extractive_summary import covering_sentences
from nscma_torch.reading.noun_phrases import NO_THING
from nscma_torch.reading.passage import word_count
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.reading.topics import speakers_of, topic_words
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences
from nscma_torch.text.terms import terms

_LONGEST = 40  # words of a sentence
_LEAST = 3  # words that say something, of a line about a person: "I love it!" has one
_MOST = 3  # lines about a person on one day


def day_summary(group: Sequence[Unit], words: int) -> list[SourcedLine]:
    """Select informative sentences that cover most of a day's content within a word limit."""
    chosen = covering_sentences(_sentences(group), words, _value)
    return [_attributed(group, place, sentence) for place, sentence in chosen]


def day_insights(group: Sequence[Unit]) -> list[SourcedLine]:
    """Select the sentences from one person's day that reveal most about their likes, dislikes and concerns."""
    own = [
        (place, sentence)
        for place, sentence in _sentences(group)
        if {"self", "preference"} <= (cues := find_cues(sentence).keys())
        and "listener" not in cues
        and len(set(terms(sentence))) >= _LEAST
    ]
    best = sorted(own, key=lambda pair: (-salience(pair[1]), pair[0]))[:_MOST]
    return [_attributed(group, place, sentence) for place, sentence in sorted(best, key=lambda pair: pair[0])]


def summary_of_days(lines: Sequence[Unit], words: int) -> list[SourcedLine]:
    """Return the lines that cover most of the content shared by many days, each with its date."""
    chosen = covering_sentences(((place, line.text) for place, line in enumerate(lines)), words, _value)
    return [SourcedLine(_dated(lines[place]), (place,)) for place, _ in chosen]


def portrait(lines: Sequence[Unit], words: int) -> list[SourcedLine]:
    """Return the lines about a person that cover most of the topics recurring on several days.

    Each line cites all lines that contain its most recurrent topic. If that topic occurs on d days, the confidence is d
    / (d + 1).
    """
    count = Counter(term for line in lines for term in set(terms(line.text)))
    words_of = topic_words(lines, speakers_of(lines))
    words_of = {term: word for term, word in words_of.items() if word.lower() not in NO_THING}
    topical = {term for term in words_of if count[term] <= max(2, len(lines) / 2)}  # what most lines say is no topic
    held = [topical & set(terms(line.text)) for line in lines]
    days: dict[str, set[date]] = {}
    for line, own in zip(lines, held, strict=True):
        for term in own:
            days.setdefault(term, set()).add(line.occurred_at.date())
    recurring = [place for place, own in enumerate(held) if any(len(days[term]) > 1 for term in own)]
    found = []
    for place, _ in covering_sentences([(place, lines[place].text) for place in recurring], words, _value):
        topic = max(held[place], key=lambda term: (len(days[term]), term))
        cited = tuple(other for other, own in enumerate(held) if topic in own)
        found.append(SourcedLine(_dated(lines[place]), cited, len(days[topic]) / (len(days[topic]) + 1)))
    return found


def _sentences(group: Sequence[Unit]) -> Iterator[tuple[int, str]]:
    """Yield the sentences in a group with their messages' positions, omitting questions and long sentences."""
    for place, unit in enumerate(group):
        for span in split_sentences(unit.text):
            sentence = " ".join(unit.text[span.start : span.end].split())
            if sentence and not sentence.endswith(("?", "？")) and word_count(sentence) <= _LONGEST:
                yield place, sentence


def _value(sentence: str) -> float:
    """Score how informative a sentence is, from 0 (no cues) to 1."""
    return max(0.0, 2 * salience(sentence) - 1)


def _attributed(group: Sequence[Unit], place: int, sentence: str) -> SourcedLine:
    unit = group[place]
    colon = "：" if script(sentence) == "cjk" else ": "
    return SourcedLine(f"{unit.name or unit.role}{colon}{resolved(sentence, unit.occurred_at)}", (place,))


def _dated(line: Unit) -> str:
    if script(line.text) == "cjk":
        return f"{line.occurred_at:%Y-%m-%d}，{line.text}"
    return f"{format_day(line.occurred_at.date())}, {line.text}"
