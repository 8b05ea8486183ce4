"""HTTP/1.1 for slow clients: one that sends no whole request, or takes nothing of the answer, is left after a while."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def patient(seconds: float) -> type[H11Protocol]:
    """uvicorn's protocol that waits so long for the head of a request, and for a client that reads nothing."""

    class Patient(H11Protocol):
        _head: asyncio.TimerHandle | None = None
        _stalled: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
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
            """Wait for a head while no request is at work."""
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
