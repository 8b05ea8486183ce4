"""HTTP/1.1 with timeouts for slow clients and a connection limit.

A client that doesn't complete a request's head, or doesn't read the response, is disconnected after a while. A client
above the connection limit gets an error.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from nscma_torch.core.errors import OverloadedError
from nscma_torch.server.problems import MEDIA_TYPE, problem


def patient(seconds: float, connections: int) -> type[H11Protocol]:
    """Return a subclass of uvicorn's protocol with timeouts for request heads and for clients that don't read
    responses.
    """

    class Patient(H11Protocol):
        _head: asyncio.TimerHandle | None = None
        _stalled: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > connections:
                transport.write(_one_too_many(connections))
                transport.close()
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            self._take_on()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stalled = self._stalled or self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            self._take_on()
            super().resume_writing()

        def _watch(self) -> None:
            """Start the timeout for a request head while no request is running."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
            elif self._head is None and not self.transport.is_closing():
                self._head = self.loop.call_later(seconds, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._head is not None:
                self._head.cancel()
                self._head = None

        def _take_on(self) -> None:
            if self._stalled is not None:
                self._stalled.cancel()
                self._stalled = None

    return Patient


def _one_too_many(connections: int) -> bytes:
    """Return the complete response sent to a connection above the limit."""
    told = problem(OverloadedError(f"{connections} connections are open; try again in a moment"))
    head = f"HTTP/1.1 503 Service Unavailable\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(told.body)}\r\n"
    return f"{head}retry-after: {told.headers['retry-after']}\r\nconnection: close\r\n\r\n".encode() + bytes(told.body)
