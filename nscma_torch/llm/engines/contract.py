"""Requests and replies of language engines: the interface that every engine implements, so callers need not know
which.
"""

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
        schema: JSON schema that the reply follows token by token; None for free text.
        max_tokens: most tokens of the reply.
        temperature: 0 is greedy; with `seed` a reply is the same again on the same engine.
        logprobs: whether the reply comes with the log-probability of each of its tokens.
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
        tokens: of the text in order, where the request asked for log-probabilities; their texts joined are `text`.
        finished: False where the limit of tokens cut it off.
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
    """A language model. `generate` may be called from several threads."""

    @property
    def name(self) -> str:
        """Engine and model, for traces and fingerprints."""

    @property
    def context(self) -> int:
        """Most tokens of prompt and reply together."""

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Tokens of each prompt as the model reads it, template included; never fewer. Raises EngineError."""

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """One result for each request, in order. What failed is an error in its place; the others are kept.

        Engines try again by themselves what may pass, and EngineUnavailableError says that it did not. ReplyError says
        that the model answered and that its reply cannot be used.
        """

    def close(self) -> None:
        """Let go of the model and its memory, or of the connections; what is in flight ends with an error."""


@runtime_checkable
class StreamingEngine(LanguageEngine, Protocol):
    """A language engine that hands out a reply while it is written."""

    def stream(self, request: Request) -> Iterator[Token]:
        """Tokens of one reply in order. Raises the EngineError that `generate` would return, when it happens."""


@runtime_checkable
class ScoringEngine(LanguageEngine, Protocol):
    """A language engine that also says how probable a text is, for a surprise model that is the model it serves."""

    def tokenize(self, text: str) -> list[int]:
        """Ids of a text as the model's own tokenizer makes them, nothing added. Raises EngineError."""

    def score(self, prompts: Sequence[Sequence[int]]) -> list[list[float] | EngineError]:
        """Natural-log probability of each id of a prompt but the first, given those before it.

        Prompts are ids, at least two each, and a prompt with one token more must fit `context`. One result for each
        prompt, in order; what failed is an error in its place, and ReplyError where a probability is none.
        """
