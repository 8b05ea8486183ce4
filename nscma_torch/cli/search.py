"""The search commands: search, ask, get, history."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.answer_block import heading, lines_of
from nscma_torch.cli.ids import full_id
from nscma_torch.cli.messages import MemoryId
from nscma_torch.cli.output import (
    at,
    hint_at_others,
    opened,
    plain,
    print_json,
    say,
    verdict,
)
from nscma_torch.cli.records import record_line
from nscma_torch.cli.running_server import through
from nscma_torch.core.errors import NotFoundError
from nscma_torch.text.calendar.timestamps import format_time

if TYPE_CHECKING:
    from nscma_torch.core.records import Answer, Hit

AsOf = Annotated[str | None, typer.Option("--as-of", help="Read the memory as of this time, ISO 8601.", metavar="TIME")]
TopK = Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Number of hits.")]
Filter = Annotated[
    list[str] | None, typer.Option("--filter", help="Metadata that must match; repeatable.", metavar="KEY=VALUE")
]


@o.app.command()
def search(
    query: Annotated[str, typer.Argument(help="Search query.")],
    *,
    top_k: TopK = None,
    threshold: Annotated[float | None, typer.Option("--threshold", help="Lowest score.")] = None,
    filter: Filter = None,
    record: o.Record = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help="chunk, summary, a kind from facts.units, or a kind for `nscma derived`; repeatable."
        ),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", help="Strategy for continuing from the first results.")
    ] = None,
    budget: Annotated[int | None, typer.Option("--budget", help="Maximum tokens in all texts together.", min=1)] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the strategy, and each lane's score and rank.")
    ] = False,
    as_of: AsOf = None,
    now: o.Now = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    token: o.Token = None,
    no_server: o.NoServer = False,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Search messages and derived memories."""
    kinds: Any = tuple(kind) if kind else None

    def look(memory: Any) -> tuple[list[Hit], tuple[str, ...]]:
        hits = memory.search(
            query,
            user_id=user,
            agent_id=agent,
            run_id=run,
            filters=_filters(filter),
            record=o.record_filter(record),
            top_k=top_k,
            threshold=threshold,
            kinds=kinds,
            strategy=strategy,
            budget=budget,
            as_of=at(as_of),
            now=at(now),
            explain=explain,
        )
        why = ()
        if explain:
            asked_of = kinds or memory.config.retrieval.kinds
            why = memory.components.retriever.chosen(query, strategy, asked_of).reasons
        if not hits:
            hint_at_others(memory, user)
        return hits, why

    hits, why = through(look, store, config, token=token, no_server=no_server or explain)
    if json:
        print_json(hits)
        return
    for line in why:
        say(f"[dim]{plain(line)}[/]")
    for hit in hits:
        said = heading(hit, lambda hit: format_time(hit.occurred_at))
        say(f"[bold]{hit.score:.3f}[/]  {said}")
        say("       " + plain(hit.text).replace("\n", "\n       "))
        if hit.parts:
            say("       [dim]" + "  ".join(f"{key} {value:.3g}" for key, value in hit.parts.items()) + "[/]")
    if not hits:
        say("nothing found")


@o.app.command()
def ask(
    question: Annotated[str, typer.Argument(help="Question to answer from memory.")],
    *,
    top_k: TopK = None,
    filter: Filter = None,
    record: o.Record = None,
    as_of: AsOf = None,
    now: o.Now = None,
    user: o.User = o.USER,
    agent: o.Agent = None,
    run: o.Run = None,
    token: o.Token = None,
    no_server: o.NoServer = False,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Answer from memory with evidence, or say that the memory does not know."""

    def look(memory: Any) -> Answer:
        answer: Answer = memory.ask(
            question,
            user_id=user,
            agent_id=agent,
            run_id=run,
            filters=_filters(filter),
            record=o.record_filter(record),
            top_k=top_k,
            as_of=at(as_of),
            now=at(now),
        )
        if answer.abstained:
            hint_at_others(memory, user)
        return answer

    answer = through(look, store, config, token=token, no_server=no_server)
    if json:
        print_json(answer)
        return
    for line in lines_of(answer):
        say(line)


@o.app.command()
def get(
    memory_id: MemoryId, user: o.User = o.USER, store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False
) -> None:
    """Show one message with the gate's decision."""
    with opened(store, config) as memory:
        episode = memory.get(full_id(memory, memory_id, user), user_id=user)
        record = None if episode is None else memory.record(episode.id, user_id=user)
    if episode is None:
        raise NotFoundError(
            f"user {user!r} has no active memory with id {memory_id!r}; `nscma log` lists the ids, deleted ones too"
        )
    if json:
        from nscma_torch.cli.json_objects import episode_object

        print_json({**episode_object(episode), **({} if record is None else {"record": record})})
        return
    say(f"[bold]{plain(episode.name or episode.role)}[/], {format_time(episode.occurred_at)}  [dim]{episode.id}[/]")
    say(plain(episode.text))
    if record is not None:
        say(record_line(record))
    if episode.decision is not None:
        say(f"{verdict(episode.decision)}: {plain(episode.decision.reason)}")
        say("[dim]" + "  ".join(f"{k} {v:.3g}" for k, v in episode.decision.parts.items()) + "[/]")


@o.app.command()
def history(
    memory_id: MemoryId,
    user: o.User = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show a message's history since it was added."""
    with opened(store, config) as memory:
        events = memory.history(full_id(memory, memory_id, user), user_id=user)
    if json:
        print_json(events)
        return
    for event in events:
        change = plain(event.new_text or event.reason or "")
        say(f"{format_time(event.at)}  [bold]{event.event}[/]  {change}")


def _filters(pairs: list[str] | None) -> dict[str, Any]:
    """Parse values as JSON if possible (numbers, true, null); otherwise keep them as strings."""
    filters: dict[str, Any] = {}
    for key, value in o.pairs(pairs, "--filter"):
        try:
            filters[key] = jsonlib.loads(value)
        except ValueError:
            filters[key] = value
    return filters
