"""The warm command: keep the models loaded for the next commands."""

from __future__ import annotations

import json as jsonlib
import subprocess
import sys
from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import print_json, say
from nscma_torch.cli.warm_process import client
from nscma_torch.core.errors import ConfigError


@o.app.command()
def warm(
    *,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0.1, max=10_080, help="End after so long without a command.")
    ] = 60,
    stop: Annotated[bool, typer.Option("--stop", help="End the process.")] = False,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Keep the models loaded in a process, so that the next commands start in a tenth of a second.

    Commands with the same configuration then run in forks of it, with the same results. It takes the memory of the
    models, holds no store open, and needs a system that forks (Linux, macOS) and models on the CPU. On a GPU, or for
    several programs, run `nscma serve`.
    """
    if not client.SUPPORTED:
        raise ConfigError("this system can't fork processes; `nscma serve` keeps the models loaded")
    if stop:
        ended = client.stop(config)
        told = "ended" if ended else "none was running"
    elif (line := client.connected(config)) is not None:
        line.close()
        told = "already running"
    else:
        _start(minutes, None if config is None else str(config))
        told = "started"
    if json:
        print_json({"state": told})
    else:
        say({"started": f"models loaded; ends after {minutes:g} minutes without a command"}.get(told, told))


def _start(minutes: float, config: str | None) -> None:
    """Start the process and wait until it has loaded the models. Raises `ConfigError` if it can't."""
    named = [] if config is None else ["--config", config]
    program = [sys.executable, "-m", "nscma_torch.cli.warm_process.process", "--minutes", str(minutes), *named]
    started = subprocess.Popen(
        program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    assert started.stdout is not None
    with started.stdout:
        line = started.stdout.readline()
    if not line:
        raise ConfigError(f"the process ended with status {started.wait()} before the models were loaded")
    if error := jsonlib.loads(line).get("error"):
        raise ConfigError(error)
