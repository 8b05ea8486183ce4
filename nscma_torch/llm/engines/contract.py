"""The interface that every language engine implements, with its requests and replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from nscma_torch.core.errors import EngineError

_TURN_OVERHEAD = 16  # tokens that a chat template puts around a turn, at most
_PROMPT_OVERHEAD = 128  # tokens that it puts around a prompt, at most; some write a system turn of their own


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn in a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


Turns = tuple[Turn, ...]  # a prompt


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt.

    Attributes:
        schema: JSON schema that is enforced token by token; None for free text.
        max_tokens: maximum tokens in the reply.
        temperature: 0 is greedy; with `seed` a reply is reproducible on the same engine.
        logprobs: True to return the log-probability of each token in the reply.
    """

    turns: tuple[Turn, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """A token in a reply: its text and its natural-log probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Reply:
    """Text written by the model.

    Attributes:
        tokens: the text's tokens in order, if log-probabilities were requested. Their joined texts equal `text`.
        finished: False if the token limit cut the text off.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    finished: bool
    tokens: tuple[Token, ...] = field(default=())


def most_tokens(turns: Sequence[Turn]) -> int:
    """Return an upper bound on a prompt's tokens, since a byte-level tokenizer needs at least one byte per token."""
    return _PROMPT_OVERHEAD + sum(_TURN_OVERHEAD + len(turn.content.encode(errors="replace")) for turn in turns)


@runtime_checkable
class LanguageEngine(Protocol):
    """A language model. `generate` is thread-safe."""

    @property
    def name(self) -> str:
        """Return the names of the engine and the model, for traces and fingerprints."""

    @property
    def context(self) -> int:
        """Return the maximum number of tokens in prompt and reply together."""

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Count the tokens of each prompt as the model reads it, including the template. The result is an upper bound.

        Raises `EngineError` on failure.
        """

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order. A failed request has its error as the result; the other replies are
        kept.

        Engines retry temporary failures themselves, so `EngineUnavailableError` means that a failure persisted.
        `ReplyError` means that the model's reply was unusable.
        """

    def close(self) -> None:
        """Release the model and its memory, or close the connections. Requests in flight end with an error."""


@runtime_checkable
class StreamingEngine(LanguageEngine, Protocol):
    """A language engine that yields a reply while it is being written."""

    def stream(self, request: Request) -> Iterator[Token]:
        """Yield the tokens of one reply, in order. On failure, raises the `EngineError` that `generate`
        would return.
        """


@runtime_checkable
class ScoringEngine(LanguageEngine, Protocol):
    """A language engine that also scores texts, so the served model can be used as the surprise model."""

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of a text from the model's own tokenizer, without added tokens. Raises `EngineError` on
        failure.
        """

    def score(self, prompts: Sequence[Sequence[int]]) -> list[list[float] | EngineError]:
        """Return the natural-log probability of each token id in a prompt, except the first, given the ids before it.

        Each prompt has at least two ids, and a prompt plus one token must fit in `context`. There is one result per
        prompt, in order. A failed prompt has its error as the result; an invalid probability is a `ReplyError`.
        """
