"""Commands that show the state of the memory: log, stats, doctor."""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.table import Column, Table

from nscma_torch.cli import options as o
from nscma_torch.cli.output import console, one_line, opened, plain, print_json, say, verdict
from nscma_torch.memory import Memory
from nscma_torch.text.timestamps import format_time

_PACKAGES = ("torch", "torch-geometric", "transformers", "sentence-transformers", "faiss-cpu", "vllm", "bitsandbytes")


@o.app.command()
def log(
    *,
    deferred: Annotated[bool, typer.Option("--deferred", help="Only what the gate put off.")] = False,
    written: Annotated[bool, typer.Option("--written", help="Only what the gate let through.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most so many, oldest first.")] = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show every message with the gate's decision and its reason."""
    if deferred and written:
        raise typer.BadParameter("give one of --deferred and --written, not both")
    wanted = True if deferred else False if written else None
    with opened(store, config) as memory:
        episodes = memory.log(user_id=user, agent_id=agent, run_id=run, deferred=wanted, limit=limit)
    if json:
        print_json(episodes)
        return
    for episode in episodes:
        decision = episode.decision
        measured = "" if decision is None else f"score {decision.score:.2f} against {decision.threshold:.2f}"
        gone = f"  [red]{episode.status}[/]" if episode.status != "active" else ""
        who = plain(episode.name or episode.role)
        when = format_time(episode.occurred_at)
        say(f"{verdict(decision)}  {when}  [bold]{who}[/]  [dim]{measured}  {episode.id}[/]{gone}")
        say(f"       {plain(one_line(episode.text))}")
        if decision is not None:
            say(f"       [dim]{plain(decision.reason)}[/]")
    if not episodes:
        say("nothing here")


@o.app.command()
def stats(
    user: Annotated[str | None, typer.Option("--user", help="Of one user; without it, of the whole store.")] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Count what is stored, queued and failed."""
    with opened(store, config) as memory:
        counts = memory.stats(user_id=user)
        digest = memory.digest(user_id=user)
    if json:
        print_json({**{name: getattr(counts, name) for name in counts.__slots__}, "digest": digest})
        return
    table = Table("", Column(overflow="fold"), show_header=False, box=None)
    decided = f"{counts.written} written, {counts.deferred} deferred, {counts.deleted} deleted"
    rows = {
        "users": counts.users,
        "streams": counts.streams,
        "messages": f"{counts.messages} ({decided})",
        "units": ", ".join(f"{n} {kind}" for kind, n in counts.units.items()) or "none",
        "jobs": f"{counts.jobs_queued} queued, {counts.jobs_failed} failed",
        "recalls to count": counts.recalls_queued,
        "embedder": counts.embedder or "none yet",
        "language": counts.language,
        "size": f"{counts.file_bytes / 1e6:.1f} MB",
        "digest": digest,
    }
    for name, value in rows.items():
        table.add_row(f"[bold]{name}[/]", plain(str(value)))
    for failure in counts.failures:
        table.add_row("[red]failure[/]", plain(failure))
    console.print(table)


@o.app.command()
def doctor(store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False) -> None:
    """Check the installation and, where there is one, the store; exits with 1 where something is wrong."""
    report: dict[str, object] = {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "cuda": torch.cuda.is_available(),
        "threads": torch.get_num_threads(),
    }
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = store if store.exists() else Path(folder) / "doctor.db"
        with Memory(path, config=config) as memory:
            wrong = memory.verify()
            report["store"] = str(store) if store.exists() else f"none at {store}"
            report["device"] = str(memory.parts.device)
            report["embedder"] = memory.parts.new_embedder.fingerprint
            bound = memory.stats().embedder
            if bound not in (None, report["embedder"]):
                wrong.append(f"the store holds vectors of {bound}; use that embedder, or run `nscma reembed`")
            report["language"] = memory.parts.process.language
            report["proxy"] = memory.parts.proxy.fingerprint
    report["problems"] = wrong
    if json:
        print_json(report)
    else:
        for name, value in report.items():
            say(f"[bold]{name}[/]: {plain(str(value))}")
        say(
            "[green]all is well[/]"
            if not wrong
            else "[red]a damaged store is restored from a copy, or exported and imported anew[/]"
        )
    if wrong:
        raise typer.Exit(1)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
