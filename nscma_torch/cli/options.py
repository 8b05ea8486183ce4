"""The application object and the options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="nscma",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"nscma {version('nscma-torch')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version, and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Long-term memory for local language models: it keeps what surprises it, and shows its evidence."""


Store = Annotated[Path, typer.Option("--store", help="The database file.", envvar="NSCMA_STORE", metavar="FILE")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file with settings, or the name of a shipped one, such as cpu or papers/cam.",
        envvar="NSCMA_CONFIG",
        metavar="FILE",
    ),
]
User = Annotated[str, typer.Option("--user", help="Whose memory.", envvar="NSCMA_USER")]
Agent = Annotated[str | None, typer.Option("--agent", help="Narrow to one agent.")]
Run = Annotated[str | None, typer.Option("--run", help="Narrow to one run.")]
Now = Annotated[str | None, typer.Option("--now", help="Time to take for now, ISO 8601.", metavar="TIME")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

STORE = Path("nscma.db")
USER = "default"
