"""The `view` command, which shows a store in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import print_line, warn
from nscma_torch.cli.serve import Tokens, serving
from nscma_torch.core.database.store_path import name_of
from nscma_torch.core.extras import require

_PORT = 8765


@o.app.command()
def view(
    *,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65535, help="Port; default: 8765, or any free port if that is taken.", metavar="N"
        ),
    ] = None,
    open: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser if there is a display.")
    ] = True,
    tokens: Tokens = None,
    user: Annotated[str, typer.Option("--user", help="User to show first.", envvar="NSCMA_USER")] = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show the store in the browser, on a page served to this machine only, until Ctrl-C.

    If `nscma serve` or another `nscma view` already serves the store, its address is printed and the command ends.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        require(module, extra="server", purpose="`nscma view`")
    from nscma_torch.cli.running_server import server_of
    from nscma_torch.server.app_context import ServerSettings
    from nscma_torch.server.tokens import beside

    def tell(event: str, url: str) -> None:
        if json:
            print_line({"event": event, "url": f"{url}/", "store": name_of(store)})
        elif event == "stopped":
            warn(f"stopped: {name_of(store)}")
        else:
            typer.echo(f"{url}/")
            warn(f"{event}: {name_of(store)}" + ("; Ctrl-C stops it" if event == "serving" else ""))
        if event != "stopped" and open and _has_display():
            webbrowser.open(f"{url}/")

    running = server_of(store, config)
    if running is not None:
        tell("served already", running.url)
        return
    chosen = _free() if port is None else port
    serving(store, config, ServerSettings(tokens or beside(store), "127.0.0.1", chosen, user), (), tell=tell)


def _free() -> int:
    """Return the default port, or 0 (any free port) if another program uses it."""
    from nscma_torch.core.errors import StoreAccessError
    from nscma_torch.server.app_context import ServerSettings
    from nscma_torch.server.running import bound

    try:
        bound(ServerSettings(Path(), "127.0.0.1", _PORT)).close()
    except StoreAccessError:
        return 0
    return _PORT


def _has_display() -> bool:
    """Return True if a graphical browser can open; otherwise, Python would start a text browser in this terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
