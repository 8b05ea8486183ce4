"""A passage about somebody else, a wish or a proposal is no evidence for a question about who asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from nscma_torch.answering.subject_veto import SubjectVeto
from nscma_torch.core.records import Scope, Unit
from nscma_torch.reading.reader import Reader, ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS, STANCES
from nscma_torch.reading.relations import load_relations

SAID = datetime(2026, 3, 5, tzinfo=UTC)


@dataclass
class Subjects:
    """Reads `subject` ("" for the speaker) in `stance` wherever the passage still has a text."""

    subject: str
    stance: str = "holds"

    def read(self, _: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        (own,) = passages
        text, last = own[-1].text, len(own) - 1
        at = text.find(self.subject)
        span = ReadSpan(self.subject or own[-1].speaker, last, at, at + len(self.subject), bool(self.subject), 0.9)
        stances = tuple(float(one == self.stance) for one in STANCES)
        evidence = 0.9 if text.rstrip(" .").count(" ") > 2 else 0.1
        return [ReadResult((span,), 0.9, (*[0.0] * last, evidence), tuple(float(k == "span") for k in KINDS), stances)]


def reason(
    text: str,
    question: str,
    subject: str,
    stance: str = "holds",
    role: str = "user",
    kind: str = "yes",
    answer: str = "x",
) -> str:
    veto = SubjectVeto(lambda: cast(Reader, Subjects(subject, stance)), load_relations())
    unit = Unit("1", Scope("u"), "chunk", text, (), SAID, role=cast(Any, role))
    return veto.reason(question, answer, kind, [InputPassage(text, role, SAID)], 0, unit, "user")


@pytest.mark.parametrize(
    ("text", "question", "subject"),
    [
        ("My daughter has diabetes now.", "Do I have diabetes?", "My daughter"),
        ("My friend Lea is allergic to cats.", "Am I allergic to cats?", "Lea"),
        ("My boss's car is a Volvo.", "What is my car?", "My boss"),
        ("My colleague Tom lives in Oslo.", "Where does my brother live?", "Tom"),
        ("Our cleaner is from Peru.", "Am I from Peru?", "Our cleaner"),
        ("The plumber speaks Polish.", "Do I speak Polish?", "plumber"),
        ("My gardener plays the cello.", "Do I play the cello?", "My gardener"),
    ],
)
def test_another_subject_vetoes(text: str, question: str, subject: str) -> None:
    assert subject in reason(text, question, subject)


@pytest.mark.parametrize("stance", ["wished", "supposed", "fiction", "denied"])
def test_what_is_not_said_to_be_so_is_no_yes(stance: str) -> None:
    assert reason("I wish I had a dog.", "Do I have a dog?", "", stance)


def test_a_denial_is_a_no() -> None:
    assert reason("I do not eat any meat.", "Do I eat meat?", "", "denied", kind="no") == ""


def test_what_is_said_to_be_so_is_no_no() -> None:
    text = "I tested positive for coeliac disease."
    assert "asserts it" in reason(text, "Do I have coeliac disease?", "", kind="no")
    assert reason("I have no time.", "Do I have time?", "", "ended", kind="no") == ""


@pytest.mark.parametrize(
    ("text", "question", "whose"),
    [
        ("My brother's wife is called Noor.", "What is my wife called?", "brother's wife"),
        ("My boss's daughter is called Ilse.", "What is my daughter's name?", "boss's daughter"),
        ("Tom brought his husband Per.", "Who is my husband?", "his husband"),
    ],
)
def test_the_people_of_others_are_not_who_is_asked_about(text: str, question: str, whose: str) -> None:
    assert whose in reason(text, question, "", kind="span")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("My brother's wife met my wife Noor.", "What is my wife called?"),
        ("My brother's wife is called Noor.", "What is my brother's wife called?"),
        ("Noor and I got married.", "What is my wife called?"),
    ],
)
def test_the_asked_person_may_be_spoken_of(text: str, question: str) -> None:
    assert reason(text, question, "", kind="span") == ""


def test_who_speaks_with_somebody_is_no_other() -> None:
    assert reason("My mother and I have hay fever.", "Do I have hay fever?", "My mother and I") == ""


def test_an_open_question_is_no_answer() -> None:
    assert reason("I don't know if I have asthma.", "Do I have asthma?", "", "denied", kind="no")


def test_the_word_of_the_assistant_is_not_the_users() -> None:
    text = "You could take 400 mg ibuprofen."
    assert "assistant" in reason(text, "How much ibuprofen do I take?", "You", "future", role="assistant")
    assert reason("You booked Casa Aurora, as you said.", "Which hotel did I book?", "You", role="assistant") == ""
    assert reason(text, "How much ibuprofen did you suggest to me?", "", role="assistant") == ""


def test_handed_over_text_is_not_the_users_word() -> None:
    assert "quotes somebody" in reason("Translate: I have two small cats.", "Do I have cats?", "")
    assert reason("Translate: I have two small cats.", "What text did I ask to translate?", "") == ""
    text = "This is for my teacher, please translate it: I love penicillin."
    assert "quotes somebody" in reason(text, "What do I love?", "", kind="span", answer="penicillin")
    assert reason(text, "Who is it for?", "", kind="span", answer="my teacher") == ""


@pytest.mark.parametrize(
    ("text", "question", "subject"),
    [
        ("I have asthma and an inhaler.", "Do I have asthma?", ""),
        ("Our dog is called Rex.", "What is my dog's name?", "Our dog"),
        ("My brother Tom lives in Oslo.", "Where does my brother live?", "Tom"),
        ("My mum works at Shell now.", "Where does my mother work?", "My mum"),
    ],
)
def test_the_subject_that_was_asked_about_does_not_veto(text: str, question: str, subject: str) -> None:
    assert reason(text, question, subject) == ""
