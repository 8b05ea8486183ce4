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
        "Read similar messages by one person, and write down what they show about that person beyond the single "
        "message: lasting interests, knowledge, habits, wishes, relationships, or recurring topics.",
        'none if the messages show nothing lasting. One sentence each about the person, with the name under "by" '
        '("The user" for "user")',
        most=3,
        least=2,
    ),
    "daily_summary": LinesTask(
        "Summarize what was said in a conversation on one day, for a memory.",
        "the events and main points, the most important first, with who said them or whom they are about, in at most "
        "{words} words in total. One sentence each, understandable alone: names instead of pronouns",
        most=10,
    ),
    "global_summary": LinesTask(
        "Summarize the summaries of many days, for a memory.",
        "what matters most in all these days and how it developed, in at most {words} words in total. One sentence "
        "each, with its day if that matters, understandable alone",
        most=20,
    ),
    "daily_insight": LinesTask(
        "Read what one person said on one day, and write down what it shows about that person's personality and mood.",
        'none if it shows nothing about them. One sentence each about the person, with the name under "by" ("The user" '
        'for "user"): a trait, a preference, what the person cares about, a mood and its reason',
        most=3,
    ),
    "portrait": LinesTask(
        "Read what single days showed about one person's personality and mood, and write a portrait of that person.",
        "who the person is, what lasts and what has changed, in at most {words} words in total. One sentence each, "
        "with names as written",
        most=12,
    ),
}
REFLECTION = LinesTask(
    "Reflect on a question, using numbered memories: messages, and your earlier conclusions.",
    "what can be concluded about the question beyond the single memory; none if the memories say nothing about it. "
    "One sentence each, understandable alone: names instead of pronouns",
    most=5,
)

_SYSTEM = """{role}

lines: at most {most}, {what}. Each with
- text: with names and numbers as written;
- evidence: the numbers of all texts that support it{least};
- confidence: "high" if the texts say it, "medium" if they suggest it, "low" if you guess.

Add nothing that the texts don't support.

{quoted}"""

_QUESTIONS = """Read recent memories of what people said. questions: at most {most}, the most important general \
questions about these people that the memories answer, each about one person and one topic, with names as written.

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
    least = "" if task.least == 1 else f", at least {task.least}"
    what = task.what if words is None else task.what.format(words=words)
    system = _SYSTEM.format(role=task.role, most=task.most, what=what, least=least, quoted=QUOTED)
    texts = {"texts": {str(i): said(unit) for i, unit in enumerate(units, 1)}}
    data = {"question": question, **texts} if question else texts
    return turns(system, data, "Write the lines on the texts under DATA.")


def salient_questions(memories: Sequence[Unit], most: int) -> Turns:
    """Build the prompt that asks for questions about these memories."""
    data = {"memories": [said(unit) for unit in memories]}
    return turns(_QUESTIONS.format(most=most, quoted=QUOTED), data, "Ask the questions that DATA answers.")
