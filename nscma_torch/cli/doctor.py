"""The command that examines: what is installed, whether the store is sound, and whether a configuration fits a card."""

from __future__ import annotations

from typing import Annotated

import typer

from nscma_torch.cli import options as o


@o.app.command()
def doctor(
    *,
    planned: Annotated[
        bool, typer.Option("--plan", help="Load nothing: say whether the configuration fits a card.")
    ] = False,
    units: Annotated[int, typer.Option("--units", min=0, help="Units that the planned index holds.")] = 100_000,
    card: Annotated[
        list[int] | None, typer.Option("--card", min=1, help="GiB of a card; may be repeated. [default: 12, 16, 24]")
    ] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Check the installation, the configured server and the store, where there are; exits with 1 if something is wrong.

    The server is asked for its models, once; nothing else goes over the network.
    """
    from nscma_torch.cli.doctor_checks import examine, show_plan

    if planned:
        show_plan(config, units=units, cards=card, json=json)
    elif not examine(store, config, json=json):
        raise typer.Exit(1)
