"""An OpenAI-compatible server on 127.0.0.1 that misbehaves on purpose: a test double for whatever asks one.

Its good replies are a function of the request, so that a test knows what is right; how a request is treated is drawn
from the seed, the request and how often it came, so that a run can be repeated in any order of arrival.
"""

from __future__ import annotations

import hashlib
import json
import random
import select
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from email.utils import formatdate
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_POLL = 0.02  # seconds between looks at whether the client of a held request has left


class Fault(StrEnum):
    """What a request may meet."""

    NONE = "none"
    SLOW = "slow"  # a good reply, late
    TRUNCATED = "truncated"  # JSON that ends in the middle, with the finish_reason of a whole reply or of a cut one
    BLANKS = "blanks"  # JSON that starts, and then blanks until the limit
    PROSE = "prose"  # good JSON with sentences around it
    WRONG_TYPES = "wrong types"  # the right keys with values of other types
    EMPTY = "empty"  # no content, as "" or as null
    NO_CHOICES = "no choices"
    NOT_JSON = "not JSON"  # a page of HTML with status 200
    BUSY = "busy"  # 429 with Retry-After, as seconds or as a date
    BROKEN = "broken"  # 500
    HANG = "hang"  # no byte for `hang` seconds
    HALF_CLOSED = "half-closed"  # the connection ends in the middle of the body
    NO_LOGPROBS = "no log-probabilities"  # a good reply without them, asked for or not


class MisbehavingServer:
    """Serves `/v1/chat/completions`, `/v1/models`, and how vLLM and llama.cpp count tokens, from entering to leaving.

    Args:
        answer: the content of the good reply to the body of a request.
        faults: what requests for completions meet, with its weight; the rest of the API always works.
        delay: seconds that SLOW takes.
        hang: seconds that HANG takes, or until the client leaves.
        models: names that it serves.
    """

    def __init__(
        self,
        answer: Callable[[Mapping[str, Any]], str],
        *,
        faults: Mapping[Fault, float] | None = None,
        seed: int = 0,
        delay: float = 0.02,
        hang: float = 60.0,
        models: tuple[str, ...] = ("double",),
    ) -> None:
        self.answer = answer
        self.delay = delay
        self.hang = hang
        self.models = models
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.met: Counter[Fault] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0
        self.left = 0  # requests whose client went away while they were held
        self._faults = dict(faults or {Fault.NONE: 1.0})
        self._seed = seed
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL,), name="misbehaving server")

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def behave(self) -> None:
        """From now on every reply is good."""
        self.misbehave({Fault.NONE: 1.0})

    def misbehave(self, faults: Mapping[Fault, float]) -> None:
        """From now on requests meet these, with these weights."""
        with self._lock:
            self._faults = dict(faults)

    def __enter__(self) -> MisbehavingServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._leaving.set()
        self._server.shutdown()
        self._thread.join()
        self._server.end_connections()
        self._server.server_close()

    def enter(self, headers: dict[str, str], body: dict[str, Any]) -> tuple[Fault, random.Random]:
        """Note a request for a completion, and draw what it meets and how."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            self.bodies.append(body)
            self.headers.append(headers)
            draw = random.Random(f"{self._seed} {digest} {self._seen[digest]}")
            self._seen[digest] += 1
            (fault,) = draw.choices(list(self._faults), list(self._faults.values()))
            self.met[fault] += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return fault, draw

    def leave(self) -> None:
        """A request is done with."""
        with self._lock:
            self.in_flight -= 1

    def hold(self, connection: socket.socket, seconds: float) -> bool:
        """Keep a request waiting; False where its client leaves, or the server ends, before that."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._leaving.is_set():
            gone, _, _ = select.select([connection], [], [], min(_POLL, seconds))
            if gone:
                with self._lock:
                    self.left += 1
                return False
        return not self._leaving.is_set()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close waits for them
    request_queue_size = 256

    def __init__(self, double: MisbehavingServer) -> None:
        self.double = double
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what it is for; anything else is a fault of its own, and is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def end_connections(self) -> None:
        """End idle connections, whose threads wait for a next request."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # its client has ended it
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a test double does not write to the terminal."""

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            models = [{"id": name, "object": "model", "max_model_len": 4096} for name in self.server.double.models]
            self._send({"object": "list", "data": models})
        elif self.path == "/props":
            self._send({"default_generation_settings": {"n_ctx": 2048}})
        else:
            self._send({"error": {"message": f"no {self.path}"}}, status=404)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        sent = self.rfile.read(length)
        if len(sent) < length:  # the client left while it was sending
            self.close_connection = True
            return
        body = json.loads(sent)
        if self.path == "/v1/chat/completions":
            self._complete(body)
        elif self.path == "/apply-template":
            self._send({"prompt": _prompt(body["messages"])})
        elif self.path == "/tokenize" and "content" in body:
            self._send({"tokens": list(body["content"].encode())})
        elif self.path == "/tokenize":
            tokens = list(_prompt(body["messages"]).encode())
            self._send({"count": len(tokens), "max_model_len": 4096, "tokens": tokens})
        else:
            self._send({"error": {"message": f"no {self.path}"}}, status=404)

    def _complete(self, body: dict[str, Any]) -> None:
        double = self.server.double
        fault, draw = double.enter(dict(self.headers.items()), body)
        try:
            self._meet(fault, draw, body)
        except (BrokenPipeError, ConnectionResetError):  # the client did not wait for it
            self.close_connection = True
        finally:
            double.leave()

    def _meet(self, fault: Fault, draw: random.Random, body: dict[str, Any]) -> None:
        double = self.server.double
        good = double.answer(body)
        if fault is Fault.NO_LOGPROBS:
            fault, body = Fault.NONE, {**body, "logprobs": False}
        match fault:
            case Fault.NONE if body.get("stream"):
                self._send_bytes(_events(body, good), status=200, headers={"Content-Type": "text/event-stream"})
            case Fault.HALF_CLOSED if body.get("stream"):
                whole = _events(body, good)
                self._send_bytes(whole[: draw.randrange(len(whole) - 16)], status=200, promised=len(whole))
                self.close_connection = True
            case Fault.NONE:
                self._send(_completion(body, good))
            case Fault.SLOW | Fault.HANG:
                if double.hold(self.connection, double.delay if fault is Fault.SLOW else double.hang):
                    self._send(_completion(body, good))
                self.close_connection = fault is Fault.HANG
            case Fault.TRUNCATED:
                cut = good[: draw.randrange(1, len(good))]
                self._send(_completion(body, cut, finish_reason=draw.choice(["stop", "length"])))
            case Fault.BLANKS:
                blanks = draw.choice(" \n\t") * body["max_tokens"]
                self._send(_completion(body, f"{good[0]}{blanks}", finish_reason="length"))
            case Fault.PROSE:
                self._send(_completion(body, f"Sure! Here is what you asked for:\n{good}\nAnything else?"))
            case Fault.WRONG_TYPES:
                self._send(_completion(body, json.dumps(_retyped(json.loads(good)))))
            case Fault.EMPTY:
                self._send(_completion(body, draw.choice(["", None])))
            case Fault.NO_CHOICES:
                self._send({**_completion(body, good), "choices": []})
            case Fault.NOT_JSON:
                self._send_bytes(b"<html><body>It works!</body></html>", status=200)
            case Fault.BUSY:
                after = draw.choice(["0", formatdate(time.time(), usegmt=True)])
                self._send({"error": {"message": "busy"}}, status=429, headers={"Retry-After": after})
            case Fault.BROKEN:
                self._send({"error": {"message": "the model fell over"}}, status=500)
            case Fault.HALF_CLOSED:
                whole = json.dumps(_completion(body, good)).encode()
                self._send_bytes(whole[: draw.randrange(len(whole))], status=200, promised=len(whole))
                self.close_connection = True

    def _send(self, body: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self._send_bytes(json.dumps(body).encode(), status=status, headers=headers)

    def _send_bytes(
        self, body: bytes, *, status: int, promised: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if promised is None else promised))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _prompt(messages: list[dict[str, str]]) -> str:
    return "".join(f"<{message['role']}>{message['content']}\n" for message in messages) + "<assistant>"


def _completion(body: Mapping[str, Any], content: str | None, *, finish_reason: str = "stop") -> dict[str, Any]:
    """A chat completion whose tokens are single bytes, with a special token at the end."""
    data = (content or "").encode()
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": finish_reason,
    }
    if body.get("logprobs"):
        parts = [{"token": chr(byte), "bytes": [byte], "logprob": -byte / 256} for byte in data]
        choice["logprobs"] = {"content": [*parts, {"token": "</s>", "bytes": None, "logprob": -0.5}]}
    prompt_tokens = len(_prompt(body["messages"]).encode())
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(data), "total_tokens": prompt_tokens + len(data)}
    return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


def _events(body: Mapping[str, Any], content: str) -> bytes:
    """The same completion as server-sent events, a character each, and one for the end."""
    events: list[dict[str, Any]] = []
    for character in content:
        choice: dict[str, Any] = {"index": 0, "delta": {"content": character}, "finish_reason": None}
        if body.get("logprobs"):
            parts = [{"token": chr(b), "bytes": [b], "logprob": -b / 256} for b in character.encode()]
            choice["logprobs"] = {"content": parts}
        events.append({"object": "chat.completion.chunk", "choices": [choice]})
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


def _retyped(value: Any) -> Any:
    """The same keys with values of another type."""
    if isinstance(value, dict):
        return {key: _retyped(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return {"0": value}
    return [value] if isinstance(value, str) else str(value)
