"""The command that serves a store over HTTP: serve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import print_line, warn
from nscma_torch.extras import require
from nscma_torch.storage.store_path import name_of

if TYPE_CHECKING:
    from nscma_torch.server.rooms import MakesRoom, Settings

Tokens = Annotated[
    Path | None,
    typer.Option("--tokens", help="The tokens file; FILE.tokens beside the store by default.", envvar="NSCMA_TOKENS"),
]


@o.app.command()
def serve(
    *,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; other than the loopback only with tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any free one.")] = 8765,
    tokens: Tokens = None,
    user: Annotated[
        str,
        typer.Option(
            "--user", help="Whose memory, where a request has no token and names nobody.", envvar="NSCMA_USER"
        ),
    ] = o.USER,
    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream",
            help="Address of vLLM, llama.cpp or Ollama: serve its chat completions with this memory.",
            envvar="NSCMA_UPSTREAM",
            metavar="URL",
        ),
    ] = None,
    upstream_key: Annotated[
        str | None,
        typer.Option("--upstream-key", help="Environment variable that holds its key.", metavar="VARIABLE"),
    ] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Serve the store over HTTP, with its background worker inside, until SIGTERM or ctrl-c.

    What it does is told on stderr, with `--json` on stdout, a line each.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client", "mcp"):
        require(module, extra="server", purpose="`nscma serve`")
    from nscma_torch.server.mcp import http as mcp
    from nscma_torch.server.rooms import Settings
    from nscma_torch.server.running import refuse_open_doors
    from nscma_torch.server.tokens import beside

    settings = Settings(tokens or beside(store), host, port, user)
    refuse_open_doors(settings)
    rooms: list[MakesRoom] = [mcp.room]
    if upstream is not None:
        require("httpx2", extra="server", purpose="`nscma serve --upstream`")
        from nscma_torch.server.proxy import room as proxy
        from nscma_torch.server.proxy.upstream_server import key_of

        rooms.append(proxy.room(upstream, key_of(upstream_key)))

    def tell(event: str, url: str) -> None:
        if json:
            print_line({"event": event, "url": url, "store": name_of(store)})
        else:
            warn(f"{event}: {name_of(store)} at {url}")

    serving(store, config, settings, rooms, tell=tell)


def serving(
    store: str,
    config: Path | None,
    settings: Settings,
    rooms: Sequence[MakesRoom],
    *,
    tell: Callable[[str, str], None],
) -> None:
    """Serve a store, with the page, until SIGTERM or ctrl-c. `tell` hears "serving" and "stopped", with the address."""
    from nscma_torch.memory import Memory
    from nscma_torch.server import announcing
    from nscma_torch.server.app import create_app
    from nscma_torch.server.notice import Answers, Notice
    from nscma_torch.server.running import bound, run
    from nscma_torch.server.view import room as view
    from nscma_torch.storage.store_path import file_of

    with bound(settings) as listening:
        port = listening.getsockname()[1]
        url = address(settings.host, port)
        file = file_of(store)
        with Memory(store, config=config, background=True) as memory:
            inside = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
            rooms = [*rooms, view]
            with ExitStack() as stack:
                announced: AbstractContextManager[None] = nullcontext()
                if file is not None:  # commands look for a server beside the file
                    largest = memory.config.limits.max_message_bytes
                    answers = Answers.of(file, config)
                    notice = Notice.of_this_process(address(inside, port), answers, max_message_bytes=largest)
                    rooms = [*rooms, announcing.room(notice)]
                    announced = announcing.announced(notice, file)

                def started() -> None:
                    stack.enter_context(announced)
                    tell("serving", url)

                run(create_app(memory, settings, rooms=rooms), listening, started=started)
        tell("stopped", url)


def address(host: str, port: int) -> str:
    """The address of a server."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
