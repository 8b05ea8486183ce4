"""The prompt for insights: what alike messages of one person show about that person."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from nscma_torch.llm.engines.contract import Turns
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.tasks import QUOTED, said, turns
from nscma_torch.records import Unit

MOST_SHOWN = 40  # messages that one request shows

_INSIGHTS = """You read messages of one person that are alike, and write down what they show about that person beyond \
the single message: lasting interests, knowledge, habits, wishes, relations, or what the person keeps coming back to.

insights: at most three, none where the messages show nothing that lasts, each with
- text: one sentence about the person, by the name that stands under "by" ("The user" for "user"), with names and \
numbers as they are written;
- evidence: the numbers of all messages that show it, two at least;
- confidence: "high" where several messages say it, "medium" where they suggest it, "low" where you guess.

Add nothing that the messages do not show.

{quoted}"""


class InsightForm(ReplyForm):
    """One insight."""

    text: str = Field(min_length=1, max_length=300)
    evidence: Sequence[int]
    confidence: Literal["high", "medium", "low"]


class InsightsForm(ReplyForm):
    """What alike messages show."""

    insights: Sequence[InsightForm]


@cache
def insights_form(messages: int) -> type[InsightsForm]:
    """Insights from so many messages."""
    number = Annotated[int, Field(ge=1, le=messages)]
    evidence: Any = (list[number], Field(min_length=1, max_length=min(messages, MOST_SHOWN)))
    insight = create_model("InsightFromMessages", __base__=InsightForm, evidence=evidence)
    return create_model("InsightsFromMessages", __base__=InsightsForm, insights=(list[insight], Field(max_length=3)))


def insights(units: Sequence[Unit]) -> Turns:
    """What do these messages show about who wrote them?"""
    data = {"texts": {str(i): said(unit) for i, unit in enumerate(units, 1)}}
    return turns(_INSIGHTS.format(quoted=QUOTED), data, "Write down what the texts under DATA show.")
