"""The run's embedder as an OpenAI-compatible /v1/embeddings on this machine, for packages that run beside it."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer

from eval.systems.documents import embed_beginnings
from nscma_torch.core.protocols import Embedder

_POLL = 0.1  # seconds after which it may notice that it is to end


class EmbeddingServer:
    """Answers in a thread until it is let go of; a text is embedded up to as much as the embedder reads.

    Attributes:
        url: where, without `/v1`.
    """

    def __init__(self, embedder: Embedder) -> None:
        server = HTTPServer(("127.0.0.1", 0), _handler(lambda texts: embed_beginnings(embedder, texts).tolist()))
        threading.Thread(target=server.serve_forever, args=(_POLL,), daemon=True).start()
        weakref.finalize(self, _end, server)
        self.url = f"http://127.0.0.1:{server.server_port}"


def _end(server: HTTPServer) -> None:
    server.shutdown()
    server.server_close()


def _handler(embed: Callable[[Sequence[str]], list[list[float]]]) -> type[BaseHTTPRequestHandler]:
    class Embeddings(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            data = [{"object": "embedding", "index": i, "embedding": own} for i, own in enumerate(embed(texts))]
            body = json.dumps({"object": "list", "model": "", "data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Requests are not logged."""

    return Embeddings
