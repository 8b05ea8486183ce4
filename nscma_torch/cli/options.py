"""The application object, and the options that commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from nscma_torch import __version__
from nscma_torch.cli.commands import Commands

COMPLETE = "_NSCMA_COMPLETE"  # the variable by which a shell asks what completes a line
CONTEXT = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="nscma",
    cls=Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nscma {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Long-term memory for local language models: stores surprising messages, and answers with evidence."""


def _users(ctx: typer.Context, incomplete: str) -> list[str]:
    from nscma_torch.core.database.store_path import file_of
    from nscma_torch.episodic.log.user_names import beginning_with

    file = file_of(ctx.params.get("store") or os.environ.get("NSCMA_STORE") or STORE)
    return [] if file is None else beginning_with(file, incomplete)


Store = Annotated[
    str,
    typer.Option("--store", help="The database file, or postgresql://….", envvar="NSCMA_STORE", metavar="FILE"),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file with settings, or the name of a bundled configuration, such as cpu or papers/cam.",
        envvar="NSCMA_CONFIG",
        metavar="FILE",
    ),
]
User = Annotated[
    str, typer.Option("--user", help="User who owns the memory.", envvar="NSCMA_USER", autocompletion=_users)
]
Agent = Annotated[str | None, typer.Option("--agent", help="Restrict to one agent.")]
Run = Annotated[str | None, typer.Option("--run", help="Narrow to one run.")]
Now = Annotated[str | None, typer.Option("--now", help="Current time to assume, ISO 8601.", metavar="TIME")]
Record = Annotated[
    list[str] | None,
    typer.Option(
        "--record",
        help="Record filter: type, sentiment, resolution, entity or (minimum) importance; repeatable.",
        metavar="KEY=VALUE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
NoServer = Annotated[
    bool, typer.Option("--no-server", help="Open the store in this process even if a server has it loaded.")
]
Token = Annotated[
    str | None,
    typer.Option("--token", help="Token for a running server.", envvar="NSCMA_TOKEN", metavar="TOKEN"),
]

STORE = "nscma.db"
USER = "default"


def pairs(given: list[str] | None, option: str) -> list[tuple[str, str]]:
    """Parse the keys and values in a repeated KEY=VALUE option."""
    parted = [(one, *one.partition("=")) for one in given or []]
    for one, _, found, _ in parted:
        if not found:
            raise typer.BadParameter(f"write KEY=VALUE, got {one!r}", param_hint=option)
    return [(key, value) for _, key, _, value in parted]


def record_filter(given: list[str] | None) -> dict[str, Any] | None:
    """Parse `--record` for `Memory.records`. If type, sentiment or resolution is repeated, any of its values
    matches.
    """
    wanted: dict[str, Any] = {}
    for key, value in pairs(given, "--record"):
        if key in ("entity", "importance") and key in wanted:
            raise typer.BadParameter(f"give {key} once", param_hint="--record")
        if key == "importance":
            try:
                wanted[key] = float(value)
            except ValueError as error:
                raise typer.BadParameter(
                    f"importance must be a number, got {value!r}", param_hint="--record"
                ) from error
        elif key == "entity":
            wanted[key] = value
        else:
            wanted.setdefault(key, []).append(value)
    return wanted or None
