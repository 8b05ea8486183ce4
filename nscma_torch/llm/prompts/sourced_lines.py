"""Prompts that ask for lines about numbered texts, where each line cites the numbers of its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from nscma_torch.core.records import Unit
from nscma_torch.llm.engines.contract import Turns
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.tasks import QUOTED, said, turns

MOST_SHOWN = 40  # texts that one request shows


@dataclass(frozen=True, slots=True)
class LinesTask:
    """The task of deriving lines from texts.

    Attributes:
        role: the model's role.
        what: description of the lines and their wording. `{words}` is replaced by the maximum number of words in all
            lines.
        most: maximum lines in one reply.
        least: minimum texts that a line must cite.
    """

    role: str
    what: str
    most: int
    least: int = 1


#: By kind of `core.derived_kinds`.
LINES = {
    "insight": LinesTask(
        "You read messages of one person that are alike, and write down what they show about that person beyond the "
        "single message: lasting interests, knowledge, habits, wishes, relations, or what the person keeps coming "
        "back to.",
        "none where the messages show nothing that lasts. One sentence each about the person, by the name under "
        '"by" ("The user" for "user")',
        most=3,
        least=2,
    ),
    "daily_summary": LinesTask(
        "You sum up what was said in a conversation on one day, for a memory.",
        "the events and the main things that were told, the most important first, with who told them or whom they "
        "are about, in at most {words} words together. One sentence each, to be understood alone: names instead of "
        "pronouns",
        most=10,
    ),
    "global_summary": LinesTask(
        "You sum up the summaries of many days, for a memory.",
        "what matters most of all these days, and how it went on from one to another, in at most {words} words "
        "together. One sentence each, with its day where that matters, to be understood by itself",
        most=20,
    ),
    "daily_insight": LinesTask(
        "You read what one person said on one day, and write down what it shows of that person's personality and mood.",
        "none where it shows nothing of these. One sentence each about the person, by the name that stands under "
        '"by" ("The user" for "user"): a trait, a liking, what the person cares for, a mood and its reason',
        most=3,
    ),
    "portrait": LinesTask(
        "You read what single days showed of one person's personality and mood, and write a portrait of that person.",
        "who the person is, what lasts and what has changed, in at most {words} words together. One sentence each, "
        "with names as they are written",
        most=12,
    ),
}
REFLECTION = LinesTask(
    "You reflect on a question by numbered memories: messages, and conclusions that you drew before.",
    "what can be concluded about the question beyond the single memory; none where the memories tell nothing about it. "
    "One sentence each, to be understood by itself: names instead of pronouns",
    most=5,
)

_SYSTEM = """{role}

lines: at most {most}, {what}. Each with
- text: with names and numbers as they are written;
- evidence: the numbers of all texts that show it{least};
- confidence: "high" where the texts say it, "medium" where they suggest it, "low" where you guess.

Add nothing that the texts do not show.

{quoted}"""

_QUESTIONS = """You read recent memories of what people said. questions: at most {most}, the most salient high-level \
questions that can be answered about these people by what they said, each about one person and matter, with the names \
as they are written.

{quoted}"""


class LineForm(ReplyForm):
    """One line."""

    text: str = Field(min_length=1, max_length=300)
    evidence: Sequence[int]
    confidence: Literal["high", "medium", "low"]


class LinesForm(ReplyForm):
    """Lines about numbered texts."""

    lines: Sequence[LineForm]


class SalientQuestionsForm(ReplyForm):
    """Questions that memories raise."""

    questions: Sequence[str]


@cache
def lines_form(texts: int, most: int) -> type[LinesForm]:
    """Return the form for at most `most` lines about `texts` texts."""
    number = Annotated[int, Field(ge=1, le=texts)]
    evidence: Any = (list[number], Field(min_length=1, max_length=min(texts, MOST_SHOWN)))
    line = create_model("LineAboutTexts", __base__=LineForm, evidence=evidence)
    return create_model("LinesAboutTexts", __base__=LinesForm, lines=(list[line], Field(max_length=most)))


@cache
def salient_questions_form(most: int) -> type[SalientQuestionsForm]:
    """Return the form for at most `most` questions."""
    question = Annotated[str, Field(min_length=1, max_length=300)]
    questions: Any = (list[question], Field(max_length=most))
    return create_model("SalientQuestions", __base__=SalientQuestionsForm, questions=questions)


def sourced_lines(task: LinesTask, units: Sequence[Unit], *, words: int | None = None, question: str = "") -> Turns:
    """Build the prompt that asks for lines about the texts."""
    least = "" if task.least == 1 else f", {task.least} at least"
    what = task.what if words is None else task.what.format(words=words)
    system = _SYSTEM.format(role=task.role, most=task.most, what=what, least=least, quoted=QUOTED)
    texts = {"texts": {str(i): said(unit) for i, unit in enumerate(units, 1)}}
    data = {"question": question, **texts} if question else texts
    return turns(system, data, "Write the lines on the texts under DATA.")


def salient_questions(memories: Sequence[Unit], most: int) -> Turns:
    """Build the prompt that asks for questions about these memories."""
    data = {"memories": [said(unit) for unit in memories]}
    return turns(_QUESTIONS.format(most=most, quoted=QUOTED), data, "Ask the questions that DATA answers.")
