"""Prompts for query strategies: hypothetical passages that answer a question (HyDE), and subquestions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nscma_torch.llm.engines.contract import Turns
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.tasks import QUOTED, turns

_IMAGINE = """You write what a message in a memory of conversations might say if it answered a question. Nobody takes \
it for true: it is only compared with the messages that there are. passages: one to three, each of one or two \
sentences, in the words in which people talk, with made-up names and dates where the answer needs them.

{quoted}"""

_DIVIDE = """You take a question to a memory of conversations apart. questions: those that have to be answered first, \
one fact each, at most four, in the order in which they are needed. Each is to be understood by itself: names instead \
of pronouns. Where the question asks for one fact only, the list is empty.

{quoted}"""

_Passage = Annotated[str, Field(min_length=1, max_length=400)]
_Question = Annotated[str, Field(min_length=1, max_length=300)]


class PassagesForm(ReplyForm):
    """Passages that might answer."""

    passages: list[_Passage] = Field(min_length=1, max_length=3)


class QuestionsForm(ReplyForm):
    """The parts of a question."""

    questions: list[_Question] = Field(max_length=4)


def imagining(question: str) -> Turns:
    """Build the prompt that asks for a hypothetical answer."""
    return turns(
        _IMAGINE.format(quoted=QUOTED), {"question": question}, "Write the passages for the question under DATA."
    )


def dividing(question: str) -> Turns:
    """Build the prompt that asks for subquestions."""
    return turns(_DIVIDE.format(quoted=QUOTED), {"question": question}, "Take the question under DATA apart.")
