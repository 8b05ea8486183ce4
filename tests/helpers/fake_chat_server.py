"""A chat completion server without a model, on the loopback: it answers what a function says, and keeps what it got."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A request; names of headers in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer.

    Args:
        pieces: of its body, each sent by itself.
        length: whether its length is told, for a list of pieces; else it comes in chunks.
        ends: "whole"; "broken": the connection is closed behind the last piece; "held": nothing more comes until the
            client closes.
        pace: seconds between two pieces.
    """

    pieces: Iterable[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    length: bool = False
    ends: str = "whole"
    pace: float = 0.0


@dataclass(slots=True)
class FakeChatServer:
    """Address, requests so far, and the event of a client that closed where the answer was held."""

    url: str
    answer: Callable[[Asked], Said]
    asked: list[Asked] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    told: threading.Event = field(default_factory=threading.Event)  # all pieces of a held answer are out
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.writers.add(writer)
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                said = self.answer(asked)
                await _write(writer, said)
                if said.ends == "held":
                    self.told.set()
                    await reader.read()
                    self.left.set()
                if said.ends != "whole":
                    return
        except ConnectionError:
            self.left.set()
        finally:
            self.writers.discard(writer)
            writer.close()


@contextmanager
def fake_chat_server(answer: Callable[[Asked], Said]) -> Iterator[FakeChatServer]:
    """A server in a thread of its own, on a free port."""
    loop = asyncio.new_event_loop()
    server = FakeChatServer("", answer)
    listening = loop.run_until_complete(asyncio.start_server(server.serve, "127.0.0.1", 0))
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def end() -> None:
        listening.close()
        for writer in list(server.writers):
            writer.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def event(delta: Mapping[str, Any], *, index: int = 0, finish: str | None = None) -> bytes:
    """One event of a streamed chat completion."""
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    told = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]}
    return b"data: " + json.dumps(told).encode() + b"\n\n"


def streamed(words: Sequence[str], **more: Any) -> Said:
    """A stream of such events, one a word."""
    pieces = [event({"role": "assistant", "content": ""}), *(event({"content": word}) for word in words)]
    if more.get("ends", "whole") == "whole":
        pieces += [event({}, finish="stop"), b"data: [DONE]\n\n"]
    return Said(pieces, headers={"content-type": "text/event-stream; charset=utf-8"}, **more)


def completion(*texts: str | None, tool_calls: Sequence[Any] = (), usage: Mapping[str, int] | None = None) -> Said:
    """A chat completion in one piece, a choice for each text; `usage` is its tokens, where it tells them."""
    calls = {"tool_calls": list(tool_calls)} if tool_calls else {}
    told = {} if usage is None else {"usage": dict(usage)}
    choices = [
        {"index": number, "message": {"role": "assistant", "content": text, **calls}, "finish_reason": "stop"}
        for number, text in enumerate(texts)
    ]
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "fake", "choices": choices, **told}
    return Said([json.dumps(body).encode()], length=True)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    return Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


async def _write(writer: asyncio.StreamWriter, said: Said) -> None:
    headers = {**said.headers}
    if said.length:
        headers["content-length"] = str(sum(map(len, said.pieces)))
    else:
        headers["transfer-encoding"] = "chunked"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {said.status} Said\r\n{head}\r\n".encode("latin-1"))
    for piece in said.pieces:
        writer.write(piece if said.length else f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
        if said.pace:
            await asyncio.sleep(said.pace)
    if not said.length and said.ends == "whole":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
