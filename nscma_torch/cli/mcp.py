"""Commands for MCP: mcp (a server on stdio), mcp install, hook recall, hook retain."""

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
    from nscma_torch.server.mcp.hooks import Door
    from nscma_torch.server.mcp.settings_files import Edit, Plan
    from nscma_torch.server.tokens import Right

mcp = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Serve the store to one MCP client on stdin and stdout; `install` tells a client of it.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
hook = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="What hooks of coding agents run: they read the hook's JSON on stdin, and never fail.",
)
o.app.add_typer(mcp, name="mcp")
o.app.add_typer(hook, name="hook")

Can = Annotated[str, typer.Option("--can", help="Rights, of read, write and erase, with commas.")]
Url = Annotated[str, typer.Option("--url", help="The server, which `nscma serve` runs.", envvar="NSCMA_URL")]
Token = Annotated[str | None, typer.Option("--token", help="Its token.", envvar="NSCMA_TOKEN", show_envvar=True)]
Whose = Annotated[
    str | None, typer.Option("--user", help="Whose memory, where the token does not say.", envvar="NSCMA_USER")
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
    """Serve the store to one MCP client on stdin and stdout; `install` tells a client of it."""
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
    write: Annotated[bool, typer.Option("--write", help="Change its settings file; without it, show the change.")] = (
        False
    ),
    hooks: Annotated[bool, typer.Option("--hooks", help="Also have it recall at a prompt and retain what is said.")] = (
        False
    ),
    project: Annotated[
        Path | None, typer.Option("--project", help="For this project alone, in its folder.", metavar="FOLDER")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", help="A server that runs, such as http://127.0.0.1:8765; without it the client starts one."
        ),
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="That server wants a token: the client takes it from NSCMA_TOKEN.")
    ] = False,
    user: Annotated[str | None, typer.Option("--user", help="Whose memory.", envvar="NSCMA_USER")] = None,
    agent: o.Agent = None,
    can: Can = "read,write",
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Tell a client of the memory: show the change of its settings, or make it with --write."""
    from nscma_torch.core.database.store_path import file_of
    from nscma_torch.server.mcp.clients import CLIENTS, Running, Started, program

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
        how: Started | Running = Started([*program(), "mcp", *options, "--can", ",".join(_rights(can)), *settings])
    else:
        query = urlencode([(name, one) for name, one in (("user_id", user), ("agent_id", agent)) if one is not None])
        how = Running(f"{url.rstrip('/')}/mcp{'?' if query else ''}{query}", token)
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


def _show(edit: Edit, plan: Plan | None, backup: Path | None, written: bool) -> None:
    path = f"[bold]{plain(str(edit.path))}[/]"
    if not written:
        say(f"{path} needs (--write puts it in):")
        typer.echo(edit.snippet())
    elif plan is None:
        say(f"{path} has it already")
    else:
        say(f"{path} has it now{plain(f'; as it was: {backup}') if backup else ''}")


def _named(option: str, value: str | None) -> list[str]:
    return [] if value is None else [option, value]


def _found(config: Path) -> str:
    """A configuration as another folder finds it: a file by its whole path, a shipped one by its name."""
    return str(config.resolve()) if config.exists() else str(config)


@hook.command(context_settings=_LENIENT)
def recall(
    url: Url = _URL,
    token: Token = None,
    user: Whose = None,
    agent: o.Agent = None,
    timeout: Seconds = 3.0,
) -> None:
    """Print what a prompt recalls, for a hook at UserPromptSubmit."""
    from nscma_torch.server.mcp import hooks

    told = _tried(lambda given, door: hooks.recall(given, door), hooks.Door(url, token, user, agent, timeout))
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
    """Store the prompt, or the answer, for hooks at UserPromptSubmit and Stop."""
    from nscma_torch.server.mcp import hooks

    _tried(lambda given, door: hooks.retain(given, door), hooks.Door(url, token, user, agent, timeout))


def _tried(call: Callable[[dict[str, Any], Door], str | None], door: Door) -> str | None:
    """Return the call's result. If it fails, print a note to stderr and return None, so the client can go on."""
    from nscma_torch.server.mcp import hooks

    try:
        return call(hooks.payload(sys.stdin.buffer.read()), door)
    except hooks.HookError as error:
        warn(f"nscma: {error}")
        return None
