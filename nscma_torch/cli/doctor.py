"""The command that examines: what is installed, whether the store is sound, and what a plan takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nscma_torch.cli import options as o


@o.app.command()
def doctor(
    *,
    planned: Annotated[
        bool,
        typer.Option("--plan", help="Load nothing: say whether the configuration fits a card, or what --users take."),
    ] = False,
    units: Annotated[
        int | None, typer.Option("--units", min=0, help="Units that the planned index holds. [default: 100000]")
    ] = None,
    card: Annotated[
        list[int] | None,
        typer.Option("--card", min=1, help="GB of a card as sold; may be repeated. [default: 12, 16, 24]"),
    ] = None,
    users: Annotated[
        list[int] | None,
        typer.Option("--users", help="Of --plan: users of the memory; repeated with --messages, plans side by side."),
    ] = None,
    messages: Annotated[
        list[int] | None, typer.Option("--messages", help="Of --plan: messages of each user, not of all together.")
    ] = None,
    cores: Annotated[
        int | None, typer.Option("--cores", help="Of --plan: processor cores that take them in. [default: 1]")
    ] = None,
    text: Annotated[
        float | None,
        typer.Option("--message-bytes", help="Of --plan: bytes of UTF-8 of a message. [default: those of chat]"),
    ] = None,
    rates: Annotated[
        Path | None,
        typer.Option(
            "--rates", help="Of --plan: rates of your machine, of eval.experiments.speed.rates.", metavar="FILE"
        ),
    ] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Check the installation, the configured server and the store, where there are; exits with 1 if something is wrong.

    The server is asked for its models, once; nothing else goes over the network.
    """
    from nscma_torch.cli.doctor_checks import examine, show_plan

    of_users = {"--users": users, "--messages": messages, "--cores": cores, "--message-bytes": text, "--rates": rates}
    given = [name for name, value in of_users.items() if value is not None]
    if given and not (planned and users and messages and len(users) == len(messages)):
        raise typer.BadParameter("goes with --plan, and as many --users as --messages", param_hint=given[0])
    if users and messages:
        from nscma_torch.cli.doctor_scale import show_scales

        sizes = list(zip(users, messages, strict=True))
        show_scales(config, sizes, cores=cores or 1, text=text, rates=rates, cards=card, units=units, json=json)
    elif planned:
        show_plan(config, units=100_000 if units is None else units, cards=card, json=json)
    elif not examine(store, config, json=json):
        raise typer.Exit(1)
