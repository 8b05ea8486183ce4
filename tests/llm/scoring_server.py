"""A server on 127.0.0.1 that answers as vLLM does where log-probabilities of prompts are asked, with true ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import torch

from nscma_torch.llm.loading import CausalLM

Spoil = Callable[[list[dict[int, dict[str, Any]] | None]], Any]


class ScoringServer:
    """Serves a model of transformers, from entering to leaving.

    Attributes:
        bodies: of the requests for completions, in order of arrival.
        spoil: changes the log-probabilities of a reply in place, or returns what is sent instead of them.
        down: whether every request is answered with 503.
    """

    def __init__(self, loaded: CausalLM, *, context: int = 1024) -> None:
        self.loaded = loaded
        self.context = context
        self.bodies: list[dict[str, Any]] = []
        self.spoil: Spoil | None = None
        self.down = False
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def behave(self) -> None:
        """From now on every reply is good, and requests are counted from here."""
        self.spoil, self.down, self.bodies = None, False, []

    def complete(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of the reply to a request for a completion."""
        prompt: list[int] = body["prompt"]
        with self._lock:
            self.bodies.append(body)
            if len(prompt) + body["max_tokens"] > self.context:
                return 400, {"error": {"message": f"maximum context length is {self.context} tokens"}}
            places = self._places(prompt)
        sent: Any = places if self.spoil is None else self.spoil(places)
        choice = {
            "index": 0,
            "text": "a",
            "finish_reason": "length",
            "prompt_logprobs": places if sent is None else sent,
        }
        return 200, {"object": "text_completion", "choices": [choice]}

    def _places(self, prompt: Sequence[int]) -> list[dict[int, dict[str, Any]] | None]:
        with torch.inference_mode():
            log_p = torch.log_softmax(self.loaded.model(torch.tensor([prompt])).logits[0].float(), -1)
        found: list[dict[int, dict[str, Any]] | None] = [None]
        for row, token in zip(log_p, prompt[1:], strict=False):
            rank = int((row > row[token]).sum()) + 1
            found.append({token: {"logprob": float(row[token]), "rank": rank, "decoded_token": "?"}})
        return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ScoringServer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        assert self.path == "/v1/models"
        self._send(200, {"data": [{"id": "tiny", "max_model_len": self.owner.context}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.owner.down:
            self._send(503, {"error": {"message": "starting"}})
        elif self.path == "/tokenize":
            ids = self.owner.loaded.tokenizer.encode(body["prompt"], add_special_tokens=body["add_special_tokens"])
            self._send(200, {"count": len(ids), "max_model_len": self.owner.context, "tokens": ids})
        else:
            assert self.path == "/v1/completions"
            self._send(*self.owner.complete(body))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
