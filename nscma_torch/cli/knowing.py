"""Commands for what the memory knows: facts, conflicts, undo, merge, sleep, profile, skills."""

from __future__ import annotations

from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import opened, plain, print_json, say
from nscma_torch.records import CuratorDecision, Fact
from nscma_torch.text.timestamps import format_day, parse_timestamp

_MARKS = {"active": "[green]●[/]", "archived": "[dim]○[/]", "disputed": "[yellow]◐[/]"}


@o.app.command()
def facts(
    subject: Annotated[str | None, typer.Argument(help='Whom or what they are about; "user" is you.')] = None,
    *,
    relation: Annotated[str | None, typer.Option("--relation", "-r", help="Only this relation.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="Those that held then.")] = None,
    known_at: Annotated[str | None, typer.Option("--known-at", metavar="TIME", help="As believed then.")] = None,
    archived: Annotated[bool, typer.Option("--all", help="Also those that hold no longer.")] = False,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show what is known: ● holds, ◐ is disputed, ○ held once."""
    with opened(store, config) as memory:
        found = memory.facts(
            user_id=user,
            agent_id=agent,
            subject=subject,
            relation=relation,
            as_of=None if as_of is None else parse_timestamp(as_of),
            known_at=None if known_at is None else parse_timestamp(known_at),
            archived=archived,
        )
    if json:
        print_json(found)
        return
    for fact in found:
        _show(fact)
    if not found:
        say("no facts here; `nscma add` reads them out of what is said, `nscma facts --all` shows old ones too")


def _show(fact: Fact) -> None:
    topic = f" ({plain(fact.topic)})" if fact.topic else ""
    reason = f"  [dim]{plain(fact.reason)}[/]" if fact.reason and fact.status != "active" else ""
    times = f"×{fact.strength}" if fact.strength > 1 else ""
    said = f"[bold]{plain(fact.subject)}[/] {fact.relation}{topic} [bold]{plain(fact.object)}[/]"
    say(f"{_MARKS[fact.status]} {said}  [dim]{_span(fact)} {times}[/]{reason}")


def _span(fact: Fact) -> str:
    begun = "" if fact.valid_from is None else format_day(fact.valid_from.date())
    if fact.valid_to is None:
        return f"since {begun}" if begun else ""
    return f"{begun or '…'} to {format_day(fact.valid_to.date())}"


@o.app.command()
def conflicts(
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many decisions.")] = 20,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show contradictions that nothing has settled, then the curator's latest decisions with their ids."""
    with opened(store, config) as memory:
        disputed = memory.conflicts(user_id=user, agent_id=agent)
        made = memory.decisions(user_id=user, agent_id=agent, limit=limit)
    if json:
        print_json({"disputed": disputed, "decisions": made})
        return
    for sides in disputed:
        for fact in sides:
            _show(fact)
        say("")
    if not disputed:
        say("nothing is disputed")
    for decision in made:
        say(_decided(decision))


def _decided(decision: CuratorDecision) -> str:
    about = " ".join(filter(None, (decision.subject, decision.relation, decision.topic, decision.object)))
    undone = " [red]undone[/]" if decision.undone else ""
    day = format_day(decision.at.date())
    return f"{decision.action:8} {plain(about)}  [dim]{plain(decision.reason)}  {day}  {decision.id}[/]{undone}"


@o.app.command()
def undo(
    decision_id: Annotated[str, typer.Argument(help="Id of a decision, from `nscma conflicts`.", metavar="ID")],
    *,
    user: o.User = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Take a decision of the curator back."""
    with opened(store, config) as memory:
        decision = memory.undo(decision_id, user_id=user)
    if json:
        print_json(decision)
        return
    say(_decided(decision))


@o.app.command()
def merge(
    proposal_id: Annotated[str, typer.Argument(help="Id of a PROPOSE decision, from `nscma conflicts`.", metavar="ID")],
    *,
    user: o.User = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Follow a proposal that two names mean one; `nscma undo` parts them again."""
    with opened(store, config) as memory:
        decision = memory.merge(proposal_id, user_id=user)
    if json:
        print_json(decision)
        return
    say(_decided(decision))
