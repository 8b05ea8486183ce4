"""The status commands: log, stats."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.ids import short_id
from nscma_torch.cli.output import console, hint_at_others, one_line, opened, plain, print_json, say, verdict
from nscma_torch.text.calendar.timestamps import format_time

if TYPE_CHECKING:
    from nscma_torch.core.records import Stats, WorkerHealth


@o.app.command()
def log(
    *,
    deferred: Annotated[bool, typer.Option("--deferred", help="Show only messages that the gate deferred.")] = False,
    written: Annotated[bool, typer.Option("--written", help="Show only messages that the gate wrote.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Maximum results, oldest first.")] = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """List messages with the gate's decision and its reason."""
    if deferred and written:
        raise typer.BadParameter("give one of --deferred and --written, not both")
    wanted = True if deferred else False if written else None
    with opened(store, config) as memory:
        episodes = memory.log(user_id=user, agent_id=agent, run_id=run, deferred=wanted, limit=limit)
        if not episodes:
            hint_at_others(memory, user)
    if json:
        print_json(episodes)
        return
    for episode in episodes:
        decision = episode.decision
        measured = "" if decision is None else f"score {decision.score:.2f} against {decision.threshold:.2f}"
        gone = f"  [red]{episode.status}[/]" if episode.status != "active" else ""
        who = plain(episode.name or episode.role)
        when = format_time(episode.occurred_at)
        say(f"{verdict(decision)}  {when}  [bold]{who}[/]  [dim]{measured}  {short_id(episode.id)}[/]{gone}")
        say(f"       {plain(one_line(episode.text))}")
        if decision is not None:
            say(f"       [dim]{plain(decision.reason)}[/]")
    if not episodes:
        say("nothing here")


def _told(counts: Stats) -> str:
    """Format the health of the background workers, one line each."""
    if not counts.workers:
        return "none is running"
    return "\n".join(_health(worker, counts.jobs_queued) for worker in counts.workers)


def _health(worker: WorkerHealth, queued: int) -> str:
    host, process, _ = worker.owner.split()
    silent = (datetime.now(UTC) - worker.heartbeat).total_seconds()
    ended = "" if worker.alive else "ended unexpectedly: "
    slept = "" if worker.slept_at is None else f", slept {format_time(worker.slept_at)}"
    return (
        f"{ended}process {process} on {host}, last heartbeat {silent:.0f} s ago, {worker.state}, "
        f"{queued} jobs queued{slept}"
    )


@o.app.command()
def stats(
    user: Annotated[str | None, typer.Option("--user", help="Only this user; default: the whole store.")] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show the number of stored items, and of queued and failed jobs."""
    with opened(store, config) as memory:
        counts, digest = memory.stats(user_id=user), memory.digest(user_id=user)
    if json:
        print_json({**{name: getattr(counts, name) for name in counts.__slots__}, "digest": digest})
        return
    from rich.table import Column, Table

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
        "workers": _told(counts),
        "size": f"{counts.file_bytes / 1e6:.1f} MB",
        "digest": digest,
    }
    for name, value in rows.items():
        table.add_row(f"[bold]{name}[/]", plain(str(value)))
    for at, error in {(worker.error_at, worker.error) for worker in counts.workers}:
        if at is not None:
            table.add_row("[red]last error[/]", plain(f"{format_time(at)}  {error}"))
    for failure in counts.failures:
        table.add_row("[red]failure[/]", plain(failure))
    console.print(table)
