"""The `completion` command, which prints shell completion scripts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from nscma_torch.cli import options as o


class Shell(StrEnum):
    """Supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@o.app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print a shell script that completes commands, options and users.

    bash: eval "$(nscma completion bash)" in ~/.bashrc. zsh: eval "$(nscma completion zsh)" in ~/.zshrc, after
    compinit. fish: nscma completion fish > ~/.config/fish/completions/nscma.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name="nscma", complete_var=o.COMPLETE, shell=shell.value))
