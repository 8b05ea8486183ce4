"""The `chat` command."""

from __future__ import annotations

from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import opened


@o.app.command()
def chat(
    *,
    run: Annotated[str, typer.Option("--run", help="Conversation to continue.")] = "chat",
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: Annotated[bool, typer.Option("--json", help="Print each reply as one line of JSON.")] = False,
) -> None:
    """Chat with a memory of everything said before. /help lists the commands.

    If input is piped, the chat ends at the first line that can't be answered; a failed command is reported, and the
    exit code is 1.
    """
    from nscma_torch.cli.chat_session import converse

    with opened(store, config, must_exist=False) as memory:
        if not converse(memory, user=user, agent=agent, run=run, json=json):
            raise typer.Exit(1)
