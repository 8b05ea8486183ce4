"""One bound of size and time for a response, whether it is whole, streamed, one endless line, or an error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nscma_torch.core.errors import EngineError, EngineRefusedError, EngineUnavailableError, ReplyError
from nscma_torch.llm.engines import http_client
from nscma_torch.llm.engines.http_client import HttpClient
from nscma_torch.llm.engines.retry_policy import RetryPolicy

MOST = 256 * 1024
PIECE = 16 * 1024


class Endless(ThreadingHTTPServer):
    """Sends pieces of a body until the client leaves, and counts its bytes."""

    daemon_threads = True

    def __init__(self, status: int, piece: bytes, headers: dict[str, str], pause: float = 0.0) -> None:
        self.sent = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Print nothing."""

            def do_POST(self) -> None:
                self.send_response(status)
                for name, value in {"Transfer-Encoding": "chunked", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    while True:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                        outer.sent += len(piece)
                        time.sleep(pause)
                except OSError:
                    self.close_connection = True

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Endless, HttpClient]]]:
    """Starts such a server, and a client with a low bound and little patience."""
    monkeypatch.setattr(http_client, "_MOST_BYTES", MOST)
    started: list[tuple[Endless, HttpClient]] = []

    def start(status: int, piece: bytes, pause: float = 0.0, **headers: str) -> tuple[Endless, HttpClient]:
        server = Endless(status, piece, {name.replace("_", "-"): value for name, value in headers.items()}, pause)
        retry_policy = RetryPolicy(read=0.5, total=1.0, attempts=1)
        url = f"http://127.0.0.1:{server.server_port}"
        started.append((server, HttpClient(url, headers={}, concurrency=1, retry_policy=retry_policy)))
        return started[-1]

    yield start
    for server, client in started:
        client.close()
        server.shutdown()
        server.server_close()


def read(client: HttpClient, streamed: bool) -> EngineError:
    """The error that a response ends with."""
    if not streamed:
        (result,) = client.send("/v1", [{}])
        assert isinstance(result, EngineError)
        return result
    with pytest.raises(EngineError) as caught:
        for _ in client.lines("/v1", {}):
            continue
    return caught.value


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("status", "piece", "expected", "said"),
    [
        (200, b"x" * PIECE, ReplyError, "larger than"),  # one line without end
        (200, b"data: 1\n" * (PIECE // 8), ReplyError, "larger than"),
        (200, b"\n" * PIECE, ReplyError, "larger than"),
        (400, b"x" * PIECE, EngineRefusedError, "400 Bad Request 'xxx"),
        (503, b"\n" * PIECE, EngineUnavailableError, "503 Service Unavailable"),
    ],
)
def test_an_endless_body_ends_at_the_bound(
    endless: Callable[..., tuple[Endless, HttpClient]],
    status: int,
    piece: bytes,
    expected: type[EngineError],
    said: str,
    streamed: bool,
) -> None:
    server, client = endless(status, piece)
    error = read(client, streamed)
    assert isinstance(error, expected) and said in str(error), error
    assert server.sent < 64 * 2**20, "the rest is not read"


@pytest.mark.parametrize(("status", "streamed"), [(200, False), (400, False), (200, True)])
def test_a_body_that_drips_ends_with_the_total_time(
    endless: Callable[..., tuple[Endless, HttpClient]], status: int, streamed: bool
) -> None:
    _, client = endless(status, b" ", 0.1)
    started = time.perf_counter()
    assert "no whole response within 1 s" in str(read(client, streamed))
    assert time.perf_counter() - started < 3


def test_nested_compression_is_refused(endless: Callable[..., tuple[Endless, HttpClient]]) -> None:
    _, client = endless(200, b"x" * PIECE, Content_Encoding="gzip, gzip")
    assert "compressed more than once" in str(read(client, False))
