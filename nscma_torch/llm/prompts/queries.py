"""Prompts for query strategies: hypothetical passages that answer a question (HyDE), and subquestions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nscma_torch.llm.engines.contract import Turns
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.tasks import QUOTED, turns

_IMAGINE = """Write what a message in a memory of conversations might say if it answered a question. It is only \
compared with the real messages, so invent names and dates where the answer needs them. passages: one to three, each \
of one or two sentences, in the words that people use when they talk.

{quoted}"""

_DIVIDE = """Split a question to a memory of conversations into subquestions. questions: at most four, one fact each, \
in the order in which they must be answered. Each must be understandable alone: names instead of pronouns. If the \
question asks for one fact only, the list is empty.

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
