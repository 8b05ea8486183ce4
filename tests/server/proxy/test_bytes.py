"""What goes on to the model's server, byte for byte: all that came, and a block in the newest user turn."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nscma_torch.server.proxy.chat_request import ChatRequest
from nscma_torch.server.proxy.dialects import CHAT_COMPLETIONS

BLOCK = '<nscma-memory>\n"\\ é \U0001f600\n</nscma-memory>'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TEXT = st.text(max_size=20)
PART = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": JSON}),
    JSON,
)
CONTENT = st.one_of(TEXT, st.lists(PART, max_size=3), st.none(), JSON)
ROLE = st.sampled_from(["system", "developer", "user", "assistant", "tool", "odd"])
MESSAGE = st.one_of(
    st.fixed_dictionaries({"role": ROLE, "content": CONTENT}, optional={"tool_calls": JSON, "name": JSON, "x": JSON}),
    st.fixed_dictionaries({"content": CONTENT, "role": ROLE}),
    JSON,
)
REQUEST = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, max_size=5)},
    optional={"model": TEXT, "tools": JSON, "response_format": JSON, "logprobs": JSON, "user": JSON, "n": JSON},
)
SPACES = st.sampled_from([None, 0, 1, "\t", " \r\n"])


@settings(max_examples=150, deadline=None)
@given(REQUEST, SPACES, st.booleans(), st.sampled_from([(",", ":"), (" , ", " : ")]))
@example({"messages": [{"role": "user", "content": []}]}, None, False, (",", ":"))
@example({"messages": [{"role": "user", "content": "x\\"}]}, None, False, (",", ":"))
def test_a_block_is_all_that_is_added(request: Any, indent: Any, ascii_only: bool, marks: tuple[str, str]) -> None:
    written = json.dumps(request, indent=indent, ensure_ascii=ascii_only, separators=marks)
    try:
        body = f" {written}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair is in no body as it is
        return
    asked = ChatRequest.read(body, CHAT_COMPLETIONS)
    turns = [i for i, one in enumerate(request["messages"]) if isinstance(one, dict) and one.get("role") == "user"]
    content = request["messages"][turns[-1]].get("content") if turns else None
    if not isinstance(content, str | list):
        assert asked.turn is None and asked.with_blocks({}) == body
        return
    assert asked.turn is not None and asked.with_blocks({asked.turn.digest: ""}) == body
    sent = asked.with_blocks({asked.turn.digest: BLOCK})
    added = len(sent) - len(body)
    start = next((i for i, byte in enumerate(body) if byte != sent[i]), len(body))
    assert added > 0 and sent[start + added :] == body[start:]  # what came is there, around one insertion
    expected = json.loads(body)
    turn = expected["messages"][turns[-1]]
    if isinstance(content, str):
        turn["content"] += f"\n\n{BLOCK}"
    else:
        turn["content"].append({"type": "text", "text": BLOCK})
    assert json.loads(sent) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(MESSAGE, max_size=4), TEXT, st.lists(MESSAGE, max_size=3))
def test_an_exchange_has_one_digest(before: list[Any], text: str, after: list[Any]) -> None:
    """What follows the turn changes nothing, what is before it and the turn itself do."""
    after = [one for one in after if not (isinstance(one, dict) and one.get("role") == "user")]
    turn = {"role": "user", "content": text}

    def digest(*messages: Any, **form: Any) -> str:
        asked = ChatRequest.read(json.dumps({"messages": messages}, **form).encode(), CHAT_COMPLETIONS)
        assert asked.turn is not None
        return asked.turn.digest

    own = digest(*before, turn)
    assert digest(*before, turn, *after) == digest(*before, {**dict(reversed(turn.items()))}, indent=2) == own
    assert digest(*before, {**turn, "content": text + "."}) != own
    assert digest({"role": "system", "content": "x"}, *before, turn) != own


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"messages"',
        b"\xff{}",
        b"\xef\xbb\xbf{}",
        b'{"messages": 1}',
        b'{"messages": [{"role": "user"}]}',
        b'{"messages": [{"role": "user", "content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
        b'{"messages": [{"role": "user", "content": "x"}], "n": ' + b"9" * 5000 + b"}",
    ],
    ids=range(10),
)
def test_what_is_no_request_is_left_as_it_is(body: bytes) -> None:
    asked = ChatRequest.read(body, CHAT_COMPLETIONS)
    assert asked.turn is None and asked.with_blocks({}) == body


def test_each_turn_gets_its_own_block() -> None:
    messages = [{"role": "user", "content": text} for text in ("a\\", [{"type": "text", "text": "b"}], "c")]
    messages.insert(1, {"role": "assistant", "content": "ok"})
    asked = ChatRequest.read(json.dumps({"messages": messages, "model": "m"}).encode(), CHAT_COMPLETIONS)
    assert asked.turn is not None and len(asked.turn.earlier) == 2
    first, second = asked.turn.earlier
    sent = json.loads(asked.with_blocks({asked.turn.digest: "3", second: "2", first: "1"}))
    contents = [one["content"] for one in sent["messages"]]
    part = {"type": "text", "text": "2"}
    assert contents == ["a\\\n\n1", "ok", [{"type": "text", "text": "b"}, part], "c\n\n3"]
    alone = ChatRequest.read(json.dumps({"messages": messages[:1]}).encode(), CHAT_COMPLETIONS)
    assert alone.turn is not None and alone.turn.digest == first, "one digest in all requests of a conversation"


def test_of_a_key_that_is_there_twice_the_last_counts() -> None:
    """As parsers of JSON read it; the other one is left alone."""
    body = b'{"messages": [], "messages": [{"content": "a", "role": "tool", "role": "user", "content": "b"}]}'
    asked = ChatRequest.read(body, CHAT_COMPLETIONS)
    assert asked.turn is not None and asked.turn.text == "b"
    assert asked.with_blocks({asked.turn.digest: "!"}) == body.replace(b'"b"', b'"b\\n\\n!"')
