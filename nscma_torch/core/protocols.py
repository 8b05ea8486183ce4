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
    AskedQuestion,
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
    """Converts text to unit vectors. Vectors with different fingerprints are never mixed."""

    @property
    def fingerprint(self) -> str:
        """Identifies the model, its weights and numerics."""

    @property
    def dimension(self) -> int:
        """The dimension d of the vectors."""

    @property
    def max_tokens(self) -> int:
        """Maximum tokens per text, including special tokens; a longer text raises an error."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens in each text, including special tokens."""

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, d], float32, on the embedder's device."""

    def embed_query(self, text: str) -> torch.Tensor:
        """Return the unit vector [d] for a question; some models add a prompt prefix."""


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that embeds several questions at once more cheaply than one by one."""

    def embed_queries(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, d] for questions, equal to the results of `embed_query` up to rounding."""


class StreamScore(Protocol):
    """The result of `SurpriseModel.score` for one stream."""

    @property
    def nll(self) -> Sequence[torch.Tensor]:
        """For each message, the nats of each token, float32 [tokens], including the line feed after the message."""

    @property
    def ends(self) -> Sequence[torch.Tensor] | None:
        """For each message, the end of each token in bytes, counting the line feed, int64 [tokens]; None if each byte
        is a token.
        """

    @property
    def state(self) -> bytes:
        """State after the last message, h_t in the NSCMA paper."""


@runtime_checkable
class SurpriseModel(Protocol):
    """The model that computes surprise for the gate: P_proxy(w_i | w_<i, h_{t-1}) in NSCMA section 3.2."""

    @property
    def fingerprint(self) -> str:
        """Identifies the configuration and weights; states from another model are rejected."""

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> Sequence[StreamScore]:
        """Score consecutive messages in each stream, continuing from its state; a state of None starts a new stream."""


@runtime_checkable
class RetrievalTasks(Protocol):
    """Language tasks for retrieval strategies; `llm.embedded` implements them without a language model."""

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Rate how well each hit answers the question, in [0, 1] (Structural Memory section 3.2, reranking)."""

    def refine(self, question: str, hits: Sequence[Hit]) -> str:
        """Return a better question based on these hits, or "" if there is none (Structural Memory section 3.2,
        iterative retrieval).
        """

    def select(self, question: str, hits: Sequence[Hit]) -> list[bool]:
        """Mark the hits that help to answer the question (CAM section 4.3, Prune-and-Grow)."""


@runtime_checkable
class QueryTasks(Protocol):
    """Language tasks for the strategies `hyde` and `self-questioning`."""

    def imagine(self, question: str, hits: Sequence[Hit]) -> list[str]:
        """Write passages that might answer the question. `hits` from a first search help implementations that can't
        invent passages."""

    def divide(self, question: str) -> list[str]:
        """Split a question into the self-contained questions on which its answer depends; empty for a simple
        question."""


@runtime_checkable
class CuratorTasks(Protocol):
    """Language tasks for the curator, for cases that weights leave undecided."""

    def adjudicate(self, disputes: Sequence[Sequence[Sequence[Unit]]]) -> list[int | None]:
        """Return for each dispute the index of the side that is right, or None to leave it open. A side is a sequence
        of statements."""


@runtime_checkable
class FactTasks(Protocol):
    """Language tasks for the curator, if a model decides on fact operations (the update phase in mem0)."""

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        """Decide how each new fact changes the known facts paired with it: the most similar ones, best first."""


@runtime_checkable
class ImportanceTasks(Protocol):
    """Rates messages if `score.importance` is "model"."""

    def rate(self, units: Sequence[Unit]) -> list[int]:
        """Rate each unit's importance to its speaker: whole numbers from 1 (everyday) to 10 (Generative Agents)."""


@runtime_checkable
class LineTasks(Protocol):
    """Writes the lines of the texts that sleep derives; the kinds are listed in `core.derived_kinds`."""

    def lines(self, kind: str, groups: Sequence[Sequence[Unit]], words: int | None = None) -> list[list[SourcedLine]]:
        """Write lines of a kind about each group, in about `words` words; all groups are passed as one batch."""


@runtime_checkable
class ReflectionTasks(Protocol):
    """Language tasks for reflections (Generative Agents)."""

    def questions(self, groups: Sequence[Sequence[Unit]], most: int) -> list[list[str]]:
        """Return, for each group, up to `most` salient questions that its memories can answer."""

    def reflections(self, asked: Sequence[tuple[str, Sequence[Unit]]], most: int) -> list[list[SourcedLine]]:
        """Write, for each question, at most `most` conclusions from the memories found for it."""


@runtime_checkable
class QuestionTasks(Protocol):
    """Language tasks for extracting question-answer pairs."""

    def pairs(self, groups: Sequence[Sequence[Unit]]) -> list[list[QAPair]]:
        """Find the questions that each group's messages ask and answer, with their sources; the pairs aren't
        filtered."""


class ReadBack(Protocol):
    """Asks a memory a question to check that the memory contains the answer."""

    def __call__(
        self, query: str, *, asker: str, scope: Scope, now: datetime, without: Collection[str]
    ) -> Evidence | None:
        """Return the short answer found, with its confidence as the score, or None if there is none.

        Reads only messages to the scope's agent up to `now`, except those with ids in `without`.
        """


@runtime_checkable
class RecordTasks(Protocol):
    """Language tasks for structured records."""

    def describe(
        self,
        units: Sequence[Unit],
        *,
        extractions: Sequence[Extraction],
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]],
    ) -> list[Description | None]:
        """Describe each unit from its statements, its listeners and the turns before it; None if it can't be
        described."""


@runtime_checkable
class LanguageTasks(Protocol):
    """The language tasks that the system always needs; each takes a batch. `llm.embedded` implements them without a
    language model."""

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        """Extract atomic facts and triples from each unit (Structural Memory section 3.1). `listeners` names the person
        each unit addresses, or is "" if unclear.
        """

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """Summarize the units in each group (CAM, abstraction nodes); all groups are passed as one batch."""

    def answer(self, question: AskedQuestion, hits: Sequence[Hit]) -> Answer:
        """Answer only from the hits, or abstain."""


@runtime_checkable
class QuotingTasks(Protocol):
    """Language tasks that may answer with passages; if `quotes` is true, the trained reader shortens them."""

    @property
    def quotes(self) -> bool:
        """True if answers are passages."""


def required(tasks: object, protocol: type, key: str) -> Any:
    """Return the language tasks if they implement the protocol that a configuration key needs. Raises `ConfigError`
    otherwise."""
    if isinstance(tasks, protocol):
        return tasks
    raise ConfigError(
        f"{key} needs language tasks that implement {protocol.__module__}.{protocol.__name__}, which "
        f"{type(tasks).__name__} doesn't: change the key, or implement it"
    )
