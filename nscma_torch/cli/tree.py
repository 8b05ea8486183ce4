"""The `tree` command, which shows the hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.text import Text

from nscma_torch.cli import options as o
from nscma_torch.cli.messages import flush
from nscma_torch.cli.output import console, one_line, opened, plain, print_json, say

if TYPE_CHECKING:
    from rich.tree import Tree

    from nscma_torch.core.records import Node

_SHOWN = 12  # members shown of one node


@o.app.command()
def tree(
    *,
    depth: Annotated[int, typer.Option("--depth", min=1, help="Number of levels to show, from the top.")] = 2,
    width: Annotated[int, typer.Option("--width", min=20, help="Maximum characters to show of each summary.")] = 100,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild the hierarchy first, in one batch.")] = False,
    user: o.User = o.USER,
    agent: o.Agent = None,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Show the hierarchy of overlapping summaries from the top; a node can have several parents."""
    with opened(store, config) as memory:
        if rebuild:
            memory.rebuild(user_id=user, agent_id=agent)
            flush(memory)
        nodes = memory.tree(user_id=user, agent_id=agent)
    if json:
        print_json(nodes)
        return
    by_id = {node.id: node for node in nodes}
    inside = {member for node in nodes for member in node.members}
    roots = [node for node in reversed(nodes) if node.level and node.id not in inside]
    alone = sum(not node.level and node.id not in inside for node in nodes)
    levels = max((node.level for node in nodes), default=0)
    counts = ", ".join(f"{sum(node.level == level for node in nodes)}" for level in range(levels, -1, -1))
    if not levels:
        say("no hierarchy yet; `nscma add FILE` builds one, `nscma tree --rebuild` rebuilds it")
        return
    lower = sum(root.level <= levels - depth for root in roots)
    say(f"{len(nodes)} nodes; from the top, by [level]: {counts}; {alone} chunks in no summary".replace("[", r"\["))
    if lower:
        say(f"{lower} more summaries on lower levels have no parent: show them with --depth {levels}")
    for root in roots:
        if root.level > levels - depth:
            console.print(_branch(root, by_id, depth - (levels - root.level), width), no_wrap=True, soft_wrap=False)


def _branch(node: Node, by_id: dict[str, Node], depth: int, width: int) -> Tree:
    from rich.tree import Tree

    branch = Tree(_label(node, width), guide_style="dim")
    if depth > 0:
        for member in node.members[:_SHOWN]:
            branch.add(_branch(by_id[member], by_id, depth - 1, width))
        if len(node.members) > _SHOWN:
            branch.add(f"[dim]and {len(node.members) - _SHOWN} more[/]")
    return branch


def _label(node: Node, width: int) -> Text:
    text = plain(one_line(node.text, width)) if node.text else "[dim]its summary will be written by the next flush[/]"
    noun = "message" if len(node.episode_ids) == 1 else "messages"
    head = f"[bold]{escape(f'[{node.level}]')}[/] [dim]{len(node.episode_ids)} {noun}[/]"
    return Text.from_markup(f"{head if node.level else '[dim]chunk[/]'} {text}", emoji=False, overflow="ellipsis")
