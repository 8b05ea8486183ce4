"""Conversations with questions, of labelled dialogues and of LoCoMo, in one form, and how an answer is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from eval.experiments.every_nth import EveryNth
from eval.experiments.reading.asked_tasks import HALVES, USER
from eval.experiments.reading.conversation_files import Conversation, load
from eval.harness.contract import Sample
from eval.metrics.answer_metrics import locomo_f1, normalized
from eval.tasks.locomo import Locomo
from nscma_torch.core.records import Answer, Message
from nscma_torch.demo.short_answers import Gold, judge

UNANSWERABLE = "unanswerable"  # as a type of question


@dataclass(frozen=True, slots=True)
class CurveQuestion:
    """One question.

    Attributes:
        gold: of LoCoMo the answer as `normalized`.
        category, answer: LoCoMo's own; 0 and "" for a dialogue.
    """

    type: str
    text: str
    gold: Gold
    category: int = 0
    answer: str = ""


@dataclass(frozen=True, slots=True)
class CurveSample:
    """A conversation, and what `user` asks after it; `source` is where it comes from."""

    source: str
    name: str
    user: str
    messages: Sequence[Message]
    questions: Sequence[CurveQuestion]
    asked_at: datetime


def samples(conversations: Sequence[Path], locomo: Path | None, every: int) -> list[CurveSample]:
    """Read dialogues, and LoCoMo's conversations of odd index, with each `every`-th question of each type, counted over
    all.

    Args:
        locomo: folder of the data sets.
    """
    found = [_of_dialogue(one) for one in load(conversations)] if conversations else []
    if locomo is not None:
        task = Locomo({}, locomo)
        found += [_of_locomo(task.sample(name)) for name in task.ids()[HALVES["odd"]]]
    chosen, nth = [], EveryNth(every)
    for sample in found:
        own = nth.of({question.text: question for question in sample.questions}.values())  # some are asked twice
        if own:
            chosen.append(replace(sample, questions=own))
    return chosen


def scored(question: CurveQuestion, text: str) -> tuple[str, float | None]:
    """Return the verdict on a short answer, which abstains if it is empty, and LoCoMo's F1 if there is a right one."""
    said = normalized(text) if question.category else text
    verdict = str(judge(question.gold, Answer(said, not text, 0.0, ())))
    return verdict, locomo_f1(text, question.answer, question.category) if question.answer else None


def _of_dialogue(one: Conversation) -> CurveSample:
    questions = [CurveQuestion(own.type, own.text, own.gold) for own in one.questions]
    return CurveSample("dialogues", one.name, one.user, one.messages, questions, one.asked_at)


def _of_locomo(sample: Sample) -> CurveSample:
    questions = []
    for own in sample.questions:
        (answer,) = own.answers or ("",)
        gold = Gold((((normalized(answer),),),)) if answer else Gold()
        questions.append(
            CurveQuestion(own.category if answer else UNANSWERABLE, own.text, gold, int(own.category), answer)
        )
    return CurveSample("LoCoMo", sample.id, USER, sample.messages, questions, sample.asked_at)
