"""Calls of a language model are spans with its name, its tokens and its errors; a batch of prompts is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError, EngineError, EngineUnavailableError, ReplyError
from nscma_torch.llm.engines.contract import Reply, Request, Token, Turn
from nscma_torch.llm.engines.lazy import LazyStreamingEngine
from nscma_torch.telemetry.telemetry import Telemetry

SECONDS, TOKENS = "gen_ai.client.operation.duration", "gen_ai.client.token.usage"
HTTP = LlmConfig(engine="http", base_url="https://models.example:8443/v1", server="vllm")
ASKED = Request((Turn("user", "Where?"),), max_tokens=64, temperature=0.5)


class Model:
    """A streaming engine that replies what it was made with."""

    name = "http/llama-3"
    context = 1000

    def __init__(self, *results: Reply | EngineError) -> None:
        self.results = results

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        return [len(turns) for turns in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        assert len(requests) == len(self.results)
        return list(self.results)

    def stream(self, _: Request) -> Iterator[Token]:
        for one in self.results:
            if isinstance(one, EngineError):
                raise one
            yield Token(one.text, 0.0)

    def close(self) -> None:
        pass


@pytest.fixture
def lazy(recorded: Any) -> Callable[..., LazyStreamingEngine]:
    """An engine as a memory has it, whose calls are recorded."""

    def make(make_model: Callable[[], Model], section: LlmConfig = HTTP) -> LazyStreamingEngine:
        engine = LazyStreamingEngine(f"{section.engine} at {section.base_url}", make_model)
        engine.observer = Telemetry(section).models
        return engine

    return make


def test_a_batch_is_one_span_with_its_tokens(lazy: Any, recorded: Any) -> None:
    replies = Reply("Oslo", 10, 3, finished=True), Reply("Ro", 20, 64, finished=False)
    assert lazy(lambda: Model(*replies)).generate([ASKED, ASKED]) == [*replies]
    (span,) = recorded.spans()
    assert (span.name, span.kind, span.status.status_code) == ("chat llama-3", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "llama-3",
        "gen_ai.request.max_tokens": 64,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.output.type": "text",
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 67,
        "gen_ai.response.finish_reasons": ("stop", "length"),
        "nscma.prompt.count": 2,
        "server.address": "models.example",
        "server.port": 8443,
    }
    tokens = {point.attributes["gen_ai.token.type"]: (point.count, point.sum) for point in recorded.points(TOKENS)}
    assert tokens == {"input": (2, 30), "output": (2, 67)}
    assert all(point.attributes["gen_ai.request.model"] == "llama-3" for point in recorded.points(TOKENS))
    assert [point.count for point in recorded.points(SECONDS)] == [1]


def test_a_failed_reply_marks_the_span(lazy: Any, recorded: Any) -> None:
    results = Reply("Oslo", 10, 3, finished=True), ReplyError("it began 'Oslo'")
    assert lazy(lambda: Model(*results)).generate([ASKED, ASKED]) == [*results]
    (span,) = recorded.spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.attributes["error.type"] == "ReplyError" and span.attributes["gen_ai.usage.output_tokens"] == 3
    assert [point.attributes["error.type"] for point in recorded.points(SECONDS)] == ["ReplyError"]
    assert all("error.type" not in point.attributes for point in recorded.points(TOKENS))


def test_an_engine_that_does_not_start_marks_the_span(lazy: Any, recorded: Any) -> None:
    def fail() -> Model:
        raise EngineUnavailableError("no connection")

    with pytest.raises(EngineUnavailableError):
        lazy(fail).generate([ASKED])
    assert recorded.one("chat")["error.type"] == "EngineUnavailableError"
    assert recorded.points(TOKENS) == []


def test_a_stream_is_a_span(lazy: Any, recorded: Any) -> None:
    engine = lazy(lambda: Model(Reply("Os", 0, 0, finished=True), Reply("lo", 0, 0, finished=True)))
    assert [token.text for token in engine.stream(ASKED)] == ["Os", "lo"]
    (span,) = recorded.spans()
    assert span.name == "chat llama-3" and span.attributes["gen_ai.request.stream"] is True
    assert not {name for name in span.attributes if "usage" in name}
    assert [point.attributes["gen_ai.request.model"] for point in recorded.points(SECONDS)] == ["llama-3"]


def test_a_stream_that_breaks_marks_its_span(lazy: Any, recorded: Any) -> None:
    engine = lazy(lambda: Model(Reply("Os", 0, 0, finished=True), ReplyError("it broke off at 'Os'")))
    with pytest.raises(ReplyError):
        list(engine.stream(ASKED))
    assert recorded.one("chat llama-3")["error.type"] == "ReplyError"


@pytest.mark.parametrize(
    ("section", "provider", "place"),
    [
        (LlmConfig(engine="http", server="llama.cpp", base_url="http://127.0.0.1"), "llama.cpp", ("127.0.0.1", 80)),
        (LlmConfig(engine="http", server="other", context=9, base_url="https://a.org"), "openai", ("a.org", 443)),
        (LlmConfig(engine="transformers", model="llama"), "transformers", (None, None)),
    ],
)  # fmt: skip
def test_the_provider_is_the_kind_of_server(
    section: LlmConfig, provider: str, place: Any, lazy: Any, recorded: Any
) -> None:
    lazy(lambda: Model(Reply("Oslo", 1, 1, finished=True)), section).generate([ASKED])
    (span,) = recorded.spans()
    assert span.attributes["gen_ai.provider.name"] == provider
    assert (span.attributes.get("server.address"), span.attributes.get("server.port")) == place
    assert span.kind is (SpanKind.CLIENT if section.engine == "http" else SpanKind.INTERNAL)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("url", ["http://127.0.0.1:port", "http://[::1"])
def test_a_malformed_address_is_an_error(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url is"):
        Telemetry(LlmConfig(engine="http", base_url=url))


def test_the_memorys_engine_is_observed(open_observed: Any, recorded: Any) -> None:
    memory = open_observed({"llm": {"engine": "http", "base_url": "http://127.0.0.1:9", "attempts": 1}})
    with pytest.raises(EngineUnavailableError):
        memory.components.engine.generate([ASKED])
    assert recorded.one("chat")["server.port"] == 9
