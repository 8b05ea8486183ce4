"""The prompt for structured records, which asks for a message's type and attributes and for the earlier turns that it
settles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

from pydantic import Field, create_model

from nscma_torch.core.records import MemoryType, Sentiment, Unit
from nscma_torch.llm.engines.contract import Turns
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.tasks import QUOTED, said, turns

_SHOWN = 600  # characters of the end of a turn before, where its question stands

_DESCRIBE = """Classify one message for a memory.
- type: what the message mainly is: "question" (it asks or requests something), "problem" (something is wrong, or was \
wrong and is solved), "plan" (what somebody will do, wants or hopes for; an appointment), "preference" (what somebody \
likes, dislikes or needs), "event" (what happened), "fact" (what is true), "remark" (small talk, thanks, \
encouragement, opinion, advice).
- entities: the people, places, organisations and things that it is about, the most important first, as written; not \
the speaker, not the listener, no dates.
- sentiment: the tone of the message.
- settled: true if the message itself says that its problem is solved, its plan carried out or its question answered; \
else false.
{settles}
{quoted}"""

_SETTLES = """- settles: the numbers of the messages in "before" whose question, problem or plan this message \
answers, solves or carries out; [] if none.
"""

_Name = Annotated[str, Field(min_length=1, max_length=80)]


class DescriptionForm(ReplyForm):
    """What a message is."""

    type: MemoryType
    entities: list[_Name] = Field(max_length=8)
    sentiment: Sentiment
    settled: bool


class SettlingForm(DescriptionForm):
    """The same, and which turns before it settles."""

    settles: Sequence[int]


@cache
def description_form(before: int) -> type[DescriptionForm]:
    """Return the form for describing a message that is shown with `before` earlier turns."""
    if not before:
        return DescriptionForm
    number = Annotated[int, Field(ge=1, le=before)]
    settles: Any = (list[number], Field(max_length=before))
    return create_model("DescriptionAfterTurns", __base__=SettlingForm, settles=settles)


def description(unit: Unit, before: Sequence[Unit], listener: str) -> Turns:
    """Build the prompt that asks for a message's description."""
    system = _DESCRIBE.format(settles=_SETTLES if before else "", quoted=QUOTED)
    data: dict[str, Any] = {"message": said(unit), "listener": listener}
    if before:
        data["before"] = {str(i): said(replace(turn, text=turn.text[-_SHOWN:])) for i, turn in enumerate(before, 1)}
    return turns(system, data, "File the message under DATA.")
