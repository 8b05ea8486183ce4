"""Responses of OpenAI-compatible servers, strictly validated. An invalid response raises an error that quotes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nscma_torch.core.errors import NoLogprobsError, ReplyError
from nscma_torch.llm.engines.contract import Reply, Token

_SHOWN = 200  # characters that an error quotes


class Shape(BaseModel):
    """Base class for all shapes: types are exact, and unknown keys are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


ShapeT = TypeVar("ShapeT", bound=Shape)


class Model(Shape):
    """A model in `GET /v1/models`. vLLM reports the context length there."""

    id: str
    max_model_len: int | None = Field(None, gt=0)


class ModelList(Shape):
    """Response to `GET /v1/models`."""

    data: tuple[Model, ...]


class Settings(Shape):
    """The part of llama.cpp's `GET /props` response that contains the context size per slot."""

    n_ctx: int = Field(gt=0)


class Props(Shape):
    """Response of llama.cpp to `GET /props`."""

    default_generation_settings: Settings


class Counted(Shape):
    """Response of vLLM to `POST /tokenize`."""

    count: int = Field(ge=0)


class Tokenized(Shape):
    """Response of llama.cpp, and of vLLM for a text, to `POST /tokenize`."""

    tokens: tuple[int, ...]


class FilledTemplate(Shape):
    """Response of llama.cpp to `POST /apply-template`."""

    prompt: str


class ContentPart(Shape):
    """One part of a content list. Parts without text, such as reasoning, are skipped."""

    text: str | None = None


Content = str | tuple[ContentPart, ...] | None


class ReplyMessage(Shape):
    """The message in a response. Servers with a reasoning parser may leave the content empty and put the whole text
    into the reasoning.
    """

    content: Content = None
    reasoning_content: str | None = None
    reasoning: str | None = None


def content_text(content: Content) -> str | None:
    """Return the text of a content, or None if it has none."""
    if content is None or isinstance(content, str):
        return content
    return "".join(part.text or "" for part in content)


class LogProb(Shape):
    """A token. It has `bytes` if its text alone isn't valid UTF-8."""

    token: str
    logprob: float
    bytes: tuple[Annotated[int, Field(ge=0, le=255)], ...] | None = None


class LogProbs(Shape):
    """Log-probabilities of the tokens in a reply."""

    content: tuple[LogProb, ...] | None = None


class Choice(Shape):
    """One reply."""

    message: ReplyMessage
    finish_reason: str | None
    logprobs: LogProbs | None = None


class TokenUsage(Shape):
    """Token cost of a reply."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


class Completion(Shape):
    """Response to `POST /v1/chat/completions`."""

    choices: tuple[Choice, ...] = Field(min_length=1, max_length=1)
    usage: TokenUsage


class PromptLogProb(Shape):
    """The log-probability of one token at one position of a prompt."""

    logprob: float


class ScoredPrompt(Shape):
    """A prompt's log-probabilities: for each position except the first, that of its token, by id, and possibly those of
    other tokens.
    """

    prompt_logprobs: tuple[dict[int, PromptLogProb] | None, ...]


class Scored(Shape):
    """Response of vLLM to `POST /v1/completions` with `prompt_logprobs`."""

    choices: tuple[ScoredPrompt, ...] = Field(min_length=1, max_length=1)


def shaped(body: bytes, shape: type[ShapeT]) -> ShapeT:
    """Return the body, validated as `shape`. Raises `ReplyError` if it is invalid."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise ReplyError(
            f"the server's response is not in the format of its API: {where + ': ' if where else ''}{problem['msg']}; "
            f"it began {shown(body)}"
        ) from error


def read_reply(body: bytes, *, logprobs: bool, in_form: bool = False) -> Reply:
    """Return the reply in a chat completion. Raises `ReplyError` if there is none.

    Raises `EngineRefusedError` if requested log-probabilities are missing. A reply in a form may also appear as
    reasoning.
    """
    completion = shaped(body, Completion)
    (choice,) = completion.choices
    text = content_text(choice.message.content)
    if in_form and not (text or "").strip():
        text = choice.message.reasoning_content or choice.message.reasoning or text
    if choice.finish_reason not in {"stop", "length"}:
        raise ReplyError(f"the reply ended with finish_reason {choice.finish_reason!r}: {shown(text or '')}")
    if text is None:
        raise ReplyError(f"the reply has no content after {completion.usage.completion_tokens} tokens")
    tokens: tuple[Token, ...] = ()
    if logprobs:
        if choice.logprobs is None or not (choice.logprobs.content or not text):
            raise without_logprobs()
        tokens = spelled(text, choice.logprobs.content or ())
    return Reply(
        text=text,
        prompt_tokens=completion.usage.prompt_tokens,
        completion_tokens=completion.usage.completion_tokens,
        finished=choice.finish_reason == "stop",
        tokens=tokens,
    )


def without_logprobs(said: str = "the reply came without log-probabilities") -> NoLogprobsError:
    """Build the error for a server without log-probabilities, which the controller needs."""
    return NoLogprobsError(
        f"{said}; the controller needs them to measure uncertainty: set controller.threshold = 0 (always "
        "retrieve), or serve the model with log-probabilities"
    )


def spelled(text: str, parts: Sequence[LogProb]) -> tuple[Token, ...]:
    """Return tokens that, when their texts are joined, are exactly `text`.

    Servers may report more or less than the text: special tokens after its end, a code fence around it (which llama.cpp
    removes from the text only), pieces of one character, or words without the space that a tokenizer drops when it
    decodes them alone. Tokens that only together form a character become one token, with the sum of their
    log-probabilities. Raises `ReplyError` if the parts spell a different text.
    """
    tokens: list[Token] = []
    left, piece, logprob = text, b"", 0.0
    for part in parts:
        if not left:
            break  # special tokens after the end
        piece += part.token.encode() if part.bytes is None else bytes(part.bytes)
        logprob += part.logprob
        try:
            word = piece.decode()
        except UnicodeDecodeError:
            continue  # the rest of the character is in the next token
        if not word:
            continue
        blank = len(left) - len(left.lstrip())
        if left.startswith(word):
            length = len(word)
        elif left[blank:].startswith(word.lstrip()):
            length = blank + len(word.lstrip())
        elif word.startswith(left):
            length = len(left)
        elif len(left) == len(text):  # before the text
            piece, logprob = b"", 0.0
            continue
        else:
            raise ReplyError(
                f"the tokens do not spell the reply: got {shown(word)} where it continues with {shown(left)}"
            )
        tokens.append(Token(left[:length], logprob))
        left, piece, logprob = left[length:], b"", 0.0
    if left.strip(" \n\ufffd"):
        raise ReplyError(f"the tokens do not spell the reply: it continues with {shown(left)} after the last one")
    return (*tokens, Token(left, logprob)) if left else tuple(tokens)


def shown(body: bytes | bytearray | str) -> str:
    """Return the beginning of a text, on one line, for an error message."""
    text = body if isinstance(body, str) else body.decode(errors="replace")
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…")
