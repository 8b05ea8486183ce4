"""Commands that change stored messages: update, delete, restore, erase."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.ids import full_id
from nscma_torch.cli.output import opened, plain, print_json, say, shown, warn
from nscma_torch.cli.progress import jobs_done
from nscma_torch.core.database.store_path import name_of

MemoryId = Annotated[
    str, typer.Argument(metavar="ID", help="Message id as shown by `nscma log`, or its first 8 digits.")
]


def flush(memory: Any, known: int = 0) -> None:
    """Run the background jobs and report failures on stderr.

    `memory` is a `Memory` or a `ServedMemory`; `known` is the earlier result of `dropped`.
    """
    with jobs_done("extracting", memory) as advance:
        memory.flush(progress=advance)
    stats = memory.stats()
    for failure in stats.failures:
        counts = f"{stats.jobs_failed} jobs failed and {stats.jobs_queued} wait; `nscma retry` runs them again"
        warn(f"warning: {counts}: {failure}")
    if unsaid := stats.language_work.get("ungrounded", 0) - known:
        warn(f"note: {unsaid} extractions by {stats.language} were dropped: their texts do not support them")


def dropped(memory: Any, user: str) -> int:
    """Return the number of extractions that this process has dropped because the text doesn't support them."""
    return int(memory.stats(user_id=user).language_work.get("ungrounded", 0))


@o.app.command()
def update(
    memory_id: MemoryId,
    text: Annotated[str, typer.Argument(help="The new text.")],
    user: o.User = o.USER,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Replace a message's text; the old text is kept in its history."""
    with opened(store, config) as memory:
        episode = memory.update(full_id(memory, memory_id, user), text, user_id=user)
        flush(memory)
    if json:
        print_json(episode)
    else:
        say(f"updated {episode.id}")


@o.app.command()
def delete(
    memory_id: MemoryId, user: o.User = o.USER, store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False
) -> None:
    """Hide a message from every read; `nscma restore` undoes this."""
    with opened(store, config) as memory:
        memory_id = full_id(memory, memory_id, user)
        changed = memory.delete(memory_id, user_id=user)
        flush(memory)
    _report_change(memory_id, "deleted", changed, json)


@o.app.command()
def restore(
    memory_id: MemoryId, user: o.User = o.USER, store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False
) -> None:
    """Restore a deleted message."""
    with opened(store, config) as memory:
        memory_id = full_id(memory, memory_id, user)
        changed = memory.restore(memory_id, user_id=user)
        flush(memory)
    _report_change(memory_id, "restored", changed, json)


def _report_change(memory_id: str, done: str, changed: bool, json: bool) -> None:
    if json:
        print_json({"id": memory_id, "event": done, "changed": changed})
    else:
        say(plain(f"{done} {memory_id}" if changed else f"{memory_id} was {done} already"))


@o.app.command()
def erase(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Message to erase; default: the whole user.")
    ] = None,
    *,
    skill: Annotated[str | None, typer.Option("--skill", metavar="ID", help="One skill.")] = None,
    user: o.User = o.USER,
    yes: Annotated[bool, typer.Option("--yes", help="Skip confirmation.")] = False,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Permanently erase a user, a message or a skill, and search the files for remnants. This cannot be undone."""
    if memory_id and skill:
        raise typer.BadParameter("give the id of a message or --skill ID, not both")
    with opened(store, config) as memory:
        memory_id = None if memory_id is None else full_id(memory, memory_id, user)
        skill = None if skill is None else full_id(memory, skill, user, "skill")
        what = f"skill {skill}" if skill is not None else "everything" if memory_id is None else f"message {memory_id}"
        what = f"{what} of user {user!r}"
        if not yes:
            typer.confirm(
                f"Erase {shown(what)} from {shown(name_of(store))}? This cannot be undone", abort=True, err=True
            )
        receipt = memory.erase(user_id=user, memory_id=memory_id, skill_id=skill)
        flush(memory)
    if json:
        print_json(receipt)
        return
    say(f"erased {plain(what)}: {receipt.rows.get('episodes', 0)} messages, {sum(receipt.rows.values())} rows")
    if receipt.rebuilt:
        say(f"recomputed without it: {len(receipt.rebuilt)} streams and hierarchies")
    if receipt.found is None:
        say("the tables were vacuumed; the server's write-ahead log, replicas and backups were not searched")
        return
    found = (
        "none found, except in texts that other messages share"
        if receipt.found == 0
        else f"[bold red]{receipt.found} fragments still found[/]"
    )
    say(f"searched for its bytes: {found} in {plain(', '.join(receipt.checked))}")
    if receipt.found:
        say("another process has the store open; they are removed when it closes the store")
