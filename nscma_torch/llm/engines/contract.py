"""Requests and replies of language engines: the interface that every engine implements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from nscma_torch.core.errors import EngineError

_TURN_OVERHEAD = 16  # tokens that a chat template puts around a turn, at most
_PROMPT_OVERHEAD = 128  # tokens that it puts around a prompt, at most; some write a system turn of their own


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


Turns = tuple[Turn, ...]  # a prompt


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt.

    Attributes:
        schema: JSON schema enforced token by token; None for free text.
        max_tokens: maximum tokens of the reply.
        temperature: 0 is greedy; with `seed` a reply is reproducible on the same engine.
        logprobs: return the log-probability of each token of the reply.
    """

    turns: tuple[Turn, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a reply: its text and its natural-log probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Reply:
    """Text written by the model.

    Attributes:
        tokens: the text's tokens in order, if log-probabilities were requested; their texts joined are `text`.
        finished: False if the token limit cut it off.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    finished: bool
    tokens: tuple[Token, ...] = field(default=())


def most_tokens(turns: Sequence[Turn]) -> int:
    """Return the upper bound on a prompt's tokens: a byte-level tokenizer needs at least one byte per token."""
    return _PROMPT_OVERHEAD + sum(_TURN_OVERHEAD + len(turn.content.encode(errors="replace")) for turn in turns)


@runtime_checkable
class LanguageEngine(Protocol):
    """A language model. `generate` is thread-safe."""

    @property
    def name(self) -> str:
        """Return engine and model, for traces and fingerprints."""

    @property
    def context(self) -> int:
        """Return the maximum tokens of prompt and reply together."""

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Count tokens of each prompt as the model reads it, template included; an upper bound. Raises EngineError."""

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order. Failures are errors in their places; the others are kept.

        Engines retry temporary failures themselves, and EngineUnavailableError means that they persisted. ReplyError
        means that the model answered with an unusable reply.
        """

    def close(self) -> None:
        """Release the model and its memory, or the connections; requests in flight end with an error."""


@runtime_checkable
class StreamingEngine(LanguageEngine, Protocol):
    """A language engine that yields a reply while it is written."""

    def stream(self, request: Request) -> Iterator[Token]:
        """Yield tokens of one reply in order. Raises the EngineError that `generate` would return, when it happens."""


@runtime_checkable
class ScoringEngine(LanguageEngine, Protocol):
    """A language engine that also scores texts, for using the served model as the surprise model."""

    def tokenize(self, text: str) -> list[int]:
        """Return ids of a text by the model's own tokenizer, nothing added. Raises EngineError."""

    def score(self, prompts: Sequence[Sequence[int]]) -> list[list[float] | EngineError]:
        """Return the natural-log probability of each id of a prompt except the first, given those before it.

        Prompts are ids, at least two each, and a prompt plus one token must fit `context`. One result per prompt, in
        order; failures are errors in their places, ReplyError for an invalid probability.
        """
