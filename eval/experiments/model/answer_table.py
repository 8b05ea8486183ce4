"""Answers of the model beside those of the embedded reader, from the same store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from eval.experiments.model.faults import Faults
from eval.experiments.reading.conversation_files import Conversation, Question
from nscma_torch import Memory
from nscma_torch.core.records import Answer
from nscma_torch.demo.short_answers import AnswerVerdict, judge

_SCORES = ("short", "stale", "silent", "invented")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer's verdict, and its source: "facts", "model" or "reader"."""

    question: Question
    verdict: AnswerVerdict
    by: str


def answers(memory: Memory, conversation: Conversation, faults: Faults) -> list[Answered]:
    """Ask all questions, and print each answer."""
    found = []
    for question in conversation.questions:
        with faults.caught(question.text):
            answer = memory.ask(question.text, user_id=conversation.user, now=conversation.asked_at)
            own = Answered(question, judge(question.gold, answer), _by(answer))
            text = " ".join(answer.short.split())
            print(f"  {own.verdict!s:14} by {own.by:6} {question.text} {text}  (gold: {question.gold})", flush=True)
            for note in answer.notes:
                print(f"    note: {note}")
            found.append(own)
    return found


def answer_table(columns: Mapping[str, Sequence[Answered]]) -> Table:
    """Lay out scores, right answers by type of question, and sources of the answers, a column for each system."""
    table = Table(title="answers", title_justify="left")
    for name in ("", "of", *columns):
        table.add_column(name, justify="right" if name else "left")
    systems = list(columns.values())
    for score in _SCORES:
        among = [_among(found, score) for found in systems]
        _count(table, score, among, lambda one, score=score: getattr(one.verdict, score))  # type: ignore[misc]
    table.add_section()
    for kind in dict.fromkeys(one.question.type for one in systems[0]):
        among = [[one for one in found if one.question.type == kind] for found in systems]
        _count(table, f"right, {kind}", among, lambda one: one.verdict.right)
    table.add_section()
    for source in ("facts", "model", "reader"):
        _count(table, f"by {source}", systems, lambda one, source=source: one.by == source)  # type: ignore[misc]
    return table


def _count(table: Table, name: str, systems: Sequence[Sequence[Answered]], counts: Callable[[Answered], bool]) -> None:
    table.add_row(name, str(len(systems[0])), *(str(sum(map(counts, found))) for found in systems))


def _among(found: Sequence[Answered], score: str) -> list[Answered]:
    """Return the answers to unanswerable questions for `invented`, and to answerable ones for the other scores."""
    return [one for one in found if one.verdict.answerable == (score != "invented")]


def _by(answer: Answer) -> str:
    if answer.usage.llm_calls:
        return "model"
    return "reader" if answer.query is None else "facts"
