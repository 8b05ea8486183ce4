"""The http engine against a server that misbehaves: every request gets its own reply or an error that says why."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from nscma_torch.core.errors import (
    ConfigError,
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    MissingDependencyError,
    ReplyError,
)
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, Turn
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.llm.engines.retry_policy import RetryPolicy
from tests.helpers.misbehaving_server import Fault, MisbehavingServer

QUICK = RetryPolicy(connect=5.0, read=5.0, total=20.0, attempts=3, backoff=0.01)
HASTY = RetryPolicy(connect=5.0, read=0.1, total=20.0, attempts=2, backoff=0.01)


def echo(body: Mapping[str, Any]) -> str:
    """A good reply: the last turn, backwards."""
    content: str = body["messages"][-1]["content"]
    return content[::-1]


def threads_of_engines() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("nscma http")]


def ask(text: str, **options: Any) -> Request:
    return Request((Turn("system", "Say it backwards."), Turn("user", text)), **options)


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer(echo) as server:
        yield server


@pytest.fixture
def connect(server: MisbehavingServer) -> Iterator[Callable[..., OpenAIEngine]]:
    """`connect(…)` opens an engine on the server; all are closed at the end, and leave no thread."""
    engines: list[OpenAIEngine] = []

    def connect_(url: str = "", **options: Any) -> OpenAIEngine:
        engines.append(OpenAIEngine(url or server.url, **{"server": "vllm", "retry_policy": QUICK, **options}))
        return engines[-1]

    yield connect_
    for engine in engines:
        engine.close()
    assert threads_of_engines() == []


def only(results: list[Reply | EngineError]) -> Reply | EngineError:
    (result,) = results
    return result


def test_it_is_a_language_engine(connect: Callable[..., OpenAIEngine]) -> None:
    engine = connect()
    assert isinstance(engine, LanguageEngine)
    assert engine.name == "http/double"
    assert engine.context == 4096


def test_a_reply_with_its_usage(connect: Callable[..., OpenAIEngine]) -> None:
    engine = connect()
    reply = only(engine.generate([ask("straße")]))
    assert reply == Reply("eßarts", *engine.count_tokens([ask("straße").turns]), len("eßarts".encode()), finished=True)


def test_what_is_sent(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    connect(api_key="secret").generate([ask("a", schema=schema, max_tokens=7, temperature=0.5, seed=3, logprobs=True)])
    (body,) = server.bodies
    assert body == {
        "model": "double",
        "messages": [{"role": "system", "content": "Say it backwards."}, {"role": "user", "content": "a"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "seed": 3,
        "logprobs": True,
        "top_logprobs": 1,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}},
    }
    assert server.headers[0]["Authorization"] == "Bearer secret"


def test_tokens_spell_the_reply(connect: Callable[..., OpenAIEngine]) -> None:
    """The server's tokens are bytes, and a special one stands at the end: characters come out, and the sum is kept."""
    reply = only(connect().generate([ask("né", logprobs=True)]))
    assert isinstance(reply, Reply)
    assert [token.text for token in reply.tokens] == ["é", "n"]
    assert [token.logprob for token in reply.tokens] == [-sum("é".encode()) / 256, -ord("n") / 256]


def test_order_is_kept_at_any_concurrency(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    server.misbehave({Fault.NONE: 1, Fault.SLOW: 1})
    replies = connect(concurrency=8).generate([ask(f"item {i}") for i in range(40)])
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [f"item {i}"[::-1] for i in range(40)]


def test_nothing_asked_is_nothing_sent(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    assert connect().generate([]) == []
    assert connect().count_tokens([]) == []
    assert server.bodies == []


@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.BROKEN, Fault.HALF_CLOSED])
def test_what_may_pass_is_tried_again(
    fault: Fault, server: MisbehavingServer, connect: Callable[..., OpenAIEngine]
) -> None:
    engine = connect()
    server.misbehave({fault: 1})
    error = only(engine.generate([ask("a")]))
    assert isinstance(error, EngineUnavailableError)
    assert "attempts: 3" in str(error)
    assert server.met[fault] == 3
    server.misbehave({fault: 1, Fault.NONE: 1})
    replies = connect(retry_policy=RetryPolicy(attempts=30, backoff=0.001)).generate(
        [ask(f"item {i}") for i in range(20)]
    )
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [f"item {i}"[::-1] for i in range(20)]
    assert server.met[fault] > 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.NOT_JSON, "It works!"),
        (Fault.NO_CHOICES, "choices"),
        (Fault.BROKEN, "the model fell over"),
        (Fault.BROKEN, "the log of the server at llm.base_url says why"),
        (Fault.BUSY, "429"),
        (Fault.BUSY, "lower llm.concurrency"),
        (Fault.HALF_CLOSED, "the log of the server at llm.base_url"),
    ],
)
def test_an_error_says_what_came(
    fault: Fault, said: str, server: MisbehavingServer, connect: Callable[..., OpenAIEngine]
) -> None:
    server.misbehave({fault: 1})
    error = only(connect(retry_policy=RetryPolicy(attempts=1)).generate([ask("a")]))
    assert isinstance(error, EngineError)
    assert said in str(error)


@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.NO_CHOICES])
def test_a_response_of_another_shape_is_not_asked_for_again(
    fault: Fault, server: MisbehavingServer, connect: Callable[..., OpenAIEngine]
) -> None:
    server.misbehave({fault: 1})
    assert isinstance(only(connect().generate([ask("a")])), ReplyError)
    assert server.met[fault] == 1


def test_a_cut_reply_is_marked(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    server.misbehave({Fault.BLANKS: 1})
    reply = only(connect().generate([ask("abc", max_tokens=50)]))
    assert isinstance(reply, Reply)
    assert not reply.finished


def test_a_hang_ends_in_an_error(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    engine = connect(retry_policy=HASTY)
    server.misbehave({Fault.HANG: 1})
    error = only(engine.generate([ask("a")]))
    assert isinstance(error, EngineUnavailableError)
    assert "no byte came in time" in str(error)
    assert "raise llm.timeout" in str(error)
    assert server.met[Fault.HANG] == 2


def test_the_total_ends_what_the_attempts_do_not(
    server: MisbehavingServer, connect: Callable[..., OpenAIEngine]
) -> None:
    engine = connect(retry_policy=RetryPolicy(read=30.0, total=0.2, attempts=5))
    server.misbehave({Fault.HANG: 1})
    error = only(engine.generate([ask("a")]))
    assert isinstance(error, EngineUnavailableError)
    assert "within 0.2 s" in str(error)
    assert server.met[Fault.HANG] == 1


def test_a_server_that_asks_for_more_time_than_there_is(
    server: MisbehavingServer, connect: Callable[..., OpenAIEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.helpers.misbehaving_server.formatdate", lambda *_, **__: "Fri, 01 Jan 2100 00:00:00 GMT")
    engine = connect()
    server.misbehave({Fault.BUSY: 1})
    errors = engine.generate([ask(f"item {i}") for i in range(20)])  # half of them are told seconds: 0
    asked = [error for error in errors if "asks to wait" in str(error)]
    assert any("attempts: 1" in str(error) for error in asked)  # no further one that would come too early
    assert all(isinstance(error, EngineUnavailableError) for error in errors)


def test_a_refusal_is_final(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    engine = connect(f"{server.url}/elsewhere", server="other", model="double", context=100)
    error = only(engine.generate([ask("a")]))
    assert isinstance(error, EngineRefusedError)
    assert "404" in str(error)
    assert "no /elsewhere/v1/chat/completions" in str(error)
    assert "set llm.base_url to an OpenAI-compatible server" in str(error)


def test_concurrency_is_bounded(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    """Over all threads that share the engine."""
    engine = connect(concurrency=3)
    server.misbehave({Fault.SLOW: 1})
    threads = [threading.Thread(target=engine.generate, args=([ask(f"{t} {i}") for i in range(9)],)) for t in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.met[Fault.SLOW] == 27
    assert server.most_in_flight == 3


def test_close_ends_what_hangs(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    """Replies that came are kept, the rest are errors; and nothing waits for the server, which hangs for a minute."""
    engine = connect(concurrency=4, retry_policy=RetryPolicy(read=600.0))
    results: list[Reply | EngineError] = list(engine.generate([ask("before")]))
    server.misbehave({Fault.HANG: 1})
    caller = threading.Thread(target=lambda: results.extend(engine.generate([ask(f"item {i}") for i in range(10)])))
    caller.start()
    wait_until(lambda: server.in_flight == 4)
    engine.close()
    caller.join()
    first, *rest = results
    assert isinstance(first, Reply)
    assert [type(error) for error in rest] == [EngineUnavailableError] * 10
    wait_until(lambda: server.left == 4)
    assert server.met[Fault.HANG] == 4  # those in the queue were never sent
    assert isinstance(only(engine.generate([ask("after")])), EngineUnavailableError)
    engine.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a wait is not interrupted there")
def test_ctrl_c_cancels(server: MisbehavingServer, connect: Callable[..., OpenAIEngine]) -> None:
    engine = connect(concurrency=4, retry_policy=RetryPolicy(read=600.0))
    server.misbehave({Fault.HANG: 1})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

    def interrupt() -> None:
        wait_until(lambda: server.in_flight == 4)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    presser = threading.Thread(target=interrupt)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        engine.generate([ask(f"item {i}") for i in range(10)])
    signal.signal(signal.SIGINT, before)
    presser.join()
    wait_until(lambda: server.left == 4)
    assert server.met[Fault.HANG] == 4  # those in the queue were never sent
    server.behave()
    assert isinstance(only(engine.generate([ask("after")])), Reply)


def test_a_server_without_log_probabilities_is_refused_once(
    server: MisbehavingServer, connect: Callable[..., OpenAIEngine]
) -> None:
    server.misbehave({Fault.NO_LOGPROBS: 1})
    engine = connect()
    error = only(engine.generate([ask("abc", logprobs=True)]))
    assert isinstance(error, EngineRefusedError)
    assert "set controller.threshold = 0 (always retrieve), or serve the model with log-probabilities" in str(error)
    assert server.met[Fault.NO_LOGPROBS] == 1
    assert isinstance(only(engine.generate([ask("abc")])), Reply), "nobody asked for them"


def test_a_server_that_refuses_log_probabilities(
    server: MisbehavingServer, connect: Callable[..., OpenAIEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = EngineRefusedError("400 Bad Request 'this model does not support logprobs'")
    engine = connect()
    monkeypatch.setattr(engine._client, "send", lambda _, bodies: [refused for _ in bodies])
    assert "set controller.threshold = 0" in str(only(engine.generate([ask("a", logprobs=True)])))
    assert only(engine.generate([ask("a")])) is refused


def test_proxies_are_not_for_this_machine(
    connect: Callable[..., OpenAIEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert isinstance(only(connect().generate([ask("a")])), Reply)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(
        EngineUnavailableError, match=r"127\.0\.0\.1:9/v1/models failed .*no connection; .*set llm\.base_url"
    ):
        OpenAIEngine("http://127.0.0.1:9", server="vllm", retry_policy=QUICK)
    assert threads_of_engines() == []


@pytest.mark.parametrize(("kind", "context"), [("vllm", 4096), ("llama.cpp", 4096), ("other", 5)])
def test_models_and_context(kind: str, context: int, connect: Callable[..., OpenAIEngine]) -> None:
    engine = connect(server=kind, context=5 if kind == "other" else None)
    assert (engine.name, engine.context) == ("http/double", context)


def test_counting_is_the_servers(connect: Callable[..., OpenAIEngine]) -> None:
    prompts = [ask("straße").turns, ask("a").turns]
    exact = connect(server="vllm").count_tokens(prompts)
    assert connect(server="llama.cpp").count_tokens(prompts) == exact
    bound = connect(server="other", context=4096).count_tokens(prompts)
    assert bound == [len("Say it backwards.") + len("straße".encode()) + 160, len("Say it backwards.") + 1 + 160]
    assert all(at_most >= count for at_most, count in zip(bound, exact, strict=True))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"server": "other"}, "context"),
        ({"context": 0}, "context"),
        ({"concurrency": 0}, "concurrency"),
        ({"api_key": "a\nb"}, "API key"),
        ({"api_key": "ключ"}, "API key"),
        ({"model": "another"}, r"'another'; name one of these as llm\.model: double"),
        ({"url": "127.0.0.1:8000"}, r"set llm\.base_url, for example http://"),
        ({"url": "ftp://127.0.0.1"}, r"set llm\.base_url, for example http://"),
        ({"url": "http://127.0.0.1:port"}, "is not a URL"),
    ],
)
def test_bad_arguments(options: dict[str, Any], said: str, connect: Callable[..., OpenAIEngine]) -> None:
    with pytest.raises(ConfigError, match=said):
        connect(**options)
    assert threads_of_engines() == []


def test_several_models_need_a_choice() -> None:
    with MisbehavingServer(echo, models=("small", "large")) as server:
        with pytest.raises(ConfigError, match="small, large"):
            OpenAIEngine(server.url, server="vllm")
        engine = OpenAIEngine(f"{server.url}/v1/", server="vllm", model="large")
        assert engine.name == "http/large"
        engine.close()


@pytest.mark.parametrize("bad", [{"read": 0.0}, {"attempts": 0}, {"backoff": -1.0}])
def test_bad_patience(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        RetryPolicy(**bad)


def test_waits_double_and_end_at_the_longest() -> None:
    retry_policy = RetryPolicy(backoff=1.0, longest_wait=5.0)
    for attempt, most in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (1000, 5.0)):
        waits = [retry_policy.wait_after(attempt) for _ in range(200)]
        assert 0.0 <= min(waits) < most / 4
        assert most * 3 / 4 < max(waits) <= most


def test_without_httpx2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingDependencyError, match=r"nscma-torch\[http\]"):
        OpenAIEngine("http://127.0.0.1:9", context=100, model="m")


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")
