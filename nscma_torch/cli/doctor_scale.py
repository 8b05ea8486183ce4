"""Output of `nscma doctor --plan --users N --messages M`: memory sizes side by side, with advice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from nscma_torch.cli.doctor_checks import plan_object, say_plan
from nscma_torch.cli.output import console, plain, print_json, say
from nscma_torch.core.config import load_config
from nscma_torch.doctor.plan import plan
from nscma_torch.doctor.rates import Rates, Source, load_rates
from nscma_torch.doctor.scale import Figure, Scale, scale

_SCALES = {  # the largest step that a value reaches names it
    "bytes": ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "bytes")),
    "seconds": ((86_400.0, "days"), (3600.0, "h"), (60.0, "min"), (1, "s")),
    "milliseconds": ((60_000.0, "min"), (1000.0, "s"), (1, "ms")),
}
_COUNTS = ((1e6, "M"), (1, ""))


def show_scales(
    config: Path | None,
    sizes: Sequence[tuple[int, int]],
    *,
    cores: int,
    text: float | None,
    rates: Path | None,
    cards: Sequence[int] | None,
    units: int | None,
    json: bool,
) -> None:
    """Say what memories of so many users and messages take; with cards, how the indexes that are held fit these."""
    loaded, measured = load_config(config), load_rates(rates)
    made = [
        scale(loaded, measured, users=users, messages=messages, cores=cores, text=text) for users, messages in sizes
    ]
    held = max(_held(one) for one in made) if units is None else units
    card = plan(loaded, units=held) if cards else None
    if json:
        sources = {"rates": measured.source, "writers": measured.writers.source}
        report: dict[str, object] = {"scales": made, "sources": {key: one.model_dump() for key, one in sources.items()}}
        if card is not None and cards:
            report["card"] = plan_object(card, cards)
        print_json(report)
        return
    console.print(_table(made))
    _say_sources(measured)
    shared = [warning for warning in made[0].warnings if all(warning in one.warnings for one in made)]
    for warning in shared:
        say(f"[yellow]beyond what was measured[/]: {plain(warning)}")
    for one in made:
        _say_advice(one, but=shared)
    if card is not None and cards:
        say_plan(card, cards)


def _held(made: Scale) -> int:
    """Units that a process holds on the device at once."""
    return round(made.value("searchable units") / made.users * max(1, made.value("users held at once")))


def _table(made: Sequence[Scale]) -> Table:
    table = Table()
    table.add_column("", no_wrap=True)
    for one in made:
        table.add_column(title(one), justify="right", no_wrap=True)
    table.add_column("rests on" if len(made) > 1 else "")
    parts = ""
    for row in zip(*(one.figures for one in made), strict=True):
        if row[0].part != parts and parts:
            table.add_section()
        parts = row[0].part
        basis = row[0].basis + (" from measured" if row[0].basis == "computed" else "")
        note = basis if len(made) > 1 else f"{basis}: {row[0].note}"
        table.add_row(row[0].name, *map(cell, row), plain(note))
    return table


def title(made: Scale) -> str:
    """A size in words."""
    return f"{made.users:,} × {made.messages:,}"


def cell(figure: Figure) -> str:
    """A value with its unit; ~ before one that lies beyond what was measured."""
    value = figure.value
    if figure.unit in _SCALES:
        steps = _SCALES[figure.unit]
        step, unit = next((one for one in steps if value >= one[0]), steps[-1])
    else:
        step, unit = next((one for one in _COUNTS if value >= one[0]), _COUNTS[-1])
    scaled = value / step
    whole = figure.unit not in _SCALES and step == 1
    digits = 0 if whole or scaled >= 100 else 1 if scaled >= 10 else 2
    return f"{'~ ' if figure.beyond else ''}{scaled:,.{digits}f} {unit}".rstrip()


def _say_sources(rates: Rates) -> None:
    say("~ lies beyond what was measured. A processor's time is of all cores together; an ingest divides it.")
    for what, source in (("rates", rates.source), ("writers", rates.writers.source)):
        say(f"{what}: {plain(_source(source))}")


def _source(source: Source) -> str:
    return f"{source.command}, {source.date}, commit {source.commit}, {source.machine}"


def _say_advice(made: Scale, *, but: Sequence[str]) -> None:
    say(f"\n[bold]{title(made)}[/]")
    store, *more = made.advice
    for line in (store, *(f"  because {reason}" for reason in made.reasons), *more):
        say(plain(line))
    for warning in made.warnings:
        if warning not in but:
            say(f"[yellow]beyond what was measured[/]: {plain(warning)}")
