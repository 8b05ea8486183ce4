"""Answers in pieces over sockets: passed on as they come, stored when they end, also where somebody leaves."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.server.app import create_app
from nscma_torch.server.app_context import ServerSettings
from nscma_torch.server.proxy import routes
from nscma_torch.server.proxy.dialects import CHAT_COMPLETIONS
from nscma_torch.server.proxy.reply import ReplyAssembler
from nscma_torch.server.running import Serving, bound
from tests.helpers.fake_chat_server import Asked, FakeChatServer, Said, completion, event, fake_chat_server, streamed
from tests.server.proxy.conftest import CHAT, user

Started = Callable[[Callable[[Asked], Said]], tuple[Memory, FakeChatServer, int, Callable[[], None]]]
WORDS = ["I ", "will ", "remember ", "that."]


@pytest.fixture
def started(open_memory: Callable[..., Memory], light_surprise: Any, tmp_path: Path) -> Iterator[Started]:
    """The proxy on a socket: memory, fake, port, and what ends the server and waits for it."""
    with ExitStack() as stack:

        def make(answer: Callable[[Asked], Said]) -> tuple[Memory, FakeChatServer, int, Callable[[], None]]:
            memory = open_memory(surprise_model=light_surprise)
            behind = stack.enter_context(fake_chat_server(answer))
            settings = ServerSettings(tmp_path / "tokens", port=0)
            own = stack.enter_context(bound(settings))
            begun = threading.Event()
            running = Serving(create_app(memory, settings, route_groups=[routes.route_group(behind.url)]), begun.set)
            thread = threading.Thread(target=running.run, kwargs={"sockets": [own]})
            thread.start()

            def stop() -> None:
                running.should_exit = True
                thread.join()

            stack.callback(stop)
            assert begun.wait(30)
            return memory, behind, own.getsockname()[1], stop

        yield make


def asking(port: int, *messages: Any, **more: Any) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"messages": messages, **more})
    connection.request("POST", CHAT, body, {"Content-Type": "application/json"})
    return connection


def said(memory: Memory) -> list[tuple[str, str]]:
    return [(one.role, one.text) for one in memory.get_all(user_id="default", limit=None)]


def test_a_stream_comes_through_as_it_is(started: Started) -> None:
    answer = streamed(WORDS)
    memory, behind, port, _ = started(lambda _: answer)
    with closing(asking(port, user("My cat is Miso."), stream=True, stream_options={"include_usage": True})) as client:
        got = client.getresponse()
        assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert got.headers["x-nscma-memory"] == "nothing" and got.headers["x-nscma-stores"] == "yes"
        assert got.read() == b"".join(answer.pieces)
    assert said(memory) == [("user", "My cat is Miso."), ("assistant", "I will remember that.")]  # as it has ended
    assert behind.asked[0].headers["accept-encoding"] == "identity"


def test_pieces_come_at_once_and_a_client_that_leaves_is_followed(started: Started) -> None:
    """The first pieces are there while the model still speaks; when the client goes, the model is left, too."""
    memory, behind, port, stop = started(lambda _: streamed(WORDS[:2], ends="held"))
    with closing(asking(port, user("My cat is Miso."), stream=True)) as client:
        got = client.getresponse()
        while b"will" not in got.fp.readline():
            continue
        got.close()
    assert behind.left.wait(30)
    stop()
    assert said(memory) == [("user", "My cat is Miso."), ("assistant", "I will ")]


def test_a_client_that_leaves_before_the_answer_has_said_its_turn(started: Started) -> None:
    came = threading.Event()

    def never(asked: Asked) -> Said:
        came.set()
        return Said([], ends="held")

    memory, behind, port, stop = started(never)
    with closing(asking(port, user("My cat is Miso."))) as client:
        assert came.wait(30)
        assert client.sock is not None
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
    assert behind.left.wait(30)
    stop()
    assert said(memory) == [("user", "My cat is Miso.")]


def test_a_server_that_breaks_off_breaks_the_answer_off(started: Started) -> None:
    memory, _, port, stop = started(lambda _: streamed(WORDS[:3], ends="broken"))
    with closing(asking(port, user("My cat is Miso."), stream=True)) as client:
        with pytest.raises(http.client.IncompleteRead) as broken:
            client.getresponse().read()
        assert b"remember" in broken.value.partial
    stop()
    assert said(memory) == [("user", "My cat is Miso."), ("assistant", "I will remember ")]


def test_the_server_ends_after_its_streams(started: Started) -> None:
    """Told to end while a stream is at work: the exchange is stored."""
    go = threading.Event()

    def slow(_: Asked) -> Said:
        first, *rest = streamed(WORDS).pieces

        def pieces() -> Iterator[bytes]:
            yield first
            assert go.wait(30)
            yield from rest

        return Said(pieces(), headers={"content-type": "text/event-stream"})

    memory, _, port, stop = started(slow)
    with closing(asking(port, user("My cat is Miso."), stream=True)) as client:
        got = client.getresponse()
        ending = threading.Thread(target=stop)
        ending.start()
        while accepts(port):
            time.sleep(0.001)
        go.set()
        assert got.read().endswith(b"data: [DONE]\n\n")
        ending.join()
    assert said(memory) == [("user", "My cat is Miso."), ("assistant", "I will remember that.")]


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=30).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("cut", [1, 7, 64, 10_000])
def test_a_reply_in_any_pieces(cut: int) -> None:
    """Of several choices the first; roles, tool calls, usage, comments and line ends of all kinds are passed over."""
    call = {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}
    events = [
        b": a comment\r\n\r\n",
        event({"role": "assistant", "content": None}),
        event({"content": "Ein "}).replace(b"\n", b"\r\n"),
        event({"content": "no"}, index=1),
        event({"content": "Gruß 好"}).replace(b"data: ", b"data:"),
        event(call),
        b'event: x\nid: 1\ndata: {"choices": []}\n\n',
        b'data: {"error": "x"}\n\ndata: [1]\n\ndata: {"choices": [1, {"delta": 2}]}\n\n',
        event({}, finish="stop"),
        b"data: [DONE]\n\n",
    ]
    data = b"".join(events)
    reply = ReplyAssembler(CHAT_COMPLETIONS, "text/event-stream", len(data))
    for start in range(0, len(data), cut):
        reply.feed(data[start : start + cut])
    assert reply.text == "Ein Gruß 好"
    reply.feed(b"x")
    assert reply.too_large and reply.text == ""


def test_a_reply_in_json() -> None:
    (data,) = completion("one", "two").pieces
    reply = ReplyAssembler(CHAT_COMPLETIONS, "application/json", 10_000)
    reply.feed(data[:30])
    assert reply.text == ""
    reply.feed(data[30:])
    assert reply.text == "one"
