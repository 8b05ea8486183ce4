"""The `records` command, which lists structured records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.ids import short_id
from nscma_torch.cli.output import at, hint_at_others, one_line, opened, plain, print_json, say
from nscma_torch.text.calendar.timestamps import format_time

if TYPE_CHECKING:
    from nscma_torch.core.records import MemoryRecord


@o.app.command()
def records(
    *,
    record: o.Record = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Maximum results, oldest first.")] = None,
    now: o.Now = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """List messages' structured records that match `--record`."""
    wanted = o.record_filter(record)
    with opened(store, config) as memory:
        found = memory.records(user_id=user, agent_id=agent, run_id=run, record=wanted, limit=limit, now=at(now))
        texts = {}
        for one in () if json else found:
            episode = memory.get(one.episode_id, user_id=user, now=at(now))
            texts[one.episode_id] = "" if episode is None else f"{episode.name or episode.role}: {episode.text}"
        if not found:
            hint_at_others(memory, user)
    if json:
        print_json(found)
        return
    for one in found:
        say(f"{format_time(one.occurred_at)}  {record_line(one)}  [dim]{short_id(one.episode_id)}[/]")
        say(f"  {plain(one_line(texts[one.episode_id]))}")
    if not found:
        say("no matching records; set records.enabled, and run `nscma reextract` for earlier messages")


def record_line(record: MemoryRecord) -> str:
    """Format a record on one line."""
    parts = [f"[bold]{record.type}[/]"]
    parts += [] if record.resolution == "none" else [record.resolution]
    parts += [f"importance {record.importance:.2f}", *([] if record.sentiment is None else [record.sentiment])]
    about = f"; about {plain(', '.join(record.entities))}" if record.entities else ""
    by = f"; resolved by {' '.join(map(short_id, record.resolved_by))}" if record.resolved_by else ""
    return ", ".join(parts) + about + by
