"""Servers for tests: in the process for most, on a socket of the loopback for what a socket decides."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi import FastAPI
from starlette.testclient import TestClient
from typer.testing import CliRunner

from nscma_torch.api.memory import Memory
from nscma_torch.cli import app as cli
from nscma_torch.server.app import create_app
from nscma_torch.server.app_context import RouteGroupFactory, ServerSettings
from nscma_torch.server.running import Serving, bound
from nscma_torch.server.tokens import TokenFile
from tests.helpers.noting import NotedTasks

HOST = "http://127.0.0.1:8765"


@dataclass(frozen=True)
class Served:
    """A server in this process: its client comes from the loopback."""

    memory: Memory
    app: FastAPI
    tokens: TokenFile
    client: TestClient

    def token(self, user: str | None, can: str = "read,write,erase") -> dict[str, str]:
        """The header of a new token."""
        return {"Authorization": f"Bearer {self.tokens.add(user, can.split(','))[0]}"}


@contextmanager
def serving(memory: Memory, tokens: Path, *, route_groups: Any = (), **settings: Any) -> Iterator[Served]:
    """A server over a memory, without tokens at first."""
    app = create_app(memory, ServerSettings(tokens, **settings), route_groups=route_groups)
    client = TestClient(app, HOST, raise_server_exceptions=False, client=("127.0.0.1", 50_000))
    with client:
        yield Served(memory, app, TokenFile(tokens), client)


def route_groups_of_serve(upstream: str) -> list[RouteGroupFactory]:
    """All that `nscma serve --upstream` builds in, as the command itself names it."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        found: list[RouteGroupFactory] = []

        def made(_: Memory, __: ServerSettings, *, route_groups: Sequence[RouteGroupFactory]) -> FastAPI:
            found.extend(route_groups)
            raise KeyboardInterrupt

        patch.setattr("nscma_torch.server.app.create_app", made)
        CliRunner().invoke(cli, ["serve", "--store", f"{folder}/s.db", "--port", "0", "--upstream", upstream])
    assert found, "nscma serve has built nothing"
    return found


@pytest.fixture
def served(open_memory: Callable[..., Memory], light_surprise: Any, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """`served({…}, route_groups=[…], host=…)`: a server over a light store, with such a section [server]."""
    with ExitStack() as stack:

        def make(
            server: dict[str, Any] | None = None, floor: float = 0.4, config: Any = None, **options: Any
        ) -> Served:
            own = {"gate": {"rule": "everything"}, "retrieval": {"floor": floor}, "server": server or {}}
            config = {**own, **(config or {})}
            memory = open_memory(config=config, surprise_model=light_surprise, tasks=NotedTasks())
            return stack.enter_context(serving(memory, tmp_path / "store.db.tokens", **options))

        yield make


@pytest.fixture
def listening(served: Callable[..., Served]) -> Iterator[Callable[..., tuple[Served, int]]]:
    """The same on a socket: gives the port too."""
    with ExitStack() as stack:

        def make(server: dict[str, Any] | None = None, **options: Any) -> tuple[Served, int]:
            made = served(server, **options)
            own = stack.enter_context(bound(ServerSettings(made.tokens.path, port=0)))
            port: int = own.getsockname()[1]
            begun = threading.Event()
            running = Serving(made.app, begun.set)
            thread = threading.Thread(target=running.run, kwargs={"sockets": [own]})

            def stop() -> None:
                running.should_exit = running.force_exit = True
                thread.join()

            thread.start()
            stack.callback(stop)
            assert begun.wait(30)
            return made, port

        yield make
