"""The `derived` command, which shows derived texts."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.ids import short_id
from nscma_torch.cli.output import hint_at_others, opened, plain, print_json, say
from nscma_torch.core.records import DerivedKind
from nscma_torch.text.calendar.timestamps import format_day

_KINDS = ", ".join(get_args(DerivedKind))


@o.app.command()
def derived(
    kind: Annotated[str, typer.Argument(help=f"One of: {_KINDS}.")] = "insight",
    *,
    sources: Annotated[bool, typer.Option("--sources", help="Show the ids of each text's sources.")] = False,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show texts that sleep derived from messages and other derived texts, with their dates and sources."""
    chosen = next((one for one in get_args(DerivedKind) if one == kind), None)
    if chosen is None:
        raise typer.BadParameter(f"{kind!r} is not one of: {_KINDS}", param_hint="KIND")
    with opened(store, config) as memory:
        found = memory.derived(chosen, user_id=user, agent_id=agent)
        if not found:
            hint_at_others(memory, user)
    if json:
        print_json(found)
        return
    for one in found:
        days = " to ".join(dict.fromkeys(format_day(at.date()) for at in (one.since, one.until)))
        count = f"{len(one.episode_ids)} message{'s' * (len(one.episode_ids) > 1)}"
        say(f"{plain(one.text)}  [dim]{days}, confidence {one.confidence:.2f}, {count}[/]")
        if sources:
            say(f"  [dim]{' '.join(map(short_id, one.episode_ids))}[/]")
            if one.derived_ids:
                say(f"  [dim]derived {' '.join(one.derived_ids)}[/]")
    if not found:
        say(f"no texts of kind {kind}; if it is enabled in the configuration, `nscma sleep` derives them")
