"""What the controller asks an engine goes through the door of all language work: counted once, bounded, checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from nscma_torch.controller.controller import Controller
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import EngineRefusedError, EngineUnavailableError, ReplyError
from nscma_torch.llm.engines.contract import Request
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from tests.controller.scripted import ScriptedEngine, act, answering
from tests.helpers.misbehaving_server import Fault, MisbehavingServer

Opener = Callable[..., Controller]


def searching(form: str, quoted: Mapping[str, Any], _request: Request) -> Any:
    """Looks once, then answers; finds no answer to a question."""
    if form == "DraftForm":
        return {"known": False, "text": "?"}
    if form == "SearchAct" or (form == "Act" and not quoted.get("done")):
        return act("retrieve_episodic", query="harp")
    return answering(form, quoted, "Porto") or act("answer", text="Porto", evidence=[])


@pytest.mark.parametrize("said", ["Find my harp.", "Where is my harp?"])
def test_stats_count_what_a_turn_cost_once(converse: Opener, said: str) -> None:
    engine = ScriptedEngine(searching)
    controller = converse(engine)
    controller.memory.add("Somebody borrowed the harp.", user_id="ada")
    answer = controller.turn(said)
    assert answer.usage.llm_calls == len(engine.requests) == 3, engine.forms()
    work = controller.memory.stats().language_work
    assert work == {"requests": 3, "tokens": answer.usage.tokens, "failed": 0}


def test_a_second_attempt_and_a_failure_are_counted(converse: Opener) -> None:
    replies = iter(["not JSON", json.dumps({"known": True, "text": "Porto"})])
    controller = converse(ScriptedEngine(lambda *_: next(replies)))
    answer = controller.turn("Hello.")
    assert (answer.text, answer.usage.llm_calls) == ("Porto", 2)
    broken = converse(ScriptedEngine(lambda *_: "still not JSON"), name="broken.db")
    with pytest.raises(ReplyError, match="reply cannot be used"):
        broken.turn("Hello.")
    assert broken.memory.get_all(user_id="ada") == [], "nothing of the turn was stored"
    work = broken.memory.stats().language_work
    assert (work["requests"], work["failed"]) == (2, 1)
    away = converse(ScriptedEngine(lambda *_: EngineUnavailableError("gone")), name="away.db")
    with pytest.raises(EngineUnavailableError, match="gone"):
        away.turn("Hello.")
    work = away.memory.stats().language_work
    assert (work["requests"], work["tokens"], work["failed"]) == (1, 0, 1)


@pytest.mark.parametrize("own", [True, False])
def test_temperature_and_longest_reply_are_the_configured_ones(converse: Opener, own: bool) -> None:
    engine = ScriptedEngine(searching)
    section = {"engine": "http", "temperature": 0.7, "max_tokens": 200}
    controller = converse(engine, config={} if own else {"llm": section})
    if own:
        controller = Controller(
            controller.memory, engine, user_id="ada", llm=LlmConfig.model_validate(section), flush=False
        )
    controller.turn("Find my harp.")
    assert [(request.temperature, request.max_tokens) for request in engine.requests] == [(0.7, 200)] * 3
    assert controller.policy.most_tokens == 6 * (3072 + 200)
    engine.requests.clear()
    short = converse(engine, name="short.db", config={} if own else {"llm": section}, reply_tokens=100)
    short.turn("Find my harp.")
    assert {request.max_tokens for request in engine.requests} == {100}


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    def answer(body: Mapping[str, Any]) -> str:
        form = body["response_format"]["json_schema"]["schema"]["title"]
        return json.dumps(
            {"known": True, "text": "ok"} if form == "DraftForm" else act("answer", text="ok", evidence=[])
        )

    with MisbehavingServer(answer, faults={Fault.NO_LOGPROBS: 1.0}) as server:
        yield server


@pytest.mark.parametrize("streams", [True, False])
def test_a_server_without_log_probabilities(converse: Opener, server: MisbehavingServer, streams: bool) -> None:
    engine = OpenAIEngine(server.url, server="vllm", context=8192)
    try:
        memory = converse(name="threshold.db").memory
        show = (lambda _: None) if streams else None
        controller = Controller(memory, engine, user_id="ada", show=show, flush=False)
        with pytest.raises(EngineRefusedError, match=r"controller\.threshold = 0 \(always retrieve\), or serve"):
            controller.turn("Hello.")
        assert memory.get_all(user_id="ada") == []
        assert len(server.bodies) == 1, "asking again would not help"
        always = converse(engine, name="always.db", threshold=0.0)
        assert always.turn("Hello.").text == "ok"
    finally:
        engine.close()
