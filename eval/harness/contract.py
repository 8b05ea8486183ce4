"""What a benchmark and a system are to `eval/run.py`, and no more: it runs any of the ones on any of the others.

A task hands out samples by their ids, one at a time, since one of ten million tokens does not wait in memory for the
others. A system opens a memory for each sample, reads its messages once and answers its questions. What a reply is
worth the task says, from the reply's text and the places of its evidence alone: it never knows which system it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from eval.caches.cached_time import KeptTime
from eval.caches.extraction_cache import ExtractionCache
from eval.caches.sample_cache import AtHand
from nscma_torch.core.protocols import Embedder, SurpriseModel
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import LanguageEngine


@dataclass(frozen=True)
class Question:
    """One question on a sample.

    Attributes:
        id: unique within the sample.
        answers: each of them is right; () where it is right to say that it is not known.
        category: as the benchmark has it.
        evidence: places of the messages that hold the answer; () where the benchmark does not say.
        options: of a multiple choice; `answers` holds the right one's text.
        asked_at: None for `Sample.asked_at`.
        facts: what else the scorer needs, such as outdated values; no system sees it.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    category: str = ""
    evidence: tuple[int, ...] = ()
    options: tuple[str, ...] = ()
    asked_at: datetime | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """What one user said or read, in order, and is asked after it.

    Attributes:
        summary_words: how long replies may be where they are summaries; 0 where short answers are asked for.
    """

    id: str
    messages: Sequence[Message]
    questions: Sequence[Question]
    asked_at: datetime
    summary_words: int = 0


class Task(Protocol):
    """A benchmark, made from its section of the configuration and the folder of its data.

    Attributes:
        name: for tables.
        metrics: the keys of what `score` returns, the main one first.
    """

    name: str
    metrics: tuple[str, ...]

    def ids(self) -> Sequence[str]:
        """Of all samples, in an order that never changes; even places are for tuning, odd ones for claims."""

    def sample(self, id: str) -> Sample:
        """One of them, always the same."""

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Measures of one reply by the benchmark's own rules; a metric that does not apply to it is left out."""


@dataclass(frozen=True)
class Cost:
    """What something took. `seconds` by stage are wall-clock; cached work counts as it did when it was done."""

    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A system's answer.

    Attributes:
        text: the answer alone, without quotations of its evidence: scores compare it with the gold answer; "" where it
            abstains.
        evidence: places of the messages that it rests on or retrieved, best first, further than what was read; None
            where the system ranks nothing, so that no measure of a ranking applies to it.
        confidence: in [0, 1]; None where the system has none.
        note: what whoever reads the raw lines must know, such as passages that did not fit a context.
    """

    text: str
    abstained: bool = False
    evidence: tuple[int, ...] | None = ()
    confidence: float | None = None
    cost: Cost = field(default_factory=Cost)
    note: str = ""


@dataclass(frozen=True)
class Passage:
    """A piece of what was read: characters of the message at `place`, with who said it and when.

    Attributes:
        start: characters of the message before it, but for blanks between the parts of a document: pieces of one
            message are told apart by it, and put in their order.
    """

    place: int
    message: Message
    text: str
    start: int = 0


Keep = Literal["first", "latest"]


class Reader(Protocol):
    """What every baseline hands its context to, so that systems differ in what they find, not in how they read."""

    def begin(self, summary_words: int) -> None:
        """Until `forget`, reply with summaries of at most so many words; 0 for short answers, as without this call."""

    def answer(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        options: Sequence[str],
        now: datetime,
        keep: Keep = "first",
    ) -> Reply:
        """Answer from the passages alone, read in the order they were said; evidence are the places it rests on.

        Where not all can be read, `keep` says which: the first of those given, best first, or what was said latest.
        """

    def forget(self) -> None:
        """Let go of whatever was kept of the sample that has ended."""


@dataclass(frozen=True)
class Shared:
    """What all systems of a run use, made once in each process.

    Attributes:
        config: sections of a `nscma_torch.Config` that hold for every memory of the run.
        embedder, surprise_model: their results are kept by content, with what they cost when they were made.
        engine: the language model; None for the embedded tasks.
        seed: of the language model's sampling. What a system draws itself it draws from the global generators, which
            are seeded for each sample of a task.
        time: what their caches spared; a system keeps what it does not count out of it.
        extractions: what embedded language tasks have read out of texts.
        at_hand: what systems made of the sample at hand; its cost counts for each that uses it.
    """

    config: Mapping[str, Any]
    embedder: Embedder
    surprise_model: SurpriseModel
    engine: LanguageEngine | None
    reader: Reader
    seed: int
    time: KeptTime = field(default_factory=KeptTime)
    extractions: ExtractionCache = field(default_factory=ExtractionCache)
    at_hand: AtHand = field(default_factory=AtHand)


class Session(Protocol):
    """A system at work on one sample."""

    def read(self, messages: Sequence[Message]) -> Cost:
        """Take in all messages, background work included. Called once, before `ask`."""

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        """Answer one question; it changes no later answer."""

    def store_bytes(self) -> int:
        """On disk, or of what is kept in memory instead."""


class System(Protocol):
    """A memory system, made from its section of the configuration and what all systems of a run share (`Shared`)."""

    name: str

    def open(self, folder: Path) -> AbstractContextManager[Session]:
        """A session with an empty memory; `folder` is empty and goes away with it."""
