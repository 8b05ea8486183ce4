"""Whom a question is about, and the question for that subject."""

from __future__ import annotations

import pytest

from nscma_torch.reading.asked_subject import asked_subject, only_of_asker

CASES = """
Do I have diabetes? |  | who does have diabetes?
Am I pregnant? |  | who is pregnant?
So, don't I eat meat? |  | who does eat meat?
Have I ever been to Japan? |  | who has ever been to Japan?
What car do I have? |  | who does have car X?
What am I allergic to? |  | who is allergic to X?
How much ibuprofen do I take? |  | who does take ibuprofen X?
What is my dog's name? |  | whose dog's name is X?
Where does my older brother work? | brother | who does work X?
What's my sister's birthday? | sister | whose birthday is X?
How old is my dad? | dad | who is X?
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_a_question_is_turned_into_one_for_its_subject(case: str) -> None:
    question, role, subject_question = (part.strip() for part in case.split("|"))
    asked = asked_subject(question)
    assert asked is not None
    assert (asked.role, asked.question("X")) == (role, subject_question)


@pytest.mark.parametrize("question", ["Who is my boss?", "Where does Tom live?", "Who gave me a lamp?", "Hello!"])
def test_other_questions_are_about_nobody_of_theirs(question: str) -> None:
    assert asked_subject(question) is None


def test_a_question_to_the_assistant_may_be_answered_by_its_word() -> None:
    assert only_of_asker("How much ibuprofen do I take?")
    assert not only_of_asker("Which car did you suggest to me?")
    assert not only_of_asker("Where does Tom live?")
