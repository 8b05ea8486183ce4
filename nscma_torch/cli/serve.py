"""The `serve` command, which serves a store over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import warn
from nscma_torch.cli.serve_log import LogFormat, logged, tell
from nscma_torch.core.errors import ConfigError, NscmaError
from nscma_torch.core.extras import require

if TYPE_CHECKING:
    import socket

    from nscma_torch.server.app_context import RouteGroupFactory, ServerSettings

Tokens = Annotated[
    Path | None,
    typer.Option("--tokens", help="Tokens file; default: FILE.tokens next to the store.", envvar="NSCMA_TOKENS"),
]


@o.app.command()
def serve(
    *,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; other than loopback requires tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 uses any free port.")] = 8765,
    tokens: Tokens = None,
    user: Annotated[
        str,
        typer.Option("--user", help="User for requests that have no token and name no user.", envvar="NSCMA_USER"),
    ] = o.USER,
    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream",
            help="Address of vLLM, llama.cpp or Ollama; its chat completions are proxied with this memory.",
            envvar="NSCMA_UPSTREAM",
            metavar="URL",
        ),
    ] = None,
    upstream_key: Annotated[
        str | None,
        typer.Option(
            "--upstream-key", help="Environment variable that contains the upstream's API key.", metavar="VARIABLE"
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=1, help="Number of processes that share the port; more than one needs a PostgreSQL store."
        ),
    ] = 1,
    log_format: Annotated[
        LogFormat,
        typer.Option("--log-format", help="Format of the log on stderr; json writes an object a line."),
    ] = LogFormat.TEXT,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Serve the store over HTTP and run its background worker, until SIGTERM or Ctrl-C.

    Events are printed one per line, on stderr or, with `--json`, on stdout.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client", "mcp"):
        require(module, extra="server", purpose="`nscma serve`")
    from nscma_torch.core.database.store_path import is_postgres
    from nscma_torch.server.app_context import ServerSettings
    from nscma_torch.server.running import bound, refuse_open_doors
    from nscma_torch.server.supervising import supervise
    from nscma_torch.server.tokens import beside

    settings = ServerSettings(tokens or beside(store), host, port, user)
    upstreams = (upstream, upstream_key)
    report = partial(tell, store, json, log_format)
    with logged(log_format):
        refuse_open_doors(settings)
        if workers > 1 and not is_postgres(store):
            raise ConfigError(
                "a file has one writer, so several processes would block each other: serve it with one, or copy it "
                "into PostgreSQL (`nscma copy`)"
            )
        if workers == 1:
            serving(store, config, settings, _route_groups(*upstreams), tell=report)
            return
        with bound(settings) as listening:
            url = address(host, listening.getsockname()[1])
            report(f"starting {workers} processes", url)
            child = partial(_one_of_several, store, config, settings, upstreams, log_format, report)
            supervise(child, listening, workers)
        report("stopped", url)


def _route_groups(upstream: str | None, upstream_key: str | None) -> list[RouteGroupFactory]:
    """Return the additional route groups: MCP, and the proxy if an upstream is given."""
    from nscma_torch.server.mcp import http as mcp

    route_groups: list[RouteGroupFactory] = [mcp.route_group]
    if upstream is not None:
        require("httpx2", extra="server", purpose="`nscma serve --upstream`")
        from nscma_torch.server.proxy import routes as proxy
        from nscma_torch.server.proxy.upstream_server import key_of

        route_groups.append(proxy.route_group(upstream, key_of(upstream_key)))
    return route_groups


def _one_of_several(
    store: str,
    config: Path | None,
    settings: ServerSettings,
    upstream: tuple[str | None, str | None],
    log_format: LogFormat,
    report: Callable[[str, str], None],
    listening: socket.socket,
) -> None:
    """Run one of several server processes until stopped."""
    from nscma_torch.api.memory import Memory
    from nscma_torch.server.app import create_app
    from nscma_torch.server.running import run
    from nscma_torch.server.view import route_group as view

    def started() -> None:
        report(f"process {os.getpid()} serving", address(settings.host, listening.getsockname()[1]))

    try:
        with logged(log_format), Memory(store, config=config, background=True) as memory:
            run(
                create_app(memory, settings, route_groups=[*_route_groups(*upstream), view]), listening, started=started
            )
    except NscmaError as error:
        warn(f"process {os.getpid()}: {error}")
        raise SystemExit(1) from error


def serving(
    store: str,
    config: Path | None,
    settings: ServerSettings,
    route_groups: Sequence[RouteGroupFactory],
    *,
    tell: Callable[[str, str], None],
) -> None:
    """Serve a store, including the page, until SIGTERM or Ctrl-C. `tell` is called with "serving" or "stopped" and the
    address.
    """
    from nscma_torch.api.memory import Memory
    from nscma_torch.core.database.store_path import file_of
    from nscma_torch.server import announcing
    from nscma_torch.server.app import create_app
    from nscma_torch.server.notice import Notice, ResultInputs
    from nscma_torch.server.running import bound, run
    from nscma_torch.server.view import route_group as view

    with bound(settings) as listening:
        port = listening.getsockname()[1]
        url = address(settings.host, port)
        file = file_of(store)
        with Memory(store, config=config, background=True) as memory:
            inside = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
            route_groups = [*route_groups, view]
            with ExitStack() as stack:
                announced: AbstractContextManager[None] = nullcontext()
                if file is not None:  # commands look for a server beside the file
                    answers = ResultInputs.of(file, config)
                    notice = Notice.of_this_process(address(inside, port), answers)
                    route_groups = [*route_groups, announcing.route_group(notice)]
                    announced = announcing.announced(notice, file)

                def started() -> None:
                    stack.enter_context(announced)
                    tell("serving", url)

                run(create_app(memory, settings, route_groups=route_groups), listening, started=started)
        tell("stopped", url)


def address(host: str, port: int) -> str:
    """Return the address of a server."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
