"""The commands for short-term memory: sessions, and window for the last turns in a session."""

from __future__ import annotations

from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.ids import short_id
from nscma_torch.cli.output import at, hint_at_others, one_line, opened, plain, print_json, say
from nscma_torch.text.calendar.timestamps import format_time


@o.app.command()
def sessions(
    *,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Maximum results, newest first.")] = None,
    now: o.Now = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """List a user's conversations, most recently active first."""
    with opened(store, config) as memory:
        found = memory.sessions(user_id=user, agent_id=agent, run_id=run, limit=limit, now=at(now))
        if not found:
            hint_at_others(memory, user)
    if json:
        print_json(found)
        return
    for session in found:
        ids = (("agent", session.scope.agent_id), ("run", session.scope.run_id))
        whose = "".join(f"  {name} {plain(value)}" for name, value in ids if value is not None)
        times = f"{format_time(session.begun_at)} to {format_time(session.last_at)}"
        noun = "message" if session.messages == 1 else "messages"
        say(f"[bold]{plain(session.name or '(no name)')}[/]{whose}  [dim]{session.messages} {noun}, {times}[/]")
        say(f"  {plain(one_line(session.opening))}")
    if not found:
        say("no conversations yet")


@o.app.command()
def window(
    session: Annotated[str | None, typer.Argument(help="Name of the session; default: the newest.")] = None,
    *,
    turns: Annotated[
        int | None, typer.Option("--turns", "-k", min=1, help="Number of turns; default: controller.active_turns.")
    ] = None,
    now: o.Now = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show the last turns in a conversation verbatim."""
    with opened(store, config) as memory:
        found = memory.window(user_id=user, agent_id=agent, run_id=run, session=session, turns=turns, now=at(now))
        if not found:
            hint_at_others(memory, user)
    if json:
        print_json(found)
        return
    for episode in found:
        who = plain(episode.name or episode.role)
        say(f"[bold]{who}[/], {format_time(episode.occurred_at)}  [dim]{short_id(episode.id)}[/]")
        say(plain(episode.text))
    if not found:
        say("no conversations yet")
