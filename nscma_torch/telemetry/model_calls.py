"""Record calls of a language model: the model, tokens and durations, never a prompt or a reply.

A batch of prompts is one span, because an engine works on them at once; tokens are counted for each reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from opentelemetry.trace import SpanKind

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError, EngineError
from nscma_torch.llm.engines.contract import Reply, Request, Token
from nscma_torch.telemetry import names
from nscma_torch.telemetry.recorder import Attributes, Recorder, Running

_CHAT = "chat"
_LABELS = (names.OPERATION, names.PROVIDER, names.ADDRESS, names.PORT)


class ModelCalls:
    """Records the calls of the configured language engine."""

    def __init__(self, recorder: Recorder, section: LlmConfig) -> None:
        self._recorder = recorder
        self._engine = section.engine
        self._kind = SpanKind.CLIENT if section.engine == "http" else SpanKind.INTERNAL
        self._attributes: dict[str, str | int] = {names.OPERATION: _CHAT, names.PROVIDER: section.engine}
        if section.engine == "http":  # servers of other kinds speak OpenAI's protocol
            self._attributes[names.PROVIDER] = "openai" if section.server == "other" else section.server
            self._attributes |= _place(section.base_url)

    def generate(
        self, name: Callable[[], str], requests: Sequence[Request], call: Callable[[], list[Reply | EngineError]]
    ) -> list[Reply | EngineError]:
        """Make a call with these requests, as a span. `name` returns the engine's name, which may change with it."""
        running = self._begin(requests)
        results: list[Reply | EngineError] = []
        try:
            with running.current():
                results = call()
            self._note(running, results)
            return results
        finally:
            self._name(running, name())
            self._count(running, results)
            running.end()

    def stream(self, name: Callable[[], str], request: Request, call: Callable[[], Iterator[Token]]) -> Iterator[Token]:
        """Stream a reply, as a span. Servers don't say how many tokens a piece has, so none are counted."""
        running = self._begin([request])
        running.note({names.STREAM: True})

        def tokens() -> Iterator[Token]:
            yield from call()

        def done(_: int) -> Attributes:
            self._name(running, name())
            return {}

        return running.iterated(tokens(), done)

    def _begin(self, requests: Sequence[Request]) -> Running:
        limits, temperatures = {one.max_tokens for one in requests}, {one.temperature for one in requests}
        attributes: dict[str, str | int | float] = {**self._attributes, names.PROMPTS: len(requests)}
        if len(limits) == 1:
            attributes[names.MAX_TOKENS] = limits.pop()
        if len(temperatures) == 1:
            attributes[names.TEMPERATURE] = temperatures.pop()
        forms = {one.schema is not None for one in requests}
        if len(forms) == 1:
            attributes[names.OUTPUT_TYPE] = "json" if forms.pop() else "text"
        return self._recorder.begin(
            _CHAT, attributes, duration=names.OPERATION_SECONDS, labels=_LABELS, kind=self._kind
        )

    def _note(self, running: Running, results: Sequence[Reply | EngineError]) -> None:
        errors = [one for one in results if isinstance(one, EngineError)]
        replies = [one for one in results if isinstance(one, Reply)]
        if errors:
            running.fail(type(errors[0]).__name__)
        usage = {names.INPUT_TOKENS: 0, names.OUTPUT_TOKENS: 0}
        for one in replies:
            usage[names.INPUT_TOKENS] += one.prompt_tokens
            usage[names.OUTPUT_TOKENS] += one.completion_tokens
        running.note(usage)
        running.span.set_attribute(names.FINISH_REASONS, ["stop" if one.finished else "length" for one in replies])

    def _count(self, running: Running, results: Sequence[Reply | EngineError]) -> None:
        labels = {name: value for name, value in running.labels.items() if name != names.ERROR}
        for one in results:
            if isinstance(one, Reply):
                self._recorder.tokens.record(one.prompt_tokens, {**labels, names.TOKEN_TYPE: "input"})
                self._recorder.tokens.record(one.completion_tokens, {**labels, names.TOKEN_TYPE: "output"})

    def _name(self, running: Running, name: str) -> None:
        """Name a span after its model, which an engine may learn from its server."""
        prefix = f"{self._engine}/"
        if name.startswith(prefix):
            model = name.removeprefix(prefix)
            running.label({names.MODEL: model})
            running.span.update_name(f"{_CHAT} {model}")


def _place(url: str) -> dict[str, str | int]:
    """Return the address and port of a server. Raises `ConfigError` if the URL is malformed."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise ConfigError(f"llm.base_url is {url!r}, which is not a URL: {error}") from error
    return {names.ADDRESS: parts.hostname or "", names.PORT: port}
