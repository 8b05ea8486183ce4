"""Language tasks without a language model: facts and answers are sentences quoted with speaker and time.

They can't combine statements, count or compare; instead, they show the evidence.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from nscma_torch.core.config import Config
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.protocols import MOST_IMPORTANT
from nscma_torch.core.records import (
    Answer,
    AskedQuestion,
    Description,
    Evidence,
    Extraction,
    FactOperation,
    Hit,
    QAPair,
    SourcedLine,
    Statement,
    ToldFact,
    Unit,
    Usage,
)
from nscma_torch.reading import derived_lines
from nscma_torch.reading.aliases import aliases
from nscma_torch.reading.asserted_statements import ReadMessage, is_sure
from nscma_torch.reading.chinese_statements import ChineseReader, chinese_reader
from nscma_torch.reading.composed_text import composed, placed
from nscma_torch.reading.cues import salience
from nscma_torch.reading.extractive_summary import extract_summary
from nscma_torch.reading.moved_home import with_new_homes
from nscma_torch.reading.own_words import in_own_words
from nscma_torch.reading.passage import best_passage, covered, term_weights
from nscma_torch.reading.query_parts import divided, imagined
from nscma_torch.reading.reflections import reflections, salient_questions
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.reading.relevance import helpful, refined, relevance
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.reading.self_repair import asserted_with_repairs, repair_chinese
from nscma_torch.reading.turns_before import turns_before
from nscma_torch.reading.unknown_answer import unknown_answer
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.capitalised import EXPECTED
from nscma_torch.text.number_words import HAN_NUMERALS, TO_TWENTY
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import Span, split_sentences

if TYPE_CHECKING:
    from nscma_torch.reading.descriptions import Descriptions
    from nscma_torch.reading.fact_changes import FactChanges
    from nscma_torch.reading.question_pairs import AdjacentPairs
    from nscma_torch.reading.read_statements import StatementsOfReader

_PLAIN = 0.5  # salience of a sentence without any cue
_KIND_BONUS = 0.2  # for a passage that holds an expression of the kind asked for; best of .1-.4 on LoCoMo
_TIME_ASKED = re.compile(
    r"\W*(?:when|(?:(?:in|on)\s+)?(?:what|which) (?:date|day|month|year|time))\b"
    r"|.*(?:什么时候|何时|哪[天年月]|几[号月])",
    re.I,
)
_NUMBER_ASKED = re.compile(r"\bhow (?:many|much|long|often|old|far|tall)\b|\bwhat number\b|多少|多久|几[个次岁]", re.I)
_NAME_ASKED = re.compile(r"\W*(?:who|whose|whom|where)\b|.*(?:谁|哪里|哪儿|在哪)", re.I)
_NUMBER = re.compile(rf"\d|\b(?:{'|'.join(TO_TWENTY[1:13])}|dozen|once|twice)\b|[{HAN_NUMERALS}]", re.I)


_DEFAULTS = Config()


class EmbeddedTasks:
    """Rule-based `LanguageTasks`.

    Args:
        min_answerability: minimum answerability (`retrieval.answerability`); below it, the answer is "I don't know".
        passages: maximum passages in an answer.
        cutoff: minimum score of a passage relative to the best one; passages below it aren't shown.
        words: maximum words in a passage; a shorter message is shown whole.
        summary_words: maximum words in a summary.
        relations: the relation schema for facts; None for the bundled one.
        read_facts: returns the reader for English statements; None for no reader. Chinese is read by forms.
        fact_changes: chooses operations on facts with the trained reader; None if no reader is configured.
        question_pairs: finds question-answer pairs with the trained reader; None if no reader is configured.
        importance: rates the importance of texts in [0, 1]; None to use the gate's cues.
        descriptions: returns the describer for messages; None if structured records are disabled.
    """

    quotes = True

    def __init__(
        self,
        *,
        relations: Schema | None = None,
        min_answerability: float = _DEFAULTS.answer.min_answerability,
        passages: int = _DEFAULTS.answer.passages,
        cutoff: float = _DEFAULTS.answer.cutoff,
        words: int = _DEFAULTS.answer.words,
        summary_words: int = _DEFAULTS.hierarchy.summary_words,
        read_facts: Callable[[], StatementsOfReader] | None = None,
        fact_changes: FactChanges | None = None,
        question_pairs: AdjacentPairs | None = None,
        importance: Callable[[Sequence[str]], Sequence[float]] | None = None,
        descriptions: Callable[[], Descriptions] | None = None,
    ) -> None:
        self._min_answerability = min_answerability
        self._passages = passages
        self._cutoff = cutoff
        self._words = words
        self._summary_words = summary_words
        self._relations = relations or load_relations()
        self._read_facts = read_facts
        self._fact_changes = fact_changes
        self._question_pairs = question_pairs
        self._importance = importance
        self._make_descriptions = descriptions

    @cached_property
    def _chinese(self) -> ChineseReader:
        """Return the Chinese reader, created at the first extraction because searches don't need its forms."""
        return chinese_reader(self._relations)

    @cached_property
    def _facts(self) -> StatementsOfReader | None:
        """Return the statement reader, loaded at the first extraction."""
        return None if self._read_facts is None else self._read_facts()

    @cached_property
    def _descriptions(self) -> Descriptions:
        """Return the describer, loaded on first use."""
        if self._make_descriptions is None:
            raise ConfigError(
                "these language tasks cannot describe messages: set records.enabled, or pass descriptions"
            )
        return self._make_descriptions()

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        """Return each unit's statements and its sentences that state a fact.

        The speaker and relative dates are resolved.
        """
        return [
            _extraction(unit, own)
            for unit, (own, _) in zip(units, self._statements(units, listeners, before), strict=True)
        ]

    def extract_surely(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]] = (),
        least: float,
    ) -> list[Extraction | None]:
        """Extract like `extract`, but return None for units that the reader can't read or isn't sure enough of.

        The reader is sure if it accepts or rejects every statement with a probability of at least `least`.
        """
        read = self._statements(units, listeners, before)
        return [
            _extraction(unit, own)
            if facts is not None and script(unit.text) != "cjk" and is_sure(facts, least)
            else None
            for unit, (own, facts) in zip(units, read, strict=True)
        ]

    def statements(self, units: Sequence[Unit]) -> list[tuple[Statement, ...]]:
        """Read the statements in consecutive units, using the earlier units as context."""
        before = [units[:i] for i in range(len(units))]
        return [own for own, _ in self._statements(units, [""] * len(units), before)]

    def _statements(
        self, units: Sequence[Unit], listeners: Sequence[str], before: Sequence[Sequence[Unit]]
    ) -> list[tuple[tuple[Statement, ...], ReadMessage | None]]:
        """Return the statements in each unit, and the trained reader's output.

        Text that a message only passes on is skipped, and letters are read in composed form.
        """
        written, units = units, [composed(in_own_words(unit)) for unit in units]
        chinese = [
            repair_chinese(self._chinese.read(unit, listener), unit.text, unit.occurred_at)
            for unit, listener in zip(units, listeners, strict=True)
        ]
        if self._facts is None:
            return [(placed(own, unit.text), None) for unit, own in zip(written, chinese, strict=True)]
        turns = [turns_before(unit, own) for unit, own in zip(units, before, strict=True)] if before else ()
        read = self._facts.read(units, listeners=listeners, before=turns)
        stated = [
            with_new_homes(
                asserted_with_repairs(own, unit.text, self._relations, unit.occurred_at), unit.text, self._relations
            )
            for unit, own in zip(units, read, strict=True)
        ]
        return [
            (placed(_with_aliases([*forms, *made], aliases(heard.text)), unit.text), own)
            for unit, heard, forms, made, own in zip(written, units, chinese, stated, read, strict=True)
        ]

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """Return the units' own sentences that cover most of their shared content."""
        return [extract_summary([_lines(unit) for unit in group], self._summary_words) for group in groups]

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Score hits by search score and by coverage of the question's words; see `relevance`."""
        return relevance(question, hits)

    def refine(self, question: str, hits: Sequence[Hit]) -> str:
        """Return the question, adding the names that the hits mention most."""
        return refined(question, hits)

    def select(self, question: str, hits: Sequence[Hit]) -> list[bool]:
        """Select the hits that are at least half as relevant as the best one."""
        return helpful(question, hits) if hits else []

    def imagine(self, question: str, hits: Sequence[Hit]) -> list[str]:
        """Return the best passages of a first search; see `query_parts`."""
        return imagined(question, hits)

    def divide(self, question: str) -> list[str]:
        """Return the question's sentences, repeated for each name in them; see `query_parts`."""
        return divided(question)

    def adjudicate(self, disputes: Sequence[Sequence[Sequence[Unit]]]) -> list[int | None]:
        """Return None for each dispute: rules have already weighed the sides, so disputes stay open."""
        return [None for _ in disputes]

    def rate(self, units: Sequence[Unit]) -> list[int]:
        """Rate how likely each unit is to be needed later, from 1 to 10, instead of a model's rating."""
        texts = [unit.text for unit in units]
        shares = [salience(text) for text in texts] if self._importance is None else self._importance(texts)
        return [1 + round(share * (MOST_IMPORTANT - 1)) for share in shares]

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        """Choose operations with the trained reader's change head; see `FactChanges`."""
        if self._fact_changes is None:
            raise ConfigError(
                'curator.rule and curator.opposites = "model" need a reader: set reading.model = "bundled"'
            )
        return self._fact_changes.operate(new)

    def lines(self, kind: str, groups: Sequence[Sequence[Unit]], words: int | None = None) -> list[list[SourcedLine]]:
        """Return sentences from each group, selected by rules; see `derived_lines`."""
        return derived_lines.lines(kind, groups, words)

    def questions(self, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
        """Return questions about the most salient topics; see `reflections`."""
        return [salient_questions(group, most) for group in groups]

    def reflections(self, asked: Sequence[tuple[str, Sequence[Unit]]], most: int) -> list[list[SourcedLine]]:  # noqa: ARG002
        """Return at most one line per question: how often its topic came up, and an example; see `reflections`."""
        return [reflections(question, memories) for question, memories in asked]

    def pairs(self, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:
        """Return question-answer pairs found by the trained reader; see `AdjacentPairs`."""
        if self._question_pairs is None:
            raise ConfigError('question_pairs.enabled needs a reader: set reading.model = "bundled"')
        return self._question_pairs.find(groups)

    def describe(
        self,
        units: Sequence[Unit],
        *,
        extractions: Sequence[Extraction],
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]],
    ) -> list[Description | None]:
        """Describe each unit using the trained classifiers; see `reading.descriptions`."""
        return self._descriptions.describe(units, extractions=extractions, listeners=listeners, before=before)

    def answer(self, question: AskedQuestion, hits: Sequence[Hit]) -> Answer:
        """Answer with the best passages, each with its speaker and date, or answer "I don't know".

        A hit renewed by a newer one is omitted unless it contains more of the question's words, as the newer one is
        then about something else.
        """
        begin, answerability = time.perf_counter(), question.answerability
        chinese = script(question.text) == "cjk"
        trace = (f"{len(hits)} hits", f"answerability {answerability:.2f} of {self._min_answerability:.2f} needed")
        confidence = min(1.0, max(0.0, answerability / 2))
        if not hits or answerability < self._min_answerability:
            usage = Usage(seconds=time.perf_counter() - begin)
            return Answer(unknown_answer(question.text), True, confidence, (), (*trace, "abstained"), usage)
        kind = _kind_asked(question.text)
        weights = term_weights(question.text, (hit.text for hit in hits))
        hits = _standing(hits, weights)
        passages = [best_passage(hit.text, weights, self._words) for hit in hits]
        top = max(hit.score for hit in hits)
        scores = [
            hit.score / top + _KIND_BONUS * (kind is not None and _holds(kind, passage.text, hit.occurred_at))
            for hit, passage in zip(hits, passages, strict=True)
        ]
        order = sorted(range(len(hits)), key=lambda i: -scores[i])[: self._passages]
        evidence = tuple(
            Evidence(hits[i], passages[i].text, passages[i].start, passages[i].end, scores[i])
            for i in order
            if scores[i] >= self._cutoff * scores[order[0]]
        )
        text = "\n".join(quoted_line(item, chinese) for item in evidence)
        usage = Usage(seconds=time.perf_counter() - begin)
        shown = (*trace, f"{len(evidence)} passages shown")
        return Answer(text, False, confidence, evidence, shown, usage, quotes=len(evidence) - 1)


def _standing(hits: Sequence[Hit], weights: Mapping[str, float]) -> list[Hit]:
    """Drop renewed hits if a newer hit that isn't renewed itself covers at least as much of the question."""
    covers = [covered(hit.text, weights) for hit in hits]
    newest = [(hit.occurred_at, own) for hit, own in zip(hits, covers, strict=True) if not hit.renewed]
    return [
        hit
        for hit, own in zip(hits, covers, strict=True)
        if not (hit.renewed and any(at >= hit.occurred_at and other >= own for at, other in newest))
    ]


def _with_aliases(statements: Sequence[Statement], said: Sequence[Statement]) -> list[Statement]:
    """Return a message's statements in text order, adding aliases that are not yet among them."""
    named = {(one.subject, one.object) for one in statements if one.relation == said[0].relation} if said else set()
    more = [one for one in said if (one.subject, one.object) not in named]
    return sorted([*statements, *more], key=lambda one: one.start)


def _extraction(unit: Unit, statements: tuple[Statement, ...]) -> Extraction:
    """Build the extraction: the statements, and the sentences that state a fact."""
    spans = _factual(unit.text)
    return Extraction(
        tuple(_attributed(unit, unit.text[span.start : span.end]) for span in spans),
        statements,
        tuple((span.start, span.end) for span in spans),
    )


def _factual(text: str) -> list[Span]:
    return [span for span in split_sentences(text) if salience(text[span.start : span.end]) > _PLAIN]


def _lines(unit: Unit) -> str:
    """Return a unit's text, turning each line of a summary into a separate sentence."""
    return unit.text.replace("\n", "\n\n") if unit.kind == "summary" else unit.text


def _attributed(unit: Unit, sentence: str) -> str:
    return f"{unit.name or unit.role}: {resolved(sentence, unit.occurred_at)}"


def quoted_line(item: Evidence, chinese: bool) -> str:
    """Format a passage with its speaker and time on one line."""
    unit = item.hit.unit
    who = unit.name or unit.role
    said = " ".join(resolved(item.text, unit.occurred_at).split())
    if chinese:
        return f"{who}（{unit.occurred_at:%Y-%m-%d}）：{said}"
    return f"{who}, {format_day(unit.occurred_at.date())}: {said}"


def _kind_asked(question: str) -> str | None:
    for kind, pattern in (("time", _TIME_ASKED), ("number", _NUMBER_ASKED), ("name", _NAME_ASKED)):
        if pattern.match(question) or (kind == "number" and pattern.search(question)):
            return kind
    return None


def _holds(kind: str, text: str, said: datetime) -> bool:
    if kind == "time":
        return bool(find_dates(text, said))
    return bool((_NUMBER if kind == "number" else EXPECTED).search(text))
