"""What a server sends is checked to the last type, and tokens are put together until they spell the text."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.errors import EngineRefusedError, ReplyError
from nscma_torch.llm.engines.events import read_tokens
from nscma_torch.llm.engines.protocol_schemas import Counted, LogProb, read_reply, shaped, spelled

GOOD: dict[str, Any] = {
    "id": "x",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop", "logprobs": None}
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4, "prompt_tokens_details": None},
}


def changed(path: tuple[str | int, ...], value: Any) -> bytes:
    body = json.loads(json.dumps(GOOD))
    node = body
    for step in path[:-1]:
        node = node[step]
    if value is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return json.dumps(body).encode()


def test_a_good_one() -> None:
    reply = read_reply(json.dumps(GOOD).encode(), logprobs=False)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.finished) == ("hi", 3, 1, True)
    assert not read_reply(changed(("choices", 0, "finish_reason"), "length"), logprobs=False).finished


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("choices",), ..., "choices"),
        (("choices",), [], "choices"),
        (("choices",), {}, "choices"),
        (("choices", 0, "message"), ..., "message"),
        (("choices", 0, "message", "content"), ..., "content"),
        (("choices", 0, "message", "content"), 5, "content"),
        (("choices", 0, "message", "content"), None, "no content after 1 tokens"),
        (("choices", 0, "finish_reason"), None, "finish_reason None"),
        (("choices", 0, "finish_reason"), "content_filter", "content_filter"),
        (("choices", 0, "finish_reason"), ..., "finish_reason"),
        (("usage",), ..., "usage"),
        (("usage", "prompt_tokens"), "3", "prompt_tokens"),
        (("usage", "completion_tokens"), -1, "completion_tokens"),
        (("usage", "completion_tokens"), 1.5, "completion_tokens"),
    ],
)
def test_everything_else_is_an_error(path: tuple[str | int, ...], value: Any, said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        read_reply(changed(path, value), logprobs=False)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b"\xff\xfe", b"<html>", json.dumps(GOOD).encode()[:-1]])
def test_other_bodies_are_errors(body: bytes) -> None:
    with pytest.raises(ReplyError, match="not in the format of its API"):
        read_reply(body, logprobs=False)
    with pytest.raises(ReplyError, match="not in the format of its API"):
        shaped(body, Counted)


FORM = '{"item": 3}'


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"content": None, "reasoning_content": FORM}, FORM),
        ({"content": "", "reasoning": FORM}, FORM),
        ({"content": "\n", "reasoning_content": f"So: {FORM}"}, f"So: {FORM}"),
        ({"content": [{"type": "text", "text": '{"item":'}, {"type": "text", "text": " 3}"}]}, FORM),
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": FORM}]}, FORM),
        ({"content": FORM, "reasoning_content": "Let me see."}, FORM),
    ],
)
def test_a_reply_in_a_form_is_found_where_servers_put_it(message: dict[str, Any], said: str) -> None:
    body = changed(("choices", 0, "message"), message)
    assert read_reply(body, logprobs=False, in_form=True).text == said


def test_reasoning_is_no_reply_in_free_text() -> None:
    with pytest.raises(ReplyError, match="no content"):
        read_reply(changed(("choices", 0, "message"), {"content": None, "reasoning": "hm"}), logprobs=False)


def test_streamed_reasoning_stands_for_a_form_alone() -> None:
    deltas: list[dict[str, Any]] = [{"reasoning_content": '{"item":'}, {"reasoning_content": " 3}"}]
    lines = [f"data: {json.dumps({'choices': [{'delta': delta}]})}" for delta in deltas]
    lines.append('data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}')
    assert [token.text for token in read_tokens(lines, logprobs=False, in_form=True)] == [FORM]
    assert list(read_tokens(lines, logprobs=False)) == []


def test_an_error_shows_the_start_alone() -> None:
    with pytest.raises(ReplyError) as caught:
        shaped(b"x" * 100_000, Counted)
    assert len(str(caught.value)) < 500


def test_log_probabilities_that_do_not_come() -> None:
    for value in (None, {}, {"content": None}, {"content": []}):
        with pytest.raises(EngineRefusedError, match=r"log-probabilities.*controller\.threshold = 0"):
            read_reply(changed(("choices", 0, "logprobs"), value), logprobs=True)
    nan = changed(("choices", 0, "logprobs"), {"content": [{"token": "hi", "logprob": float("nan")}]})
    with pytest.raises(ReplyError, match="logprob"):
        read_reply(nan, logprobs=True)


def parts(*words: str | bytes) -> list[LogProb]:
    """Words as servers report them; bytes are a piece of a character, which has no text of its own."""
    return [
        LogProb(token=word, logprob=-1.0)
        if isinstance(word, str)
        else LogProb(token="\ufffd", logprob=-1.0, bytes=tuple(word))
        for word in words
    ]


@pytest.mark.parametrize(
    ("text", "words", "spelling"),
    [
        ("a b", ("a", " b"), [("a", -1), (" b", -1)]),
        ("a b", ("a", " b", "</s>"), [("a", -1), (" b", -1)]),  # vLLM reports the end of sequence
        ("a b", ("a", "b"), [("a", -1), (" b", -1)]),  # a SentencePiece tokenizer, one token at a time
        ("a b", (" a", " b"), [("a", -1), (" b", -1)]),
        ("aé", ("a", b"\xc3", b"\xa9"), [("a", -1), ("é", -2)]),
        ("a中b", ("a", "", "", "中", "b"), [("a", -1), ("中", -3), ("b", -1)]),  # vLLM, character in pieces
        ("a\ufffd", ("a", b"\xe4", b"\xb8"), [("a", -1), ("\ufffd", -2)]),  # cut within a character
        ("", ("</s>",), []),
        ("{ }", ("```", "json", "{", " ", "}\n", "```"), [("{", -1), (" ", -1), ("}", -1)]),  # llama.cpp, a code fence
    ],
)
def test_spelling(text: str, words: tuple[str | bytes, ...], spelling: list[tuple[str, float]]) -> None:
    tokens = spelled(text, parts(*words))
    assert "".join(token.text for token in tokens) == text
    assert [(token.text, token.logprob) for token in tokens] == spelling


@pytest.mark.parametrize(("text", "words"), [("ab", ("a",)), ("ab", ("b", "a")), ("ab", ()), ("a", ("A",))])
def test_tokens_of_another_text(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(ReplyError, match="do not spell"):
        spelled(text, parts(*words))


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30), st.lists(st.integers(0, 100), max_size=10))
def test_any_cut_of_any_text_spells_it(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]
    tokens = spelled(text, [LogProb(token="?", logprob=-0.5, bytes=tuple(piece)) for piece in pieces])
    assert "".join(token.text for token in tokens) == text
    assert sum(token.logprob for token in tokens) == -0.5 * len(pieces)
