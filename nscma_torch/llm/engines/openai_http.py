"""Language engine for an OpenAI-compatible server: vLLM, llama.cpp, Ollama and others.

These servers all support `POST /v1/chat/completions` with `response_format` of type `json_schema`, `max_tokens`,
`seed` and `logprobs`, and `GET /v1/models`. Counting tokens and reporting the context are specific to each server.
Known quirks:

- vLLM lets a model write any whitespace between the parts of JSON unless it is started with
  `--structured-outputs-config.disable_any_whitespace true`. Without it, a small model may write blanks until its limit.
- vLLM 0.32 on a CPU crashes on a request with a temperature above 0 and a seed if it reads the prompt in parts (because
  it is longer than `--max-num-batched-tokens`): its random generators there can't be reset.
- Ollama silently drops the beginning of a prompt that doesn't fit in its `num_ctx`, so `context` must be that number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError, EngineError, EngineRefusedError
from nscma_torch.core.extras import require
from nscma_torch.llm.engines.contract import Reply, Request, Token, Turn, most_tokens
from nscma_torch.llm.engines.events import read_tokens
from nscma_torch.llm.engines.protocol_schemas import (
    Counted,
    FilledTemplate,
    Model,
    ModelList,
    Props,
    Scored,
    ShapeT,
    Tokenized,
    read_reply,
    shaped,
    without_logprobs,
)
from nscma_torch.llm.engines.retry_policy import RetryPolicy
from nscma_torch.llm.engines.scoring import logprobs_of

if TYPE_CHECKING:
    from nscma_torch.llm.engines.http_client import HttpClient


class OpenAIEngine:
    """`LanguageEngine` that sends requests over HTTP.

    Args:
        url: the server's URL, with or without `/v1`.
        server: the kind of server. "vllm" and "llama.cpp" count tokens exactly and report their context. "other"
            (Ollama, a cloud service) does neither. For it, `context` must be given, and a prompt is counted as its
            UTF-8 bytes plus 16 for each turn plus 128, an upper bound for any byte-level tokenizer.
        model: the model's name on the server; None if the server has only one model.
        api_key: sent as a bearer token.
        context: maximum tokens in prompt and reply together; None for the value reported by the server.
        concurrency: maximum requests in flight.

    Raises `ConfigError` for an invalid argument, `MissingDependencyError` if httpx2 isn't installed, and `EngineError`
    if the server doesn't report a model or context that is needed.
    """

    def __init__(
        self,
        url: str,
        *,
        server: Literal["vllm", "llama.cpp", "other"] = "other",
        model: str | None = None,
        api_key: str | None = None,
        context: int | None = None,
        concurrency: int = LlmConfig().concurrency,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        if server == "other" and context is None:
            raise ConfigError("a server of kind 'other' does not report its context length: set llm.context, in tokens")
        if context is not None and context < 1:
            raise ConfigError(f"llm.context must be at least 1 token, not {context}")
        self._client = connect(url, api_key, concurrency, retry_policy or RetryPolicy())
        self._server = server
        try:
            self._model, told = (model, None) if model and context else self._find_model(model)
            self._context = context or told or self._find_context()
        except BaseException:
            self._client.close()
            raise

    @property
    def name(self) -> str:
        """Return the names of the engine and the model."""
        return f"http/{self._model}"

    @property
    def context(self) -> int:
        """Return the maximum number of tokens in prompt and reply together."""
        return self._context

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Count the tokens of each prompt, including the template. For a server of kind "other", this is an upper
        bound.

        Raises the first `EngineError`.
        """
        if self._server == "other":
            return [most_tokens(turns) for turns in prompts]
        messages = [{"model": self._model, "messages": _messages(turns)} for turns in prompts]
        if self._server == "vllm":
            return [counted.count for counted in self._ask("/tokenize", messages, Counted)]
        texts = self._ask("/apply-template", messages, FilledTemplate)
        bodies = [{"content": text.prompt, "add_special": True, "parse_special": True} for text in texts]
        return [len(tokenized.tokens) for tokenized in self._ask("/tokenize", bodies, Tokenized)]

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order. An interruption (Ctrl-C, `close`) cancels requests in flight."""
        bodies = self._client.send("/v1/chat/completions", [self._body(request) for request in requests])
        return [_result(request, body) for request, body in zip(requests, bodies, strict=True)]

    def stream(self, request: Request) -> Iterator[Token]:
        """Yield the tokens of one reply as the server sends them. It is retried only before the first token.

        Raises `EngineError` on failure.
        """
        lines = self._client.lines("/v1/chat/completions", {**self._body(request), "stream": True})
        try:
            yield from read_tokens(lines, logprobs=request.logprobs, in_form=request.schema is not None)
        except EngineRefusedError as error:
            raise _refused(request, error) from error

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of a text, without added tokens, from a server of kind "vllm". Raises `EngineError` on
        failure.
        """
        body = {"model": self._model, "prompt": text, "add_special_tokens": False}
        return list(self._ask("/tokenize", [body], Tokenized)[0].tokens)

    def score(self, prompts: Sequence[Sequence[int]]) -> list[list[float] | EngineError]:
        """Return the log-probabilities of each prompt's ids, except the first, from a server of kind "vllm".

        Other servers don't support this: OpenAI's former method, `echo` with `logprobs`, was removed or never
        implemented.
        """
        settings = {"model": self._model, "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
        bodies = [{**settings, "prompt": list(prompt)} for prompt in prompts]
        answers = self._client.send("/v1/completions", bodies)
        return [_scored(prompt, answer) for prompt, answer in zip(prompts, answers, strict=True)]

    def close(self) -> None:
        """Cancel requests in flight and close the connections. Idempotent."""
        self._client.close()

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": _messages(request.turns),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
        }
        if request.schema is not None:
            form = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": 1}  # with 0 llama.cpp sends none
        return body

    def _find_model(self, wanted: str | None) -> tuple[str, int | None]:
        """Return the model's name, and its context length if the server's list of models contains it."""
        (models,) = self._ask("/v1/models", [None], ModelList)
        model = model_of(models, wanted)
        return model.id, model.max_model_len

    def _find_context(self) -> int:
        if self._server == "llama.cpp":
            return self._ask("/props", [None], Props)[0].default_generation_settings.n_ctx
        raise ConfigError("the server does not report its context length: set llm.context, in tokens")

    def _ask(self, path: str, bodies: Sequence[dict[str, Any] | None], shape: type[ShapeT]) -> list[ShapeT]:
        """Return all responses, validated as `shape`. Raises the first error."""
        answers = []
        for body in self._client.send(path, bodies):
            if isinstance(body, EngineError):
                raise body
            answers.append(shaped(body, shape))
        return answers


def served(url: str, *, api_key: str | None, retry_policy: RetryPolicy) -> ModelList:
    """List the models on a server. Raises `EngineError` if the server doesn't report them, `ConfigError` for an invalid
    argument.
    """
    client = connect(url, api_key, 1, retry_policy)
    try:
        (body,) = client.send("/v1/models", [None])
    finally:
        client.close()
    if isinstance(body, EngineError):
        raise body
    return shaped(body, ModelList)


def connect(url: str, api_key: str | None, concurrency: int, retry_policy: RetryPolicy) -> HttpClient:
    """Return a client for a server, whose URL may end in `/v1`. Raises `ConfigError` for a bad URL or key."""
    require("httpx2", extra="http", purpose="the http engine")
    from nscma_torch.llm.engines.http_client import HttpClient

    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise ConfigError("the API key has characters that are not allowed in an HTTP header")
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    root = url.rstrip("/").removesuffix("/v1")
    return HttpClient(root, headers=headers, concurrency=concurrency, retry_policy=retry_policy)


def model_of(models: ModelList, wanted: str | None) -> Model:
    """Return the model with this name, or the only model if no name is given. Otherwise raises `ConfigError`."""
    found = {model.id: model for model in models.data}
    if wanted is None and len(found) == 1:
        return next(iter(found.values()))
    if wanted is None or wanted not in found:
        problem = f"serves no model {wanted!r}" if wanted is not None else f"serves {len(found)} models"
        names = ", ".join(found) or "(none)"
        raise ConfigError(f"the server at llm.base_url {problem}; name one of these as llm.model: {names}")
    return found[wanted]


def _messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": turn.content} for turn in turns]


def _result(request: Request, body: bytes | EngineError) -> Reply | EngineError:
    if isinstance(body, EngineError):
        return _refused(request, body)
    try:
        return read_reply(body, logprobs=request.logprobs, in_form=request.schema is not None)
    except EngineError as error:
        return error


def _scored(prompt: Sequence[int], body: bytes | EngineError) -> list[float] | EngineError:
    if isinstance(body, EngineError):
        return body
    try:
        (choice,) = shaped(body, Scored).choices
        places = [
            None if place is None else {token: one.logprob for token, one in place.items()}
            for place in choice.prompt_logprobs
        ]
        return logprobs_of(prompt, places)
    except EngineError as error:
        return error


def _refused(request: Request, error: EngineError) -> EngineError:
    """Return the error, with advice added if the server refuses log-probabilities."""
    about = request.logprobs and isinstance(error, EngineRefusedError) and "logprob" in str(error).lower()
    return without_logprobs(str(error)) if about else error
