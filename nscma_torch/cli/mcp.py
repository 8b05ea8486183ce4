"""The commands for MCP: mcp (a server on stdio), mcp install, hook recall, hook retain."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlencode

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import plain, print_json, say, warn
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.extras import require

if TYPE_CHECKING:
    from nscma_torch.api.operations import Right
    from nscma_torch.server.mcp.hooks import HookClient
    from nscma_torch.server.mcp.settings_files import EditPlan, SettingsEdit

mcp = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Serve the store to one MCP client on stdin and stdout; `install` registers it with a client.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
hook = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Commands for coding agents' hooks. They read the hook's JSON on stdin and never fail.",
)
o.app.add_typer(mcp, name="mcp")
o.app.add_typer(hook, name="hook")

Can = Annotated[str, typer.Option("--can", help="Rights, comma-separated: read, write, erase.")]
Url = Annotated[
    str, typer.Option("--url", help="Address of the server started with `nscma serve`.", envvar="NSCMA_URL")
]
Token = Annotated[
    str | None, typer.Option("--token", help="The server's token.", envvar="NSCMA_TOKEN", show_envvar=True)
]
Whose = Annotated[
    str | None, typer.Option("--user", help="User to act for, if the token does not name one.", envvar="NSCMA_USER")
]
Seconds = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to wait for the server.")]

_URL = "http://127.0.0.1:8765"
_LENIENT = {"ignore_unknown_options": True, "allow_extra_args": True}  # exit code 2 would stop the client's prompt


def _rights(can: str) -> list[Right]:
    from nscma_torch.server.tokens import RIGHTS

    wanted = [right.strip() for right in can.split(",") if right.strip()]
    if not wanted or set(wanted) - set(RIGHTS):
        raise typer.BadParameter(f"rights are {', '.join(RIGHTS)}, got {can!r}", param_hint="--can")
    return cast("list[Right]", wanted)


@mcp.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    *,
    user: o.User = o.USER,
    agent: o.Agent = None,
    can: Can = "read,write",
    store: o.Store = o.STORE,
    config: o.Config = None,
) -> None:
    """Serve the store to one MCP client on stdin and stdout; `install` registers it with a client."""
    if context.invoked_subcommand is not None:
        return
    for module in ("mcp", "fastapi"):
        require(module, extra="server", purpose="`nscma mcp`")
    from nscma_torch.server.mcp import stdio

    stdio.serve(store, config, user, agent, _rights(can))


@mcp.command()
def install(
    client: Annotated[
        str,
        typer.Argument(help="claude-code, claude-desktop, codex, cursor, vscode, windsurf, gemini-cli or lm-studio."),
    ],
    *,
    write: Annotated[
        bool, typer.Option("--write", help="Write the client's settings file; by default, only show the change.")
    ] = (False),
    hooks: Annotated[
        bool,
        typer.Option(
            "--hooks", help="Also install hooks that recall memories for a prompt and store the conversation."
        ),
    ] = (False),
    project: Annotated[
        Path | None, typer.Option("--project", help="Install only for the project in this folder.", metavar="FOLDER")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", help="Running server to use, such as http://127.0.0.1:8765; by default, the client starts one."
        ),
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="The server needs a token, which the client reads from NSCMA_TOKEN.")
    ] = False,
    user: Annotated[str | None, typer.Option("--user", help="User who owns the memory.", envvar="NSCMA_USER")] = None,
    agent: o.Agent = None,
    can: Can = "read,write",
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Register the memory with a client: show the change to its settings, or make the change with --write."""
    from nscma_torch.core.database.store_path import file_of
    from nscma_torch.server.mcp.clients import CLIENTS, CommandServer, HttpServer, program

    chosen = CLIENTS.get(client)
    if chosen is None:
        raise InvalidInputError(f"unknown client {client!r}; clients are {', '.join(CLIENTS)}")
    at = url or _URL
    options = [*_named("--user", user or (None if url else o.USER)), *_named("--agent", agent)]
    if url is None:
        file = file_of(store)
        settings = [
            *_named("--config", None if config is None else _found(config)),
            "--store",
            str(store if file is None else file.resolve()),
        ]
        how: CommandServer | HttpServer = CommandServer(
            [*program(), "mcp", *options, "--can", ",".join(_rights(can)), *settings]
        )
    else:
        query = urlencode([(name, one) for name, one in (("user_id", user), ("agent_id", agent)) if one is not None])
        how = HttpServer(f"{url.rstrip('/')}/mcp{'?' if query else ''}{query}", token)
    folder = None if project is None else project.resolve()
    edits = [chosen.server(how, folder)]
    if hooks:
        edits.append(chosen.hooking(lambda what: [*program(), "hook", what, "--url", at, *options], folder))
    plans = [edit.planned() if write else None for edit in edits]  # all of them can be made, or none is
    backups = [None if plan is None else plan.write() for plan in plans]
    done = list(zip(edits, plans, backups, strict=True))
    if json:
        print_json(
            [
                {
                    "file": edit.path, "format": edit.form, "content": edit.snippet(),
                    "written": plan is not None, "backup": backup,
                }
                for edit, plan, backup in done
            ]
        )  # fmt: skip
        return
    for edit, plan, backup in done:
        _show(edit, plan, backup, write)
    if chosen.note:
        say(f"[dim]{plain(chosen.note)}[/]")


def _show(edit: SettingsEdit, plan: EditPlan | None, backup: Path | None, written: bool) -> None:
    path = f"[bold]{plain(str(edit.path))}[/]"
    if not written:
        say(f"{path} needs these settings (--write adds them):")
        typer.echo(edit.snippet())
    elif plan is None:
        say(f"{path} already has the settings")
    else:
        say(f"updated {path}{plain(f'; the previous version is {backup}') if backup else ''}")


def _named(option: str, value: str | None) -> list[str]:
    return [] if value is None else [option, value]


def _found(config: Path) -> str:
    """Return a configuration's address that is valid in any folder: a file's full path, or the name of a bundled
    configuration.
    """
    return str(config.resolve()) if config.exists() else str(config)


@hook.command(context_settings=_LENIENT)
def recall(
    url: Url = _URL,
    token: Token = None,
    user: Whose = None,
    agent: o.Agent = None,
    timeout: Seconds = 3.0,
) -> None:
    """Print the memories recalled for a prompt, for a UserPromptSubmit hook."""
    from nscma_torch.server.mcp import hooks

    told = _tried(lambda given, client: hooks.recall(given, client), hooks.HookClient(url, token, user, agent, timeout))
    if told is not None:
        typer.echo(told)


@hook.command(context_settings=_LENIENT)
def retain(
    url: Url = _URL,
    token: Token = None,
    user: Whose = None,
    agent: o.Agent = None,
    timeout: Seconds = 5.0,
) -> None:
    """Store the prompt or the answer, for UserPromptSubmit and Stop hooks."""
    from nscma_torch.server.mcp import hooks

    _tried(lambda given, client: hooks.retain(given, client), hooks.HookClient(url, token, user, agent, timeout))


def _tried(call: Callable[[dict[str, Any], HookClient], str | None], client: HookClient) -> str | None:
    """Return the call's result. If it fails, print a note to stderr and return None, so that the client can
    continue.
    """
    from nscma_torch.server.mcp import hooks

    try:
        return call(hooks.payload(sys.stdin.buffer.read()), client)
    except hooks.HookError as error:
        warn(f"nscma: {error}")
        return None
