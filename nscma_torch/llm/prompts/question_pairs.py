"""The prompt for question-answer pairs: questions asked and answered across a conversation or in single turns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import Field, create_model

from nscma_torch.core.records import Unit
from nscma_torch.llm.engines.contract import Turns
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.tasks import QUOTED, said, turns

MOST_SHOWN = 40  # messages that one request shows
MOST_PAIRS = 12  # that one request brings

_PAIRS = f"""Read a conversation and write down the questions that it answers, for somebody who hasn't read it and \
will ask them later. Start with the question that the whole conversation is about, if it was answered; then those of \
single turns. Leave out unanswered questions, greetings, and what nobody will ask again.

pairs: at most {MOST_PAIRS}, none if the texts answer nothing, each with
- question: understandable alone: names instead of pronouns, and what or whom it is about;
- answer: as short as possible, in the words of the texts, with names, numbers and dates as written;
- evidence: the numbers of the texts that contain the answer, at most four.

Add nothing that the texts don't say.

{{quoted}}"""


class PairForm(ReplyForm):
    """One pair."""

    question: str = Field(min_length=1, max_length=300)
    answer: str = Field(min_length=1, max_length=300)
    evidence: Sequence[int]


class PairsForm(ReplyForm):
    """What a conversation asks and answers."""

    pairs: Sequence[PairForm]


@cache
def pairs_form(messages: int) -> type[PairsForm]:
    """Return the form for pairs found in `messages` messages."""
    number = Annotated[int, Field(ge=1, le=messages)]
    evidence: Any = (list[number], Field(min_length=1, max_length=min(messages, 4)))
    pair = create_model("PairFromMessages", __base__=PairForm, evidence=evidence)
    return create_model("PairsFromMessages", __base__=PairsForm, pairs=(list[pair], Field(max_length=MOST_PAIRS)))


def question_pairs(units: Sequence[Unit]) -> Turns:
    """Build the prompt that asks for the questions and answers in a conversation."""
    data = {"texts": {str(i): said(unit) for i, unit in enumerate(units, 1)}}
    return turns(_PAIRS.format(quoted=QUOTED), data, "Write down the questions that the texts under DATA answer.")
