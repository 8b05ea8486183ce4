"""The `doctor` command, which checks the installation, the store, and the resources that a configuration needs."""

from __future__ import annotations

from typing import Annotated

import typer

from nscma_torch.cli import options as o


@o.app.command()
def doctor(
    *,
    planned: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Load nothing; estimate disk and time for --messages, and check whether the models fit on --card.",
        ),
    ] = False,
    messages: Annotated[
        int | None,
        typer.Option("--messages", min=0, help="Number of messages from all users, with --plan. [default: 100000]"),
    ] = None,
    card: Annotated[
        list[int] | None,
        typer.Option("--card", min=1, help="GPU memory in GB as sold; repeatable. [default: 12, 16, 24]"),
    ] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Check the installation, the configured server and the store; exit with 1 if something is wrong.

    This asks the configured server once for its models; nothing else is sent over the network.
    """
    from nscma_torch.cli.doctor_checks import examine, show_plan

    if (messages is not None or card) and not planned:
        raise typer.BadParameter("requires --plan", param_hint="--messages" if messages is not None else "--card")
    if planned:
        show_plan(config, messages=100_000 if messages is None else messages, cards=card, json=json)
    elif not examine(store, config, json=json):
        raise typer.Exit(1)
