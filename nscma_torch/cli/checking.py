"""Commands that look before anything is loaded: doctor."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from nscma_torch.assembly import torch_device
from nscma_torch.cli import options as o
from nscma_torch.cli.output import console, plain, print_json, say
from nscma_torch.config import load_config
from nscma_torch.doctor.installed import Installed, installed
from nscma_torch.doctor.plan import CARDS, GIB, Plan, plan


@o.app.command()
def doctor(
    *,
    units: Annotated[int, typer.Option("--units", min=0, help="Searchable units that the index will hold.")] = 100_000,
    card: Annotated[
        list[int] | None, typer.Option("--card", min=1, help="GiB of a card to fit; may be repeated. [12, 16, 24]")
    ] = None,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """What is installed, which device, and whether a configuration fits a card."""
    settings = load_config(config)
    found, made = installed(), plan(settings, units=units)
    cards = [GIB * size for size in card or CARDS]
    if json:
        fits = [made.fit(size) for size in cards]
        print_json({"installed": found, "device": settings.device, "plan": made, "fits": fits})
        return
    _say_installed(found)
    say(f"device: {plain(settings.device)}, here {torch_device('auto')}")
    console.print(_parts(made))
    for note in made.notes:
        say(f"note: {plain(note)}")
    for size in cards:
        fit = made.fit(size)
        room = f", {fit.cached:,} tokens of keys and values" if made.cache_per_token else ""
        if fit.problems:
            say(f"[red]{size / GIB:.0f} GiB: does not fit[/]: {plain('; '.join(fit.problems))}")
        else:
            say(f"[green]{size / GIB:.0f} GiB: fits[/]{room}")


def _say_installed(found: Installed) -> None:
    packages = ", ".join(f"{name} {version}" for name, version in found.packages.items())
    say(f"Python {found.python}, {packages}")
    for extra, version in found.extras.items():
        say(f"extra {extra}: {version or 'not installed'}")
    for device in found.devices:
        memory = "" if device.total is None else f", {(device.free or 0) / GIB:.1f} of {device.total / GIB:.1f} GiB free"
        say(f"{plain(device.name)}{memory}, multiplies {device.native.removeprefix('torch.')}")


def _parts(made: Plan) -> Table:
    table = Table("part", "GiB", "of", "")
    table.columns[1].justify = "right"
    for part in made.parts:
        table.add_row(part.name, f"{part.size / GIB:.2f}", part.side, plain(part.note))
    table.add_section()
    for side in ("engine", "memory"):
        if made.of(side):
            table.add_row(f"all of the {side}", f"{made.of(side) / GIB:.2f}", side, "")
    if made.cache_per_token:
        table.add_row("a token's keys and values", f"{made.cache_per_token / 2**20:.3f} MiB", "engine", "")
    return table
