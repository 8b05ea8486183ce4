"""Language tasks performed by a language model through any engine, with replies in forms and grounded in the given
text.

A task is one batch of requests. Each message or group of texts has its own request, so no text affects how another is
read; hits are judged one by one. Input larger than the context is split if possible; otherwise the task fails. An
unusable reply is requested once more (`structured.fill`), and then raises an `EngineError`, so the job or the question
fails visibly.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from nscma_torch.core.config import Config
from nscma_torch.core.errors import EngineRefusedError
from nscma_torch.core.records import (
    Answer,
    AskedQuestion,
    Description,
    Extraction,
    FactOperation,
    Hit,
    QAPair,
    SourcedLine,
    ToldFact,
    Unit,
    Usage,
)
from nscma_torch.llm import prompted_lines as on_texts
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.engines.contract import LanguageEngine, Turns, most_tokens
from nscma_torch.llm.prompted_answers import answered, containing, evidence, hit_lines, pooled
from nscma_torch.llm.prompted_descriptions import descriptions
from nscma_torch.llm.prompted_question_pairs import question_pairs
from nscma_torch.llm.prompts import queries, sourced_lines
from nscma_torch.llm.prompts import tasks as prompts
from nscma_torch.llm.prompts.answering import contained
from nscma_torch.llm.prompts.tasks import OperationForm
from nscma_torch.llm.verified_extraction import UnitReading
from nscma_torch.reading.own_words import in_own_words
from nscma_torch.reading.passage import best_passage, first_words, term_weights, word_count
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.reading.unknown_answer import unknown_answer
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences

_DEFAULTS = Config()
_CONTEXT_WORDS = 120  # of each message that is shown beside the one that is read


class SureExtraction(Protocol):
    """Extracts statements from units that need no language model."""

    def __call__(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]]
    ) -> list[Extraction | None]:
        """Return an extraction for each unit, or None for a unit left to the model."""


class PromptedTasks:
    """`LanguageTasks`, `RetrievalTasks`, and the tasks for curator, facts, importance, insights and records, through an
    engine.

    Args:
        engine: the engine, which its creator closes.
        relations: the relations for facts; None for the bundled ones.
        max_tokens: maximum tokens in a reply.
        temperature: 0 is greedy.
        summary_words: maximum words in a summary.
        words: maximum words in a passage of an answer; a shorter message is shown whole.
        least_known: probability that the hits contain the answer, below which the answer is unknown.
        tally: counts requests, tokens, failed requests, readings dropped as ungrounded, and texts for which no request
            was needed.
        extract_surely: extracts statements from units that need no model, and returns None for the others; without it,
            the model reads all units.
        in_context: True to show the model the turns before a message; by default, it reads each message alone.
    """

    def __init__(
        self,
        engine: LanguageEngine,
        *,
        relations: Schema | None = None,
        max_tokens: int = _DEFAULTS.llm.max_tokens,
        temperature: float = _DEFAULTS.llm.temperature,
        summary_words: int = _DEFAULTS.hierarchy.summary_words,
        words: int = _DEFAULTS.answer.words,
        least_known: float = _DEFAULTS.llm.least_known,
        tally: Counter[str] | None = None,
        extract_surely: SureExtraction | None = None,
        in_context: bool = False,
    ) -> None:
        self._in_context = in_context
        self._extract_surely = extract_surely
        self._schema = relations or load_relations()
        self._summary_words = summary_words
        self._words = words
        self._least_known = least_known
        self.tally: Counter[str] = Counter() if tally is None else tally
        self._asker = ModelCaller(engine, max_tokens=max_tokens, temperature=temperature, tally=self.tally)

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]] = (),
    ) -> list[Extraction]:
        """Extract from each unit the statements and notes that its text supports; see `verified_extraction`."""
        units = [in_own_words(unit) for unit in units]
        known: list[Extraction | None] = [None] * len(units)
        if self._extract_surely is not None:
            known = self._extract_surely(units, listeners=listeners, before=before)
            self._asker.count("spared", len(known) - known.count(None))
        contexts = before if self._in_context and before else [()] * len(units)
        given = zip(units, listeners, contexts, known, strict=True)
        readings = [self._reading(unit, listener, context) for unit, listener, context, own in given if own is None]
        asked = [self._extraction(one, one.context) for one in readings]
        forms, _ = self._asker.ask(prompts.extraction_form(self._schema), asked)
        extracted = (one.extraction(form, self._schema) for one, form in zip(readings, forms, strict=True))
        found = [next(extracted) if own is None else own for own in known]
        self._asker.count("ungrounded", sum(one.dropped for one in readings))
        return found

    def _reading(self, unit: Unit, listener: str, context: Sequence[Unit]) -> UnitReading:
        """Build a reading of a unit with as much context as fits in a prompt: the summary, then the newest messages."""
        bare = UnitReading(unit, listener)
        if not context:
            return bare
        cut = [replace(one, text=first_words(one.text, _CONTEXT_WORDS)) for one in context]
        kinds = [one for one in cut if one.kind == "summary"], [one for one in cut if one.kind != "summary"]
        ordered = [*kinds[0], *reversed(kinds[1])]
        while ordered and not self._asker.fits(self._extraction(bare, ordered[::-1])):
            ordered.pop()
        return replace(bare, context=tuple(ordered[::-1]))

    def _extraction(self, reading: UnitReading, context: Sequence[Unit]) -> Turns:
        return prompts.extraction(self._schema, reading.unit, reading.sentences, reading.listener, context)

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """Summarize each group. If a group doesn't fit in a prompt, summarize the summaries of its parts."""
        texts: dict[int, str] = {}
        left: dict[int, Sequence[Unit | str]] = dict(enumerate(groups))
        while left:
            parts = {number: self._asker.packed(own, self._summary) for number, own in left.items()}
            stuck = next((n for n, packs in parts.items() if len(packs) == len(left[n]) > 1), None)
            if stuck is not None:
                raise EngineRefusedError(
                    f"no two of the {len(left[stuck])} texts to summarize fit in one prompt; raise llm.context"
                )
            asked = [(number, pack) for number, packs in parts.items() for pack in packs]
            form = prompts.summary_form(self._summary_words)
            forms, _ = self._asker.ask(form, [self._summary(pack) for _, pack in asked])
            written: dict[int, list[str]] = {}
            for (number, _), filled in zip(asked, forms, strict=True):
                written.setdefault(number, []).append(_within(filled.summary, self._summary_words))
            texts |= {number: own[0] for number, own in written.items() if len(own) == 1}
            left = {number: own for number, own in written.items() if len(own) > 1}
        return [texts[number] for number in range(len(groups))]

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Return, for each hit, the model's probability that it contains the answer, in [0, 1].

        Each hit is judged on its own: asked to score ten hits in one form, a model of 1.5 billion parameters gave them
        all the same score.
        """
        asked = AskedQuestion(question)
        prompts_of = [contained(asked, hit_lines([self._fitted(asked, hit)])) for hit in hits]
        return containing(self._asker, prompts_of)[0]

    def select(self, question: str, hits: Sequence[Hit]) -> list[bool]:
        """Return, for each hit, True if it is likelier than not that it contains the answer."""
        return [probability >= 0.5 for probability in self.rerank(question, hits)]

    def refine(self, question: str, hits: Sequence[Hit]) -> str:
        """Return the model's next question, or "" if the hits contain the answer or the question is the same. The model
        reads as many of the best hits as fit in a prompt.
        """
        if not hits:
            return ""

        def check(some: Sequence[Hit]) -> Turns:
            return contained(AskedQuestion(question), hit_lines(some))

        fitting, _ = self._fitting(
            lambda some: max(check(some), prompts.refining(question, some), key=most_tokens), hits
        )
        (known,), _ = containing(self._asker, [check(fitting)])
        if pooled(known, 0.5) >= self._least_known:
            return ""
        (form,), _ = self._asker.ask(prompts.QuestionForm, [prompts.refining(question, fitting)])
        return "" if form.question.casefold() == question.strip().casefold() else form.question

    def imagine(self, question: str, hits: Sequence[Hit]) -> list[str]:  # noqa: ARG002 - HyDE looks at none
        """Return hypothetical passages that answer the question, written by the model."""
        (form,), _ = self._asker.ask(queries.PassagesForm, [queries.imagining(question)])
        return list(dict.fromkeys(form.passages))

    def divide(self, question: str) -> list[str]:
        """Return the parts into which the model divides a question."""
        (form,), _ = self._asker.ask(queries.QuestionsForm, [queries.dividing(question)])
        return list(dict.fromkeys(form.questions))

    def adjudicate(self, disputes: Sequence[Sequence[Sequence[Unit]]]) -> list[int | None]:
        """Return the side that the model chooses for each dispute, or None if it leaves the dispute open."""
        asked = [prompts.adjudication(sides) for sides in disputes]
        forms = self._asker.ask_sized([len(sides) for sides in disputes], asked, prompts.verdict_form)
        return [form.right - 1 if form.right else None for form in forms]

    def rate(self, units: Sequence[Unit]) -> list[int]:
        """Return the model's rating for each message, unaffected by the other messages."""
        forms, _ = self._asker.ask(prompts.RatingForm, [prompts.rating(unit) for unit in units])
        return [form.importance for form in forms]

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        """Return the model's operations for new facts. Known facts are numbered, so the model can't name any other
        facts.

        If not all known facts fit in a prompt, only the most similar ones are shown.
        """
        fitting = [self._asker.packed(known, partial(prompts.operating, one))[0] for one, known in new]
        asked = [prompts.operating(one, known) for (one, _), known in zip(new, fitting, strict=True)]
        forms = self._asker.ask_sized([len(known) for known in fitting], asked, prompts.operation_form)
        return [
            FactOperation(form.operation, _changed(form, known), form.text)
            for form, known in zip(forms, fitting, strict=True)
        ]

    def lines(self, kind: str, groups: Sequence[Sequence[Unit]], words: int | None = None) -> list[list[SourcedLine]]:
        """Return the model's lines about each group, if the evidence supports them; see `prompted_lines`."""
        task = sourced_lines.LINES[kind]
        if words is None:
            return on_texts.lines(self._asker, task, groups)
        return on_texts.joint_lines(self._asker, task, groups, words=words)

    def questions(self, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
        """Return the questions that the model asks about each group."""
        return on_texts.questions(self._asker, groups, most)

    def reflections(self, asked: Sequence[tuple[str, Sequence[Unit]]], most: int) -> list[list[SourcedLine]]:
        """Return the model's conclusions for each question, if the evidence supports them."""
        return on_texts.reflections(self._asker, asked, most)

    def pairs(self, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:
        """Return the questions and answers that the model finds in each group; see `prompted_question_pairs`."""
        return question_pairs(self._asker, groups)

    def describe(
        self,
        units: Sequence[Unit],
        *,
        extractions: Sequence[Extraction],  # noqa: ARG002 - the model reads the text itself
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]],
    ) -> list[Description | None]:
        """Describe each unit with the model, keeping only entities that occur in its text; see
        `prompted_descriptions`.
        """
        return [*descriptions(self._asker, units, listeners, before)]

    def answer(self, question: AskedQuestion, hits: Sequence[Hit]) -> Answer:
        """Return the model's answer with the messages that it rests on, or an answer that it doesn't know.

        The model first says if the hits contain the answer; see `prompted_answers`. If there are no hits, no request is
        sent.
        """
        begin = time.perf_counter()
        trace: tuple[str, ...] = (f"{len(hits)} hits", f"answerability {question.answerability:.2f}")
        if not hits:
            confidence = min(1.0, max(0.0, question.answerability / 2))
            return Answer(unknown_answer(question.text), True, confidence, (), (*trace, "abstained"))
        best = sorted(hits, key=lambda hit: -hit.score)
        read = answered(self._asker, question, best, hit_lines, least_known=self._least_known)
        if read.kept < len(hits):
            trace = (*trace, f"the {len(hits) - read.kept} lowest hits did not fit the context")
        trace = (*trace, f"read by {self._asker.engine.name}", f"contained with probability {read.known:.2f}")
        usage = Usage(read.usage.llm_calls, read.usage.tokens, time.perf_counter() - begin)
        if not read.text:
            return Answer(unknown_answer(question.text), True, read.known, (), (*trace, "abstained"), usage)
        support = evidence(question.text, read.text, best[: read.kept], self._words)
        trace = (*trace, f"{len(support)} passages support it")
        return Answer(read.text, False, read.known, support, trace, usage)

    def _summary(self, parts: Sequence[Unit | str]) -> Turns:
        return prompts.summary(self._summary_words, parts)

    def _fitted(self, question: AskedQuestion, hit: Hit) -> Hit:
        """Return a hit with as much of its best passage as fits in a prompt."""
        if self._asker.fits(contained(question, hit_lines([hit]))):
            return hit
        best = best_passage(hit.text, term_weights(question.text, [hit.text]), self._words)
        return replace(hit, unit=replace(hit.unit, text=best.text))

    def _fitting(self, render: Callable[[Sequence[Hit]], Turns], hits: Sequence[Hit]) -> tuple[Sequence[Hit], int]:
        """Return the best hits that fit in one prompt, in order, and the number of remaining hits."""
        packs = self._asker.packed(sorted(hits, key=lambda hit: -hit.score), render)
        kept = {hit.unit.id for hit in packs[0]} if packs else set()
        fitting = [hit for hit in hits if hit.unit.id in kept]
        return fitting, len(hits) - len(fitting)


def _changed(form: OperationForm, known: Sequence[ToldFact]) -> tuple[str, ...]:
    """Return the ids of the known facts that an operation changes; ADD changes none, whatever the model names."""
    return () if form.operation == "ADD" else tuple(known[i - 1].id for i in dict.fromkeys(form.facts))


def _within(text: str, words: int) -> str:
    """Return the first sentences with at most `words` words in total, each once, without an unfinished last one. If the
    first sentence is longer, return its beginning.
    """
    sentences = [text[span.start : span.end].strip() for span in split_sentences(text)]
    if len(sentences) > 1 and sentences[-1][-1:].isalnum():
        sentences.pop()  # the form's limit cut it off
    kept: dict[str, str] = {}
    left = words
    for sentence in sentences:
        key = sentence.casefold()
        if key in kept:
            continue  # a small model repeats itself
        left -= word_count(sentence)
        if left < 0:
            break
        kept[key] = sentence
    return (" " if script(text) == "latin" else "").join(kept.values()) or first_words(text, words)
