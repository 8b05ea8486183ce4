"""Checks for `nscma doctor`: installation, server and store, or whether a configuration fits on a GPU."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from nscma_torch.api.components import Components
from nscma_torch.api.memory import Memory
from nscma_torch.cli.output import console, plain, print_json, say
from nscma_torch.core.config import load_config
from nscma_torch.core.database import store_path
from nscma_torch.core.errors import ConfigError, EngineError, MissingDependencyError, ModelError
from nscma_torch.doctor.endpoint import endpoint
from nscma_torch.doctor.engine_check import engine_problems
from nscma_torch.doctor.installed import Installed, installed
from nscma_torch.doctor.plan import CARDS, GIB, MemoryPlan, card_bytes, plan
from nscma_torch.doctor.scale import UNITS_PER_MESSAGE, estimates
from nscma_torch.llm.message_tokens import MessageTokenizer

_UNUSABLE = (ModelError, ConfigError, MissingDependencyError)  # errors of a model that can't be loaded


def examine(store: str, config: Path | None, *, json: bool) -> bool:
    """Report what is installed and any problems, including problems in the store if it exists; return True if there are
    none.
    """
    found = installed()
    report: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        there = store_path.exists(store)
        path = store if there else str(Path(folder) / "doctor.db")
        with Memory(path, config=config) as memory:
            damage = memory.verify()
            llm = memory.config.llm
            stats = memory.stats()
            lacking = engine_problems(memory.config, found, units=sum(stats.units.values()))
            wrong = [*damage, *lacking]
            report["store"] = store_path.name_of(store) if there else f"none at {store_path.name_of(store)}"
            wrong += memory.components.database.exposures()
            report["device"] = str(memory.components.device)
            bound = stats.embedder
            try:
                report["embedder"] = memory.components.new_embedder.fingerprint
                if bound not in (None, report["embedder"]):
                    wrong.append(f"the store contains vectors from {bound}; use that embedder, or run `nscma reembed`")
            except _UNUSABLE as error:
                report["embedder"] = f"{memory.config.embedder.model} cannot be used"
                wrong.append(str(error))
            report["language"] = stats.language
            if llm.engine == "http" and not lacking:
                try:
                    report["endpoint"] = endpoint(llm)
                except (EngineError, ConfigError) as error:
                    report["endpoint"] = f"{llm.base_url} cannot be used"
                    wrong.append(str(error))
            try:
                report["surprise"] = _surprise_model(memory.components)
            except _UNUSABLE as error:
                report["surprise"] = f"{memory.config.surprise.model} cannot be used"
                wrong.append(str(error))
    report["problems"] = wrong
    if json:
        print_json({**asdict(found), **report})
    else:
        _say_installed(found)
        for name, value in report.items():
            if name != "problems":
                say(f"[bold]{name}[/]: {plain(str(value))}")
        for problem in wrong:
            say(f"[red]problem[/]: {plain(problem)}")
        if damage:
            say("[red]if the store is damaged, restore a copy, or export it and import it again[/]")
        if not wrong:
            say("[green]no problems found[/]")
    return not wrong


def show_plan(config: Path | None, *, messages: int, cards: Sequence[int] | None, json: bool) -> None:
    """Print the resources needed for a number of messages, and whether the configuration fits on GPUs with `cards` GB
    of memory.
    """
    made = plan(load_config(config), units=math.ceil(UNITS_PER_MESSAGE * messages))
    sizes = cards or CARDS
    if json:
        fits = [made.fit(card_bytes(size)) for size in sizes]
        found = {"devices": installed().devices, "plan": made, "fits": fits, "estimates": estimates(messages)}
        print_json({"messages": messages, **found})
        return
    console.print(_parts(made))
    for note in made.notes:
        say(f"note: {plain(note)}")
    for nominal in sizes:
        fit = made.fit(card_bytes(nominal))
        size = f"{nominal} GB card ({fit.card / GIB:.1f} GiB)"
        room = f", with room for {fit.cached:,} tokens of keys and values" if made.cache_per_token else ""
        if fit.problems:
            say(f"[red]{size}: does not fit[/]: {plain('; '.join(fit.problems))}")
        else:
            say(f"[green]{size}: fits[/]{room}")
    table = Table(f"{messages:,} messages", "", title="Estimates for the default configuration without a GPU")
    table.columns[1].justify = "right"
    for one in estimates(messages):
        table.add_row(one.name, f"{one.value / GIB:,.2f} GiB" if one.unit == "bytes" else f"{one.value / 3600:,.2f} h")
    console.print(table)


def _surprise_model(parts: Components) -> str:
    """Return the surprise model's name, without starting a model that is served by the language engine."""
    section = parts.config.surprise
    if section.engine != "llm":
        return parts.surprise_model.fingerprint
    return f"served by {parts.process.language}, read with {MessageTokenizer.load(section.model).name}"


def _say_installed(found: Installed) -> None:
    say(f"[bold]python[/]: {found.python}")
    for name, version in found.packages.items():
        say(f"[bold]{name}[/]: {version or 'not installed'}")
    for device in found.devices:
        memory = (
            "" if device.total is None else f", {(device.free or 0) / GIB:.1f} of {device.total / GIB:.1f} GiB free"
        )
        say(f"[bold]{device.kind}[/]: {plain(device.name)}{memory}, multiplies {device.native} natively")


def _parts(made: MemoryPlan) -> Table:
    table = Table("part", "GiB", "side", "")
    table.columns[1].justify = "right"
    for part in made.parts:
        table.add_row(part.name, f"{part.size / GIB:.2f}", part.side, plain(part.note))
    table.add_section()
    for side in ("engine", "memory"):
        if made.of(side):
            table.add_row(f"all of the {side}", f"{made.of(side) / GIB:.2f}", side, "")
    if made.cache_per_token:
        note = f"{made.cache_per_token / 2**10:.0f} KiB of keys and values per token, at least {made.context:,} tokens"
        table.add_row("", f"{made.context * made.cache_per_token / GIB:.2f}", "engine", note)
    return table
