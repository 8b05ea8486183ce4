"""Commands for derived knowledge: facts, conflicts, undo, merge, sleep, profile, skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.ids import full_id, short_id
from nscma_torch.cli.output import at, errors, hint_at_others, opened, plain, print_json, say
from nscma_torch.cli.progress import jobs_done
from nscma_torch.core.records import DUE_AHEAD, DUE_MOST
from nscma_torch.text.calendar.timestamps import format_day

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory
    from nscma_torch.core.records import CuratorDecision, Fact
    from nscma_torch.core.skill import Skill

_MARKS = {"active": "[green]●[/]", "archived": "[dim]○[/]", "disputed": "[yellow]◐[/]"}


@o.app.command()
def facts(
    subject: Annotated[str | None, typer.Argument(help='Subject of the facts; "user" is you.')] = None,
    *,
    relation: Annotated[str | None, typer.Option("--relation", "-r", help="Only this relation.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="Facts valid at this time.")] = None,
    known_at: Annotated[
        str | None, typer.Option("--known-at", metavar="TIME", help="Facts as believed at this time.")
    ] = None,
    archived: Annotated[bool, typer.Option("--all", help="Include past facts.")] = False,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show known facts: ● current, ◐ disputed, ○ past."""
    with opened(store, config) as memory:
        found = memory.facts(
            user_id=user,
            agent_id=agent,
            subject=subject,
            relation=relation,
            as_of=at(as_of),
            known_at=at(known_at),
            archived=archived,
        )
        if not found:
            hint_at_others(memory, user)
        in_words = _open_relations(memory)
    if json:
        print_json(found)
        return
    for fact in found:
        _show(fact, in_words)
    if not found:
        more = "" if archived else "; `nscma facts --all` also shows old facts"
        say(f"no facts yet; `nscma add` extracts them from messages{more}")


def _open_relations(memory: Memory) -> frozenset[str]:
    """Return the open relations; their facts use a message's own words."""
    return frozenset(name for name, one in memory.components.relations.relations.items() if one.open)


def _show(fact: Fact, in_words: frozenset[str]) -> None:
    topic = f" ({plain(fact.topic)})" if fact.topic else ""
    told = plain(fact.topic) if fact.relation in in_words else f"{fact.relation}{topic}"
    reason = plain(fact.reason) if fact.status != "active" else ""
    times = f"said {fact.strength} times" if fact.strength > 1 else ""
    notes = ", ".join(filter(None, (_span(fact), times, reason, plain(fact.in_doubt))))
    is_note = fact.relation in in_words and not fact.topic  # a whole sentence
    about = "" if is_note else f"[bold]{plain(fact.subject)}[/] {told} "
    said = f"{about}[bold]{plain(fact.object)}[/]"
    say(f"{_MARKS[fact.status]} {said}  [dim]{notes}[/]")


def _span(fact: Fact) -> str:
    begun = "" if fact.valid_from is None else format_day(fact.valid_from.date())
    if fact.valid_to is None:
        return f"since {begun}" if begun else ""
    return f"{begun or '…'} to {format_day(fact.valid_to.date())}"


@o.app.command()
def due(
    *,
    days: Annotated[int, typer.Option("--days", "-d", min=0, max=DUE_MOST, help="How many days ahead.")] = DUE_AHEAD,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show what falls due in the next days, from what the user told."""
    with opened(store, config) as memory:
        found = memory.due(user_id=user, agent_id=agent, days=days)
    if json:
        print_json(found)
        return
    for one in found:
        say(f"{format_day(one.day)}  {plain(one.text)}  [dim]{short_id(one.memory_id)}[/]")
    if not found:
        say("nothing is due")


@o.app.command()
def conflicts(
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of decisions.")] = 20,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show unresolved contradictions, then the curator's latest decisions with their ids."""
    with opened(store, config) as memory:
        disputed = memory.conflicts(user_id=user, agent_id=agent)
        made = memory.decisions(user_id=user, agent_id=agent, limit=limit)
        in_words = _open_relations(memory)
    if json:
        print_json({"disputed": disputed, "decisions": made})
        return
    for sides in disputed:
        for fact in sides:
            _show(fact, in_words)
        say("")
    if not disputed:
        say("no disputes")
    for decision in made:
        say(_decided(decision, short_id(decision.id)))


def _decided(decision: CuratorDecision, shown_id: str) -> str:
    about = " ".join(filter(None, (decision.subject, decision.relation, decision.topic, decision.object)))
    undone = " [red]undone[/]" if decision.undone else ""
    day = format_day(decision.at.date())
    return f"{decision.action:8} {plain(about)}  [dim]{plain(decision.reason)}  {day}  {shown_id}[/]{undone}"


@o.app.command()
def undo(
    decision_id: Annotated[str, typer.Argument(help="Id of a decision, shown by `nscma conflicts`.", metavar="ID")],
    *,
    user: o.User = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Undo one of the curator's decisions."""
    with opened(store, config) as memory:
        decision = memory.undo(full_id(memory, decision_id, user, "decision"), user_id=user)
    if json:
        print_json(decision)
        return
    say(_decided(decision, decision.id))


@o.app.command()
def merge(
    proposal_id: Annotated[
        str, typer.Argument(help="Id of a PROPOSE decision, shown by `nscma conflicts`.", metavar="ID")
    ],
    *,
    user: o.User = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Merge two names as proposed by the curator; `nscma undo` separates them again."""
    with opened(store, config) as memory:
        decision = memory.merge(full_id(memory, proposal_id, user, "decision"), user_id=user)
    if json:
        print_json(decision)
        return
    say(_decided(decision, decision.id))


@o.app.command()
def sleep(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change without changing it.")] = False,
    now: o.Now = None,
    user: Annotated[str | None, typer.Option("--user", help="One user; default: all.")] = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Process deferred messages, resolve disputes, archive forgotten memories, and update summaries and the profile."""
    with opened(store, config) as memory, jobs_done("sleeping", memory) as progress:
        report = memory.sleep(user_id=user, now=at(now), dry_run=dry_run, progress=progress)
    if json:
        print_json(report)
    else:
        say("would change:" if dry_run else "changed:")
        for name in report.__slots__[3:]:
            count = getattr(report, name)
            if count:
                say(f"  {count:4} {name.replace('_', ' ')}")
        if not any(getattr(report, name) for name in report.__slots__[3:]):
            say("  nothing")
    for failure in report.failures:
        errors.print(f"[red]failed:[/] {plain(failure)}")
    if report.failures:
        raise typer.Exit(1)


@o.app.command()
def profile(
    *,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show the user's profile as written by sleep; each line shows its source facts or messages."""
    with opened(store, config) as memory:
        lines = memory.profile(user_id=user, agent_id=agent)
    if json:
        print_json(lines)
        return
    for line in lines:
        sources = " ".join(line.fact_ids) or f"confidence {line.confidence:.2f}, {len(line.episode_ids)} messages"
        say(f"{plain(line.text)}  [dim]{format_day(line.day)}  {sources}[/]")
    if not lines:
        say("no profile yet; `nscma sleep` writes it")


@o.app.command()
def skills(
    situation: Annotated[str | None, typer.Argument(help="Current task; shows the skills that match it.")] = None,
    *,
    add: Annotated[str | None, typer.Option("--add", metavar="NAME", help="Store a skill with this name.")] = None,
    trigger: Annotated[
        str | None, typer.Option("--trigger", help="With --add: the situation in which the skill helps.")
    ] = None,
    step: Annotated[list[str] | None, typer.Option("--step", help="With --add: one step; repeatable.")] = None,
    worked: Annotated[
        str | None, typer.Option("--worked", metavar="ID", help="Record a success with this skill.")
    ] = None,
    failed: Annotated[
        str | None, typer.Option("--failed", metavar="ID", help="Record a failure with this skill.")
    ] = None,
    archive: Annotated[str | None, typer.Option("--archive", metavar="ID", help="Hide this skill from search.")] = None,
    restore: Annotated[str | None, typer.Option("--restore", metavar="ID", help="Restore this skill.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Also list archived skills.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum results.")] = 5,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """List skills, find them by situation, store, archive or restore a skill, or record an outcome."""
    by_id = [typed for typed in (worked, failed, archive, restore) if typed]
    if len([given for given in (situation, add, archived, *by_id) if given]) > 1:
        raise typer.BadParameter(
            "give at most one of: a situation, --add NAME, --worked ID, --failed ID, --archive ID, --restore ID, "
            "--archived"
        )
    if add and not (trigger and step):
        raise typer.BadParameter(
            "--add NAME needs --trigger (the situation in which the skill helps) and at least one --step"
        )
    if not add and (trigger or step):
        raise typer.BadParameter("--trigger and --step need --add")
    found: list[tuple[float | None, Skill]] = []
    with opened(store, config) as memory:
        if situation:
            hits = memory.find_skills(situation, user_id=user, agent_id=agent, top_k=limit)
            found = [(hit.similarity, hit.skill) for hit in hits]
        elif add:
            made = memory.add_skill(add, trigger=trigger or "", steps=step or [], user_id=user, agent_id=agent)
            found = [(None, made)]
        elif by_id:
            skill_id = full_id(memory, by_id[0], user, "skill")
            if worked or failed:
                changed = memory.skill_outcome(skill_id, user_id=user, success=bool(worked))
            elif archive:
                changed = memory.archive_skill(skill_id, user_id=user)
            else:
                changed = memory.restore_skill(skill_id, user_id=user)
            found = [(None, changed)]
        else:
            found = [(None, skill) for skill in memory.skills(user_id=user, agent_id=agent, archived=archived)]
    if json:
        print_json([{"similarity": similarity, "skill": skill} for similarity, skill in found])
        return
    for similarity, skill in found:
        score = "" if similarity is None else f"{similarity:.2f}  "
        outcomes = f"{skill.successes} worked, {skill.failures} failed"
        if skill.status == "archived":
            outcomes += ", archived"
        say(f"{score}[bold]{plain(skill.name)}[/]  [dim]{outcomes}  {short_id(skill.id)}[/]")
        say(f"  when: {plain(skill.trigger)}")
        for number, text in enumerate(skill.steps, start=1):
            say(f"  {number}. {plain(text)}")
    if not found:
        say("no skills yet; `nscma skills --add NAME --trigger … --step …` stores one")
