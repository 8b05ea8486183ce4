"""Run the server until it is stopped: the store with its background worker, and uvicorn.

On SIGTERM or SIGINT, it stops accepting requests, finishes the running ones, and closes the store. Acknowledged
messages are already on disk; queued work stays queued.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Sequence

import uvicorn
from fastapi import FastAPI

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError, StoreAccessError
from nscma_torch.server.access import is_loopback
from nscma_torch.server.app_context import AppContext, ServerSettings
from nscma_torch.server.protocol import patient
from nscma_torch.server.tokens import TokenFile


def refuse_open_doors(settings: ServerSettings) -> None:
    """Raise `ConfigError` if a server without tokens would be reachable from other machines."""
    if settings.host == "localhost" or is_loopback(settings.host) or TokenFile(settings.tokens).required:
        return
    raise ConfigError(
        f"{settings.host} accepts other machines, but {settings.tokens} has no tokens: create one with "
        "`nscma token add`, or use --host 127.0.0.1"
    )


def bound(settings: ServerSettings) -> socket.socket:
    """Bind a socket to the host and port; port 0 means any free port. Raises `StoreAccessError` on failure."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise StoreAccessError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}; name another --port"
        ) from error
    return listening


def run(app: FastAPI, listening: socket.socket, *, started: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT."""
    told: list[int] = []  # uvicorn raises the signal again once it has ended; the store is to be closed first
    numbers: Sequence[signal.Signals] = (signal.SIGTERM, signal.SIGINT)
    before = {one: signal.signal(one, lambda number, _: told.append(number)) for one in numbers}
    try:
        Serving(app, started).run(sockets=[listening])
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


class Serving(uvicorn.Server):
    """Uvicorn server configured by the section [server], with a startup callback."""

    def __init__(self, app: FastAPI, started: Callable[[], None]) -> None:
        self._context: AppContext = app.state.context
        self._told = started
        limits = self._context.config.server
        super().__init__(
            uvicorn.Config(
                app,
                http=patient(limits.patience, limits.connections),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # a forwarding header's address is unverified
                timeout_graceful_shutdown=max(1, round(limits.shutdown)),
                ws="none",
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._context.slow.begin(_load_models, self._context.memory)
            self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._context.stopping.set()
        await super().shutdown(sockets)


def _load_models(memory: Memory) -> None:
    """Load models in advance, so the first request needn't wait. A failure is reported to the request that needs the
    model.
    """
    parts = memory.components
    parts.embedder.embed(["Hello."])
    _ = parts.writer, parts.retriever, parts.tasks
