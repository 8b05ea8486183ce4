"""Check the reader's answer against the question's subject.

Answers about another subject, wishes and proposals are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from nscma_torch.core.records import Unit
from nscma_torch.reading.asked_subject import AskedSubject, asked_subject, only_of_asker
from nscma_torch.reading.noun_phrases import PERSON_NOUN, PERSON_NOUNS
from nscma_torch.reading.own_words import is_in_own_words, names_a_text, own_words
from nscma_torch.reading.phrase_names import name_of
from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.role_mentions import called
from nscma_torch.reading.roles import of_others, same_role
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.text.names import name_key
from nscma_torch.text.pronouns import FIRST_PERSON, SECOND_PERSON

NAMED = 0.3  # share of a subject from which it counts; "My aunt" of "My aunt's car" shares with the longer spans
SURE, SURER = 0.5, 0.7  # probability of a stance from which it counts, for yes or no and for other questions
TOLD = 0.5  # evidence that a passage tells something of its speaker's own word
SUREST = 0.85  # share of a bare name from which it counts for other questions than yes or no
_PROPOSED = "the assistant said it, and the question is about the asker"
_UNSAID = "the passage does not assert it: it wishes, supposes, asks or denies it"
_HELD = "the passage asserts it"
_UNREAL = frozenset({"wished", "supposed", "fiction"})
_OPEN = re.compile(
    r"\b(?:know|knows|sure|certain|wonder\w*|ask\w*|doubt\w*|unclear|idea)\b[^.?!]{0,30}\b(?:if|whether)\b",
    re.IGNORECASE,
)
_SPEAKING = frozenset({"i", "me", "us", "myself"})  # "my mother and I" includes the speaker
_ROLE = re.compile(rf"\s({PERSON_NOUN.pattern})$", re.IGNORECASE)


class SubjectVeto:
    """Asks the fact reader whom a passage with an answer is about.

    Args:
        reader: creates the fact reader on first use.
        schema: defines which nouns can refer to the same person.
    """

    def __init__(self, reader: Callable[[], Reader], schema: Schema) -> None:
        self._reader = reader
        self._schema = schema

    def reason(
        self,
        question: str,
        answer: str,
        verdict: str,
        passages: Sequence[InputPassage],
        place: int,
        unit: Unit,
        asker: str,
    ) -> str:
        """Return the reason why the passage at `place` isn't evidence for the answer, or "" if it can be evidence.

        Args:
            answer: the reader's answer; for a yes-or-no question, `verdict` is "yes" or "no".
            passages: the passages, in the order they were said.
            unit: the passage's unit.
            asker: the asker's name.
        """
        if whose := of_others(question, passages[place].text, self._schema):
            return f"the passage is about {whose!r}"
        asked = asked_subject(question)
        proposed = unit.role == "assistant" and only_of_asker(question)
        if asked is None or (asked.whether and verdict not in ("yes", "no")):
            return _PROPOSED if proposed else ""
        own = passages[place]
        heard = own_words(own.text) if is_in_own_words(unit) and not names_a_text(question) else own.text
        before = [replace(one, context=True) for one in passages[max(0, place - TURNS_BEFORE) : place]]
        (read,) = self._reader().read([asked.question(answer)], [[*before, replace(own, text=heard, context=False)]])
        if heard != own.text and (read.evidence[-1] < TOLD or (answer in own.text and answer not in heard)):
            return "the passage quotes somebody else"
        told = dict(zip(STANCES, read.stances, strict=True))
        unreal = sum(told[one] for one in _UNREAL)
        if asked.whether:
            unsaid = unreal + (told["denied"] if verdict == "yes" else 0.0)
            if unsaid >= SURE or _OPEN.search(heard):
                return _UNSAID
            if verdict == "no" and told["holds"] >= SUREST and _is_of(read, [*before, own], asker):
                return _HELD
        elif unreal >= SURER and verdict != "when":
            return _UNSAID
        found = self._another(asked, read, [*before, own], asker)
        if proposed and not found:
            found = "" if told["holds"] + told["ended"] >= SURER and _is_of(read, [*before, own], asker) else _PROPOSED
        return found

    def _another(self, asked: AskedSubject, read: ReadResult, passages: Sequence[InputPassage], asker: str) -> str:
        """Return the reason why a passage is certainly about somebody other than the question's subject, else ""."""
        best = next(iter(read.spans), None)
        if best is None or best.share < NAMED or not _SPEAKING.isdisjoint(best.text.lower().split()[1:]):
            return ""
        whom, role = _subject(best, passages[best.passage])
        if asked.role:
            other = role != "" and not same_role(role, asked.role, self._schema)
        elif _is_speaker(best):  # in a conversation of two, the speaker is often confused with the other
            other = asked.whether and name_key(whom) != name_key(asker)
        else:  # a name beside a value may be unrelated: "taking white. Kinga is sulking"
            named = whom[:1].isupper() and name_key(whom) != name_key(asker)
            described = asked.whether and best.text.lower() not in SECOND_PERSON  # "our cleaner", "the plumber"
            other = role != "" or (best.share >= SURE and described) or (named and best.share >= SUREST)
        return f"the passage is about {best.text!r}" if other else ""


def _is_of(read: ReadResult, passages: Sequence[InputPassage], asker: str) -> bool:
    """Return True if a passage is certainly about the asker, whom an assistant addresses as "you"."""
    best = read.spans[0]
    you = best.of_text and best.text.lower() in SECOND_PERSON
    return best.share >= SURE and (you or name_key(_subject(best, passages[best.passage])[0]) == name_key(asker))


def _is_speaker(span: ReadSpan) -> bool:
    return not span.of_text or span.text.lower() in FIRST_PERSON | {"my", "our"}


def _subject(span: ReadSpan, passage: InputPassage) -> tuple[str, str]:
    """Return the name of a span's subject, and the noun that the passage uses for that person: "Tom", "brother"."""
    if _is_speaker(span):
        return passage.speaker, ""
    named = name_of(span.text, passage.speaker, "")
    if role := _ROLE.search(named):
        return named, role[1].lower()
    return named, called(named, passage.text, PERSON_NOUNS) if named[:1].isupper() else ""
