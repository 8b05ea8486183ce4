"""The end of an answer is an acknowledgement: who has it finds the exchange in the store, whatever kills the server."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import StoreBusyError
from nscma_torch.server.proxy.answer_end import EventsEnd, WholeEnd
from nscma_torch.server.proxy.dialects import CHAT_COMPLETIONS
from nscma_torch.server.proxy.reply import ReplyAssembler
from tests.helpers.fake_chat_server import Asked, Said, completion, event, fake_chat_server, streamed
from tests.server.proxy.conftest import CHAT, Proxied, user
from tests.server.proxy.test_exchanges import failing
from tests.server.proxy.test_streams import WORDS, asking, said, started
from tests.server.test_ending import port_of

__all__ = ["started"]  # a fixture
MakeProxied = Callable[..., Proxied]
DONE = b"data: [DONE]\n\n"
SEEDS = [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(3, 40))]


@pytest.mark.parametrize("cut", [1, 3, 13, 14, 10_000])
@pytest.mark.parametrize("end", [DONE, b"data:[DONE]\r\n\r\n: x\n\n", b"data: [DONE]", b""])
def test_the_end_of_a_stream_is_held_back_and_nothing_else(cut: int, end: bytes) -> None:
    """However the network cuts it; a text that holds the words of the end is none."""
    before = event({"content": "data: [DONE]"}) + b"x data: [DONE]\n\n: data: [DONE]\n\ndata: [DON\n\n" + event({})
    data = before + end
    holding = EventsEnd(CHAT_COMPLETIONS.ends)
    passed = b"".join(holding.feed(data[start : start + cut]) for start in range(0, len(data), cut))
    assert (passed, holding.held) == (before, end) and holding.between_lines


def test_no_piece_before_the_end_waits() -> None:
    holding = EventsEnd(CHAT_COMPLETIONS.ends)
    pieces = [event({"content": "a"}), b'data: {"x"', b": 1}", b"\n\n", b"d", b"ata: {}\n"]
    assert [holding.feed(piece) for piece in pieces] == [*pieces[:4], b"", b"data: {}\n"]
    assert not EventsEnd(CHAT_COMPLETIONS.ends).feed(b"data: [DONE]\n")
    assert EventsEnd(CHAT_COMPLETIONS.ends).feed(b"event: x\n") == b"event: x\n"
    middle = EventsEnd(CHAT_COMPLETIONS.ends)
    middle.feed(b"data: {")
    assert not middle.between_lines


def test_an_answer_that_is_too_large_is_not_held_back() -> None:
    whole = WholeEnd(4)
    assert [whole.feed(piece) for piece in (b"ab", b"cd", b"e", b"f")] == [b"", b"", b"abcde", b"f"] and not whole.held


class Gate:
    """Holds `Memory.add` until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.open = threading.Event(), threading.Event()
        add = Memory.add

        def held(*arguments: Any, **more: Any) -> Any:
            self.begun.set()
            assert self.open.wait(30)
            return add(*arguments, **more)

        monkeypatch.setattr(Memory, "add", held)


def test_all_but_the_end_of_a_stream_is_there_before_it_is_stored(
    started: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    answer = streamed(WORDS)
    memory, _, port, _ = started(lambda _: answer)
    *before, end = answer.pieces
    with closing(asking(port, user("My cat is Miso."), stream=True)) as client:
        got = client.getresponse()
        assert got.read(sum(map(len, before))) == b"".join(before)
        assert gate.begun.wait(30) and said(memory) == []
        gate.open.set()
        assert got.read() == end == DONE
    assert said(memory) == [("user", "My cat is Miso."), ("assistant", "I will remember that.")]


def test_an_answer_in_one_piece_begins_once_it_is_stored(
    started: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    memory, _, port, _ = started(lambda _: completion("I will."))
    with closing(asking(port, user("My cat is Miso."))) as client:
        assert gate.begun.wait(30) and client.sock is not None
        client.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.sock.recv(1)
        client.sock.setblocking(True)
        gate.open.set()
        assert client.getresponse().read() == completion("I will.").pieces[0]
    assert said(memory) == [("user", "My cat is Miso."), ("assistant", "I will.")]


@pytest.mark.parametrize(
    ("error", "told"),
    [(StoreBusyError("held"), "failed; StoreBusyError"), (MemoryError(), "failed; MemoryError"), (None, "late")],
)
def test_a_client_is_told_what_is_not_on_disk(
    error: Exception | None, told: str, proxied: MakeProxied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the header of an answer in one piece, in a comment before the end of a stream; the answer is all there."""
    stream = [False]
    proxy = proxied(lambda _: streamed(WORDS) if stream[0] else completion("Yes."), upstream={"commit": 0.05})
    gate = Gate(monkeypatch)
    if error is not None:
        monkeypatch.setattr(Memory, "add", failing(error))
    got = proxy.chat(user("My cat is Miso."))
    assert got.headers["x-nscma-stores"] == told and got.content == completion("Yes.").pieces[0]
    stream[0] = True
    got = proxy.chat(user("My dog is Rex."), stream=True)
    *before, end = streamed(WORDS).pieces
    assert got.content == b"".join(before) + f": x-nscma-stores: {told}\n\n".encode() + bytes(end)
    gate.open.set()


def test_what_is_too_large_is_told(proxied: MakeProxied) -> None:
    """The reply of a stream that is longer than what is read of it, and a turn beyond the limit of a message."""
    large = "x" * 1_100_000
    proxy = proxied(lambda _: completion("Yes."))
    got = proxy.chat(user(large))
    assert got.headers["x-nscma-stores"] == "failed; TextTooLargeError" and proxy.stored() == [("assistant", "Yes.")]
    proxy.upstream.answer = lambda _: streamed([large] * 17)
    got = proxy.chat(user("My cat is Miso."), stream=True)
    assert got.content.endswith(b"\n\n: x-nscma-stores: failed; TextTooLargeError\n\n" + DONE)
    proxy.upstream.answer = lambda _: completion(large * 16)
    got = proxy.chat(user("My dog is Rex."))
    assert got.headers["x-nscma-stores"] == "failed; TextTooLargeError" and len(got.content) > 16 * len(large)
    assert proxy.stored()[1:] == [("user", "My cat is Miso."), ("user", "My dog is Rex.")]


HALF = "My cat \ud83d is Miso."
PARTS = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Noted, "}, {"text": "Miso."}]


@pytest.mark.parametrize(
    ("content", "told", "kept"),
    [
        (HALF, "failed; EncodingError", None),
        ([{"type": "text", "text": HALF}], "failed; EncodingError", None),
        ([{"kind": "text"}], "failed; InvalidInputError", None),
        ([7], "failed; InvalidInputError", None),
        (" ", "failed; EmptyTextError", None),
        ([{"text": "My cat is Miso."}], "yes", "My cat is Miso."),
        (["My cat", {"type": "input_text", "text": "is Miso."}], "yes", "My cat\nis Miso."),
    ],
)
def test_a_turn_is_acknowledged_if_it_is_stored(
    content: Any, told: str, kept: str | None, proxied: MakeProxied
) -> None:
    proxy = proxied(lambda _: completion("Noted."))
    body = json.dumps({"model": "m", "messages": [user(content)]})
    assert proxy.client.post(CHAT, content=body).headers["x-nscma-stores"] == told
    assert proxy.stored() == [*([("user", kept)] if kept else []), ("assistant", "Noted.")]


@pytest.mark.parametrize(
    ("message", "told", "kept"),
    [
        ({"content": PARTS}, "yes", "Noted, \nMiso."),
        ({"content": None, "refusal": "I can't."}, "yes", "I can't."),
        ({"content": [{"type": "text", "text": "Noted \ud83d"}]}, "failed; EncodingError", None),
        ({"content": {"parts": ["Noted."]}}, "failed; MalformedInputError", None),
        ({"content": [{"type": "image_url"}]}, "failed; MalformedInputError", None),
        ({"content": None, "tool_calls": [{"id": "c1"}]}, "yes", None),
        (None, "failed; MalformedInputError", None),
    ],
)
def test_a_reply_is_acknowledged_if_it_is_stored(
    message: Any, told: str, kept: str | None, proxied: MakeProxied
) -> None:
    choices = [] if message is None else [{"index": 0, "message": {"role": "assistant", **message}}]
    proxy = proxied(lambda _: Said([json.dumps({"choices": choices}).encode()]))
    assert proxy.chat(user("My cat is Miso.")).headers["x-nscma-stores"] == told
    assert proxy.stored()[1:] == ([("assistant", kept)] if kept else [])


def test_streams_of_parts_and_of_halves_of_a_pair_are_put_together() -> None:
    """A server that cuts its tokens anywhere may send an emoji as two events."""
    reply = ReplyAssembler(CHAT_COMPLETIONS, "text/event-stream", 10_000)
    for content in (PARTS[:1], PARTS[1:], [], None, "\ud83d", "\ude00"):
        reply.feed(event({"content": content}))
    assert reply.text == "Noted, Miso.\U0001f600" and not reply.unreadable
    reply.feed(event({"content": {"parts": ["x"]}}))
    assert reply.unreadable


def test_errors_of_the_model_s_server_store_nothing_and_say_so(proxied: MakeProxied) -> None:
    proxy = proxied(lambda _: Said([b"{}"], 500))
    assert proxy.chat(user("Hello there.")).headers["x-nscma-stores"] == "no"


def test_an_answer_in_one_piece_that_breaks_off_is_broken(started: Callable[..., Any]) -> None:
    (body,) = completion("I will remember that.").pieces
    head = {"content-type": "application/json"}
    memory, _, port, stop = started(lambda _: Said([body[:20]], headers=head, ends="broken"))
    with closing(asking(port, user("My cat is Miso."))) as client:
        with pytest.raises(http.client.IncompleteRead) as broken:
            client.getresponse().read()
        assert broken.value.partial == body[:20]
    stop()
    assert said(memory) == [("user", "My cat is Miso.")]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_exchange_that_was_acknowledged_is_lost_to_sigkill(
    seed: int, processes: Any, open_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    """Six clients chat, half of them in streams; the server is killed at some instant, and each end was on disk."""
    store, out = str(tmp_path / "store.db"), tmp_path / "said"
    config = {"reading": {"model": "none"}, "worker": {"poll": 0.01, "lease": 0.3, "batch_size": 4}}
    acknowledged: list[tuple[str, str]] = []
    rng, enough = random.Random(seed), threading.Event()

    def answer(asked: Asked) -> Said:
        last = asked.json["messages"][-1]["content"].split("\n")[0]
        words = ["Noted: ", *last]
        return streamed(words) if asked.json.get("stream") else completion("".join(words))

    def client(port: int, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            for count in range(10_000):
                text = f"The word xylo{number}x{count} is mine."
                chat(connection, text, stream=number % 2 == 0)
                acknowledged.append((f"user{number % 3}", text))
                if len(acknowledged) > 12:
                    enough.set()
        except (OSError, http.client.HTTPException, ValueError):
            connection.close()  # it was killed; an exchange without an end counts for nothing

    def chat(connection: http.client.HTTPConnection, text: str, *, stream: bool) -> None:
        who = f"user{int(text.split('xylo')[1].split('x')[0]) % 3}"
        body = json.dumps({"user": who, "stream": stream, "messages": [user(text)]})
        connection.request("POST", CHAT, body, {"Content-Type": "application/json"})
        got = connection.getresponse()
        assert got.status == 200 and got.headers["x-nscma-stores"] == "yes"
        if not stream:
            json.loads(got.read())
            return
        while (line := got.readline()) != b"data: [DONE]\n":  # a client goes on with this line, whatever follows
            if not line or line.startswith(b":"):
                raise ValueError("not acknowledged")
        got.read()

    with fake_chat_server(answer) as behind:
        pid = processes.start("serve", out, store=store, config=config, upstream=behind.url)
        port = port_of(out)
        clients = [threading.Thread(target=client, args=(port, number)) for number in range(6)]
        for one in clients:
            one.start()
        assert enough.wait(120)
        time.sleep(rng.uniform(0, 0.2))
        os.kill(pid, signal.SIGKILL)
        assert processes.wait(pid) == -signal.SIGKILL
        for one in clients:
            one.join()
    memory = open_memory(store)
    kept = {name: {one.text for one in memory.get_all(user_id=name, limit=None)} for name in dict(acknowledged)}
    for name, text in acknowledged:
        assert {text, f"Noted: {text}"} <= kept[name], (name, text)
    assert memory.verify() == []
