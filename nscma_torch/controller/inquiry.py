"""Answer the question in a turn from what was found: by facts, the trained reader, or a language model.

The order is that of `Memory.ask`. The model first says whether the lines that it is shown contain the answer, which
decides whether the controller searches again; see `llm.prompted_answers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from nscma_torch.controller.passages import clipped, fact_in_words, passage
from nscma_torch.controller.policy import Answered, Situation
from nscma_torch.controller.prompt_budget import fitting, too_long
from nscma_torch.controller.sourced_reply import Shown, answered, of_answer
from nscma_torch.controller.working_memory import added
from nscma_torch.core.config import ControllerConfig
from nscma_torch.core.records import Answer, AskedQuestion, Hit, Usage
from nscma_torch.episodic.index.units import unit_of
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.prompted_answers import answered as answered_by_model
from nscma_torch.llm.prompted_answers import longer_prompt, supporting
from nscma_torch.llm.prompts.answering import TextForm, line, rewording, shown_line, wants_text
from nscma_torch.reading.turn_forms import questions
from nscma_torch.text.capitalised import INSIDE
from nscma_torch.text.pronouns import refers_back
from nscma_torch.text.terms import terms

# question, hits, their answerability, the time -> the reader's answer if it is sure, and its probability of one
ReadFirst = Callable[[str, Sequence[Hit], float, datetime], tuple[Answer | None, float]]
_OF_SOMEONE = re.compile(
    r"\b(?:I|me|my|mine|we|us|our|ours|he|him|his|she|her|hers|they|them|their|theirs)\b"
    r"|\b(?:did|do|have) you (?:know|remember|say|tell|recall)\b|[我咱俺他她]",
    re.IGNORECASE,
)
_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that the model is shown, when it was said, and what it stands for."""

    said_at: datetime
    text: str
    shown: Shown


def asked_in(said: str) -> str:
    """Return the sentences of a turn that ask, or the whole turn if they refer to what it says before."""
    asked = questions(said)
    return said if refers_back(asked) else asked


def is_about_someone(text: str) -> bool:
    """Return True if a turn asks about the user, or about somebody or something that they may have told of.

    A question without any such word ("How many feet are in a fathom?"), or one that asks for a text rather than a fact,
    is left to the model's own knowledge.
    """
    asked = questions(text)
    return not wants_text(asked) and (_OF_SOMEONE.search(asked) is not None or INSIDE.search(asked) is not None)


class Inquiry:
    """Answers questions from findings.

    Args:
        asker: calls the model.
        most_tokens: maximum tokens in a prompt.
        least_known: probability that the lines contain the answer, below which they don't.
        read_first: has the trained reader answer.
    """

    def __init__(
        self,
        asker: ModelCaller,
        settings: ControllerConfig,
        *,
        most_tokens: int,
        least_known: float,
        read_first: ReadFirst,
    ) -> None:
        self._asker = asker
        self._settings = settings
        self._most_tokens = most_tokens
        self._least_known = least_known
        self._read_first = read_first

    def answer(self, situation: Situation) -> tuple[Answered | None, Usage]:
        """Return the answer; None if what is known so far doesn't contain it.

        Raises `InvalidInputError` if the question alone is too long for a prompt.
        """
        question = asked_in(situation.said)
        told = next((finding.told for finding in situation.findings if finding.told is not None), None)
        sure, prior = (told if self.is_sure(told) else None), 0.5
        if sure is None:
            best = max(situation.findings, key=lambda finding: finding.answerability, default=None)
            if best is not None and best.hits:
                sure, prior = self._read_first(question, best.hits, best.answerability, situation.now)
        if sure is not None:
            worded, usage = self.worded(_read(sure), situation)
            return worded, added(sure.usage, usage)
        lines = self._lines(question, situation, told)
        if not lines:
            return None, Usage()
        asked = AskedQuestion(question, 0.0, situation.memory.asker, situation.now, prior)
        fit = fitting(
            lambda i: self._asker.tokens(longer_prompt(asked, _in_order(lines[: len(lines) - i]))),
            len(lines) - 1,
            self._most_tokens,
        )
        if fit is None:
            raise too_long(self._most_tokens)
        kept = lines[: len(lines) - fit]
        reply = answered_by_model(self._asker, asked, kept, _in_order, least_known=self._least_known)
        if not reply.text:
            return None, reply.usage
        shown = [one.shown for one in kept]
        numbers = [i + 1 for i in supporting(question, reply.text, [one.text for one in kept])]
        worded, usage = self.worded(answered(reply.text, numbers, shown, 1.0 - reply.known, situation), situation)
        return worded, added(reply.usage, usage)

    def is_sure(self, told: Answer | None) -> bool:
        """Return True if an answer from facts is sure enough to be given without the messages."""
        return told is not None and told.confidence >= self._least_known

    def worded(self, reply: Answered, situation: Situation) -> tuple[Answered, Usage]:
        """Return the reply in words that follow the standing instructions, if there are any.

        If they don't all fit in a prompt, the oldest are left out. A rewording that has no word of the reply is
        dropped: it says something else.
        """
        memory = situation.memory
        if not memory.rules:
            return reply, Usage()
        question = asked_in(situation.said)
        prompts = [
            rewording(question, reply.text, memory.asker, memory.rules[start:]) for start in range(len(memory.rules))
        ]
        least = fitting(lambda i: self._asker.tokens(prompts[i]), len(prompts) - 1, self._most_tokens)
        if least is None:
            return reply, Usage()
        (form,), usage = self._asker.ask(TextForm, [prompts[least]])
        text = form.text.strip()
        if not set(terms(text)) & set(terms(reply.text)):
            return reply, usage
        shown = (*reply.shown, *(one.id for one in memory.instructions))
        return replace(reply, text=text, shown=tuple(dict.fromkeys(shown))), usage

    def _lines(self, question: str, situation: Situation, told: Answer | None) -> list[_Line]:
        """Return what was found and the context as lines, the most relevant first."""
        found = [*_told(told, situation.now), *self._found(question, situation), *self._context(situation)]
        return list({one.text: one for one in reversed(found)}.values())[::-1]

    def _found(self, question: str, situation: Situation) -> Iterator[_Line]:
        words = self._settings.turn_words
        hits = [hit for finding in situation.findings for hit in finding.hits]
        for hit in sorted(hits, key=lambda hit: -hit.score):
            quote = passage(question, hit, words)
            yield _Line(hit.occurred_at, line(hit.unit, quote), (hit, quote.removesuffix(" […]")))
        for fact in (fact for finding in situation.findings for fact in finding.facts):
            begun = fact.valid_from or fact.recorded_at
            yield _Line(begun, shown_line("facts", begun, fact_in_words(fact)), None)

    def _context(self, situation: Situation) -> Iterator[_Line]:
        memory, words = situation.memory, self._settings.turn_words
        for exchange in reversed(memory.context):
            for turn in (*reversed(exchange.replies), exchange.turn):
                if turn.metadata.get(ECHO):
                    continue  # it asks, or repeats what was found
                yield _Line(turn.occurred_at, line(unit_of(turn), clipped(turn.text, words)), None)
        for derived in (*memory.insights, *memory.days):
            yield _Line(derived.until, shown_line("memory", derived.until, clipped(derived.text, words)), derived)
        if memory.summary:
            yield _Line(_EARLIEST, shown_line("summary of earlier turns", None, memory.summary), None)


def _in_order(lines: Sequence[_Line]) -> list[str]:
    return [one.text for one in sorted(lines, key=lambda one: one.said_at)]


def _told(told: Answer | None, now: datetime) -> list[_Line]:
    """Return the answer that facts gave unsurely, as one more line."""
    if told is None:
        return []
    first = next((item.hit for item in told.evidence), None)
    return [_Line(now, shown_line("memory", now, told.short), None if first is None else (first, first.text))]


def _read(told: Answer) -> Answered:
    """Return the answer without its quotations."""
    return replace(of_answer(told, 1.0 - told.confidence), text=told.short, quotes=0, query=told.query)
