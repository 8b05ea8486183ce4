"""OpenAI's Responses and Anthropic's Messages through the proxy: what is recalled, kept, held back and passed on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.server.proxy.answer_end import EventsEnd
from nscma_torch.server.proxy.block_text import CLOSE, OPEN
from nscma_torch.server.proxy.chat_request import ChatRequest
from nscma_torch.server.proxy.dialects import ANTHROPIC, DIALECTS, RESPONSES, Dialect
from nscma_torch.server.proxy.reply import ReplyAssembler
from tests.helpers.fake_chat_server import Asked, Said
from tests.server.proxy.conftest import Proxied

MakeProxied = Callable[..., Proxied]
FACT = "My sister Marta works at the harbour in Porto."
QUESTION = "Where does Marta work?"
EVENTS = {"content-type": "text/event-stream"}


def answered(reply: str, dialect: Dialect) -> dict[str, Any]:
    """A whole answer, beside reasoning and a call of a tool."""
    if dialect is ANTHROPIC:
        parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": reply}]
        return {"type": "message", "role": "assistant", "content": [*parts, {"type": "tool_use", "name": "look"}]}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": reply}]}
    return {"object": "response", "output": [{"type": "reasoning", "summary": []}, message]}


def events(words: list[str], dialect: Dialect) -> list[bytes]:
    """A stream's events, as the servers write them."""
    if dialect is ANTHROPIC:
        told = [
            {"type": "message_start", "message": {"role": "assistant", "content": []}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
            *({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": w}} for w in words),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ]
    else:
        told = [
            {"type": "response.created", "response": {"output": []}},
            {"type": "response.reasoning_text.delta", "delta": "Hm."},
            *({"type": "response.output_text.delta", "delta": word} for word in words),
            {"type": "response.output_text.done", "text": "".join(words)},
            {"type": "response.completed", "response": answered("".join(words), dialect)},
        ]
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in told]


def asked(text: Any, dialect: Dialect, *before: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", dialect.listed: [*before, {"role": "user", "content": text}]}


def newest(proxy: Proxied, dialect: Dialect) -> Any:
    return proxy.upstream.asked[-1].json[dialect.listed][-1]["content"]


BOTH = pytest.mark.parametrize("dialect", [RESPONSES, ANTHROPIC], ids=["responses", "anthropic"])


@BOTH
@pytest.mark.parametrize("stream", [False, True])
def test_an_exchange_is_kept_and_comes_back(proxied: MakeProxied, dialect: Dialect, stream: bool) -> None:
    def answer(_: Asked) -> Said:
        if stream:
            return Said(events(["Good ", "to know."], dialect), headers=EVENTS)
        return Said([json.dumps(answered("Good to know.", dialect)).encode()])

    proxy = proxied(answer, key="sk-model")
    got = proxy.client.post(dialect.route, json=asked(FACT, dialect) | {"stream": stream})
    assert got.status_code == 200 and got.headers["x-nscma-stores"] == "yes"
    assert got.content == b"".join(answer(None).pieces)  # type: ignore[arg-type]
    assert proxy.stored() == [("user", FACT), ("assistant", "Good to know.")]
    got = proxy.client.post(dialect.route, json=asked(QUESTION, dialect) | {"stream": stream})
    assert got.headers["x-nscma-memory"] == "recalled"
    assert newest(proxy, dialect).startswith(f"{QUESTION}\n\n{OPEN}") and "harbour" in newest(proxy, dialect)
    sent = proxy.upstream.asked[-1]
    assert sent.path == dialect.path
    keys = {name: sent.headers.get(name) for name in ("authorization", "x-api-key")}
    expected = {"authorization": None, "x-api-key": "sk-model"}
    assert keys == (expected if dialect is ANTHROPIC else {"authorization": "Bearer sk-model", "x-api-key": None})


@BOTH
def test_a_block_is_a_part_of_its_own_beside_parts(proxied: MakeProxied, dialect: Dialect) -> None:
    proxy = proxied(lambda _: Said([json.dumps(answered("I see.", dialect)).encode()]))
    proxy.memory.add(FACT, user_id="default")
    parts = [{"type": dialect.text_type, "text": QUESTION}, {"type": "image", "source": {"data": "AAAA"}}]
    proxy.client.post(dialect.route, json=asked(parts, dialect))
    *before, block = newest(proxy, dialect)
    assert before == parts and block["type"] == dialect.text_type
    assert block["text"].startswith(OPEN) and block["text"].endswith(CLOSE)
    assert ("user", f"{QUESTION}\n[image]") in proxy.stored()


def test_a_text_alone_is_an_input_of_responses(proxied: MakeProxied) -> None:
    proxy = proxied(lambda _: Said([json.dumps(answered("I see.", RESPONSES)).encode()]))
    proxy.memory.add(FACT, user_id="default")
    proxy.client.post(RESPONSES.route, json={"model": "m", "input": QUESTION, "user": "default"})
    sent = proxy.upstream.asked[-1].json
    assert sent["input"].startswith(f"{QUESTION}\n\n{OPEN}") and sent["model"] == "m"
    assert ("user", QUESTION) in proxy.stored()


def test_results_of_tools_are_no_turns_of_anthropics_user(proxied: MakeProxied) -> None:
    """They come in a user message; the block stays in the turn before, and the turn is kept once."""
    proxy = proxied(lambda _: Said([json.dumps(answered("Rain.", ANTHROPIC)).encode()]))
    proxy.memory.add(FACT, user_id="default")
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "rain"}]}
    turn = {"role": "user", "content": QUESTION}
    for messages in ([turn], [turn, call, result]):
        proxy.client.post(ANTHROPIC.route, json={"model": "m", "messages": messages})
    first, _, told = proxy.upstream.asked[-1].json["messages"]
    assert first["content"].startswith(f"{QUESTION}\n\n{OPEN}") and told == result
    assert [text for role, text in proxy.stored() if role == "user"] == [FACT, QUESTION]


def test_anthropics_metadata_names_the_user() -> None:
    body = json.dumps(asked("Hi", ANTHROPIC) | {"metadata": {"user_id": "ana"}, "user": "bo"}).encode()
    assert ChatRequest.read(body, ANTHROPIC).user == "ana"
    assert ChatRequest.read(json.dumps(asked("Hi", RESPONSES) | {"user": "bo"}).encode(), RESPONSES).user == "bo"


@BOTH
def test_the_end_of_a_stream_is_held_back(dialect: Dialect) -> None:
    whole = b"".join(events(["a"], dialect))
    end = events(["a"], dialect)[-1]
    for cut in range(1, len(whole)):
        holding = EventsEnd(dialect.ends)
        passed = holding.feed(whole[:cut]) + holding.feed(whole[cut:])
        assert (passed, holding.held) == (whole[: -len(end)], end)


@pytest.mark.parametrize("dialect", DIALECTS, ids=[one.path for one in DIALECTS])
@pytest.mark.parametrize("body", [b"[]", b"null", b"{", b'{"error": {"message": "x"}}', b'{"output": 1, "content": 2}'])
def test_what_is_no_reply_is_unreadable(dialect: Dialect, body: bytes) -> None:
    reply = ReplyAssembler(dialect, "application/json", 10_000)
    reply.feed(body)
    assert (reply.text, reply.unreadable) == ("", True)
    stream = ReplyAssembler(dialect, "text/event-stream", 10_000)
    stream.feed(b"data: " + body + b"\n\n")
    assert stream.text == ""


def test_a_count_of_tokens_passes_without_a_memory(proxied: MakeProxied) -> None:
    proxy = proxied(lambda asked: Said([asked.body]))
    proxy.memory.add(FACT, user_id="default")
    body = asked(QUESTION, ANTHROPIC)
    got = proxy.client.post(f"{ANTHROPIC.route}/count_tokens", json=body)
    assert got.json() == body and got.headers["x-nscma-memory"] == "off"
    assert proxy.upstream.asked[-1].path == "/v1/messages/count_tokens"
