"""Find question-answer pairs without a language model: a question, and its answer in the next turn by another speaker.

The trained reader locates the answer in the next turn. The question is kept verbatim with its addressee, and the answer
is the sentence found, because rules can't rewrite them to be self-contained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from nscma_torch.core.records import QAPair, Unit
from nscma_torch.reading.cues import salience
from nscma_torch.reading.noun_phrases import PRONOUNS
from nscma_torch.reading.reader import Reader, ReadResult
from nscma_torch.reading.reader_input import InputPassage, asked_by
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.reading.turn_forms import asks
from nscma_torch.text.pronouns import FIRST_PERSON, SECOND_PERSON, THINGS
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences
from nscma_torch.text.terms import terms

_WORD = re.compile(r"[^\W\d_]+")
# Least probability of evidence at which a reply answers. It is read without the turn that asks, beside which unrelated
# replies seem to answer; of .1 to .5 on ten replies that answer and ten that don't.
ANSWERED = 0.28
_UNCLEAR = (PRONOUNS | THINGS) - FIRST_PERSON - SECOND_PERSON  # somebody or something that the question does not name
_WORDS = 2  # of a question that say what it is about, at least; names of the two speakers do not count
_PLAIN = 0.5  # salience of a sentence without any cue, which tells nothing


class _Asked(NamedTuple):
    """A question, with its group and the position of its turn."""

    group: int
    place: int
    question: str


class AdjacentPairs:
    """Finds question-answer pairs in English conversations; the reader only knows English.

    Args:
        reader: returns the reader; called on first use.
    """

    def __init__(self, reader: Callable[[], Reader]) -> None:
        self._reader = reader

    def find(self, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:
        """Return the pairs in each group, in the order the questions were asked."""
        found: list[list[QAPair]] = [[] for _ in groups]
        asked = [one for number, group in enumerate(groups) for one in _asked(number, group)]
        if not asked:
            return found
        read = self._reader().read([_to(groups, one) for one in asked], [_passages(groups, one) for one in asked])
        for one, result in zip(asked, read, strict=True):
            answer = _answer(groups[one.group][one.place + 1], result)
            if answer:
                found[one.group].append(_pair(groups, one, answer))
        return found


def _asked(number: int, group: Sequence[Unit]) -> list[_Asked]:
    """Return the self-contained questions that are followed by another speaker's turn."""
    found = []
    for place, (turn, reply) in enumerate(pairwise(group)):
        if _who(turn) == _who(reply) or script(turn.text) == "cjk":
            continue
        sentences = [turn.text[span.start : span.end] for span in split_sentences(turn.text)]
        found += [_Asked(number, place, one) for one in sentences if asks(one) and _stands_alone(one, turn, reply)]
    return found


def _stands_alone(question: str, turn: Unit, reply: Unit) -> bool:
    """Return True if a question has no unclear pronouns, and enough words besides the speakers' names."""
    words = {word.casefold() for word in _WORD.findall(question)}
    named = {term for unit in (turn, reply) for term in terms(_who(unit))}
    return words.isdisjoint(_UNCLEAR) and len(set(terms(question)) - named) >= _WORDS


def _passages(groups: Sequence[Sequence[Unit]], one: _Asked) -> list[InputPassage]:
    reply = groups[one.group][one.place + 1]
    return [InputPassage(reply.text, _who(reply), reply.occurred_at)]


def _answer(reply: Unit, read: ReadResult) -> str:
    """Return the reply's sentence with the most likely answer, or "" if the reply doesn't seem to answer."""
    span = next((span for span in read.spans if span.of_text), None)
    if span is None or read.evidence[0] < ANSWERED:
        return ""
    sentences = split_sentences(reply.text)
    own = [one for one in sentences if one.start < span.end and span.start < one.end]
    sentence = reply.text[own[0].start : own[-1].end] if own else span.text
    return "" if asks(sentence) or salience(sentence) <= _PLAIN else resolved(sentence, reply.occurred_at)


def _pair(groups: Sequence[Sequence[Unit]], one: _Asked, answer: str) -> QAPair:
    turn, reply = groups[one.group][one.place : one.place + 2]
    question, said = f"{_who(turn)} asks {_who(reply)}: {one.question}", f"{_who(reply)}: {answer}"
    query = _addressed(reply, one.question)
    return QAPair(question, said, (one.place, one.place + 1), query, _who(turn), (one.place,))


def _to(groups: Sequence[Sequence[Unit]], one: _Asked) -> str:
    turn, reply = groups[one.group][one.place : one.place + 2]
    return asked_by(_who(turn), _addressed(reply, one.question))


def _addressed(reply: Unit, question: str) -> str:
    return f"{_who(reply)}, {question}"


def _who(unit: Unit) -> str:
    return unit.name or unit.role
