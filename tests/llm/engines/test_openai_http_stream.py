"""Streaming over HTTP: the tokens of the same reply, as they come; whatever ends it early is an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from nscma_torch.core.errors import EngineError, EngineRefusedError, EngineUnavailableError, ReplyError
from nscma_torch.llm.engines.contract import Request, StreamingEngine, Turn
from nscma_torch.llm.engines.events import read_tokens
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.llm.engines.retry_policy import RetryPolicy
from tests.helpers.misbehaving_server import Fault, MisbehavingServer

PATIENCE = RetryPolicy(connect=5.0, read=5.0, total=20.0, attempts=3, backoff=0.01)
TEXT = 'Porto, "naïve" 蓝色 \U0001f600'


def answer(body: Mapping[str, Any]) -> str:
    return TEXT


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer(answer) as server:
        yield server


@pytest.fixture
def engine(server: MisbehavingServer) -> Iterator[OpenAIEngine]:
    engine = OpenAIEngine(server.url, server="vllm", retry_policy=PATIENCE)
    yield engine
    engine.close()


def ask(**options: Any) -> Request:
    return Request((Turn("user", "x"),), **options)


@pytest.mark.parametrize("logprobs", [True, False])
def test_it_is_the_reply_piece_by_piece(engine: OpenAIEngine, logprobs: bool) -> None:
    assert isinstance(engine, StreamingEngine)
    tokens = list(engine.stream(ask(logprobs=logprobs)))
    assert "".join(token.text for token in tokens) == TEXT and len(tokens) == len(TEXT)
    (whole,) = engine.generate([ask(logprobs=True)])
    assert not isinstance(whole, EngineError)
    if logprobs:
        assert sum(token.logprob for token in tokens) == pytest.approx(sum(t.logprob for t in whole.tokens), rel=0.2)


def test_what_passes_is_tried_again_before_the_first_token(server: MisbehavingServer, engine: OpenAIEngine) -> None:
    server.misbehave({Fault.BROKEN: 1.0})
    with pytest.raises(EngineUnavailableError, match=r"attempts: 3.*500"):
        list(engine.stream(ask()))
    assert server.met[Fault.BROKEN] == 3


def test_a_broken_stream_is_an_error_and_is_not_begun_anew(server: MisbehavingServer, engine: OpenAIEngine) -> None:
    server.misbehave({Fault.HALF_CLOSED: 1.0})
    failed = 0
    for seed in range(8):
        got: list[str] = []
        with pytest.raises(EngineError):
            got.extend(token.text for token in engine.stream(ask(seed=seed)))
        assert TEXT.startswith("".join(got)), "no token twice"
        failed += bool(got)
    assert failed >= 4


def test_what_is_no_stream_is_an_error(server: MisbehavingServer, engine: OpenAIEngine) -> None:
    server.misbehave({Fault.NOT_JSON: 1.0})
    with pytest.raises(ReplyError):
        list(engine.stream(ask()))


def test_a_closed_engine_streams_nothing(engine: OpenAIEngine) -> None:
    engine.close()
    with pytest.raises(EngineUnavailableError, match="closed"):
        list(engine.stream(ask()))


def test_whoever_stops_reading_cancels(server: MisbehavingServer, engine: OpenAIEngine) -> None:
    stream = engine.stream(ask())
    assert next(iter(stream)).text == "P"
    stream.close()  # type: ignore[attr-defined]
    assert "".join(token.text for token in engine.stream(ask())) == TEXT


def test_a_refusal_is_told(server: MisbehavingServer) -> None:
    engine = OpenAIEngine(f"{server.url}/nowhere", model="double", context=100, retry_policy=PATIENCE)
    with pytest.raises(EngineRefusedError, match="404"):
        list(engine.stream(ask()))
    engine.close()


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "finish_reason"),
        ([{"choices": [{"delta": {"content": 7}}]}], "not in the format of its API"),
        ([{"error": "overloaded"}], "not in the format of its API"),
    ],
)
def test_events_are_checked(events: list[Any], problem: str) -> None:
    lines = [f"data: {json.dumps(event)}" for event in events]
    with pytest.raises(ReplyError, match=problem):
        list(read_tokens([": a comment", "", *lines, "data: [DONE]"], logprobs=True))


def test_a_stream_without_log_probabilities_is_refused(server: MisbehavingServer, engine: OpenAIEngine) -> None:
    server.misbehave({Fault.NO_LOGPROBS: 1.0})
    with pytest.raises(EngineRefusedError, match=r"controller\.threshold = 0"):
        list(engine.stream(ask(logprobs=True)))
    assert "".join(token.text for token in engine.stream(ask())) == TEXT
