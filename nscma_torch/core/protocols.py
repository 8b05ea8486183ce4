"""Interfaces between packages; `api.components` connects the implementations.

Shapes: n texts, d embedding dimension.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import (
    Answer,
    Description,
    Evidence,
    Extraction,
    FactOperation,
    Hit,
    QAPair,
    Scope,
    SourcedLine,
    ToldFact,
    Unit,
)

if TYPE_CHECKING:
    import torch


MOST_IMPORTANT = 10  # the highest rating of `ImportanceTasks.rate`; the lowest is 1


@runtime_checkable
class Embedder(Protocol):
    """Turns text into unit vectors. Vectors with different fingerprints are never mixed."""

    @property
    def fingerprint(self) -> str:
        """Identify model, weights and numerics."""

    @property
    def dimension(self) -> int:
        """d."""

    @property
    def max_tokens(self) -> int:
        """Maximum tokens per text, including special tokens; a longer text is an error."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text, including special tokens."""

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, d], float32, on the embedder's device."""

    def embed_query(self, text: str) -> torch.Tensor:
        """Return the unit vector [d] of a question; some models prefix a prompt."""


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that embeds many questions at once more cheaply than one by one."""

    def embed_queries(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, d] of questions, equal to those of `embed_query` up to rounding."""


class StreamScore(Protocol):
    """One stream's result of `SurpriseModel.score`."""

    @property
    def nll(self) -> Sequence[torch.Tensor]:
        """Per message, the nats of each token, float32 [tokens], including the line feed after the message."""

    @property
    def ends(self) -> Sequence[torch.Tensor] | None:
        """Per message, the byte offset of each token's end, line feed included, int64 [tokens]; None: one token per
        byte.
        """

    @property
    def state(self) -> bytes:
        """State after the last message, h_t of the NSCMA paper."""


@runtime_checkable
class SurpriseModel(Protocol):
    """The model whose surprise the gate uses; NSCMA section 3.2, P_proxy(w_i | w_<i, h_{t-1})."""

    @property
    def fingerprint(self) -> str:
        """Identify configuration and weights; states of another model are refused."""

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> Sequence[StreamScore]:
        """Score consecutive messages of each stream, carrying its state; None starts afresh."""


@runtime_checkable
class RetrievalTasks(Protocol):
    """Language tasks of retrieval strategies; `llm.embedded` implements them without a language model."""

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Rate how well each hit answers the question, in [0, 1] (Structural Memory section 3.2, reranking)."""

    def refine(self, question: str, hits: Sequence[Hit]) -> str:
        """Return a better question in view of these hits, "" for none (Structural Memory section 3.2, iterative
        retrieval).
        """

    def select(self, question: str, hits: Sequence[Hit]) -> list[bool]:
        """Mark the hits that help to answer the question (CAM section 4.3, Prune-and-Grow)."""


@runtime_checkable
class QueryTasks(Protocol):
    """Language tasks of the strategies `hyde` and `self-questioning`."""

    def imagine(self, question: str, hits: Sequence[Hit]) -> list[str]:
        """Write passages that might answer the question; `hits` of a first search help tasks that can't invent any."""

    def divide(self, question: str) -> list[str]:
        """Split a question into self-contained ones whose answers it needs; empty for a plain question."""


@runtime_checkable
class CuratorTasks(Protocol):
    """Language tasks of the curator for cases that weights leave undecided."""

    def adjudicate(self, disputes: Sequence[Sequence[Sequence[Unit]]]) -> list[int | None]:
        """Return for each dispute the index of the side that holds, None to leave it open; a side is its statements."""


@runtime_checkable
class FactTasks(Protocol):
    """Language tasks of the curator if a model decides on fact operations (mem0, the update phase)."""

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        """Decide what each new fact does to the known facts beside it, the most similar ones, best first."""


@runtime_checkable
class ImportanceTasks(Protocol):
    """Rates messages if `score.importance` is "model"."""

    def rate(self, units: Sequence[Unit]) -> list[int]:
        """Rate each unit's importance to its speaker: whole numbers from 1 (everyday) to 10 (Generative Agents)."""


@runtime_checkable
class LineTasks(Protocol):
    """Writes the lines of texts that sleep derives; kinds are those of `core.derived_kinds`."""

    def lines(self, kind: str, groups: Sequence[Sequence[Unit]], words: int | None = None) -> list[list[SourcedLine]]:
        """Write the lines of a kind on each group, in about `words` words; the whole batch at once."""


@runtime_checkable
class ReflectionTasks(Protocol):
    """Language tasks of reflections (Generative Agents)."""

    def questions(self, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
        """Return the most salient questions that each group's memories answer, up to `most`."""

    def reflections(self, asked: Sequence[tuple[str, Sequence[Unit]]], most: int) -> list[list[SourcedLine]]:
        """Conclude what the memories found for each question show about it, in at most `most` lines."""


@runtime_checkable
class QuestionTasks(Protocol):
    """Language tasks of question-answer pair mining."""

    def pairs(self, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:
        """Find the questions each group's messages ask and answer, with their sources; unfiltered."""


class ReadBack(Protocol):
    """Asks a memory a question, to check that it holds the answer."""

    def __call__(
        self, query: str, *, asker: str, scope: Scope, now: datetime, without: Collection[str]
    ) -> Evidence | None:
        """Return the short answer found, with its confidence as the score; None if there is none.

        Only messages to the scope's agent up to `now` are read, except those with ids in `without`.
        """


@runtime_checkable
class RecordTasks(Protocol):
    """Language tasks of structured records."""

    def describe(
        self,
        units: Sequence[Unit],
        *,
        extractions: Sequence[Extraction],
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]],
    ) -> list[Description | None]:
        """Describe each unit from its statements, its listeners and the turns before it; None if undecidable."""


@runtime_checkable
class LanguageTasks(Protocol):
    """Language tasks of the system, batch first; `llm.embedded` implements them without a language model."""

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        """Extract atomic facts and triples of each unit (Structural Memory section 3.1); `listeners`: whom each
        addresses, "" if unclear.
        """

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """Summarize the units of each group (CAM, abstraction nodes); the whole batch at once."""

    def answer(self, question: str, hits: Sequence[Hit], *, answerability: float) -> Answer:
        """Answer from the hits alone, or abstain; `answerability` in [-1, 2] rates how well the memory covers the
        question.
        """


@runtime_checkable
class QuotingTasks(Protocol):
    """Language tasks whose answers are passages, which the trained reader shortens if `quotes` is true."""

    @property
    def quotes(self) -> bool:
        """Return True if answers are passages."""


def required(tasks: object, protocol: type, key: str) -> Any:
    """Return language tasks that have the protocol a configuration key needs; `ConfigError` if they lack it."""
    if isinstance(tasks, protocol):
        return tasks
    raise ConfigError(
        f"{key} needs language tasks that implement {protocol.__module__}.{protocol.__name__}, which "
        f"{type(tasks).__name__} doesn't: change the key, or implement it"
    )
