"""Nodes of a tree or graph that a system makes of passages: a passage itself, or a text written about several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from torch import Tensor

from eval.harness.contract import Passage
from eval.systems.language import units_of
from nscma_torch.core.records import Message, Unit, UnitKind


@dataclass(frozen=True, slots=True)
class TextNode:
    """One text.

    Attributes:
        text: as it is embedded and summarised.
        leaves: rows of the passages that it is made of, ascending; one for a passage itself.
        written: whether a system wrote it.
    """

    text: str
    leaves: tuple[int, ...]
    written: bool = False


def leaves_below(nodes: Sequence[TextNode]) -> tuple[int, ...]:
    """Rows of all passages below some nodes, each once."""
    return tuple(sorted({row for node in nodes for row in node.leaves}))


def rows_by(passages: Sequence[Passage], now: datetime) -> set[int]:
    """Rows of the passages that were said by now; what has no time was."""
    times = [passage.message.timestamp for passage in passages]
    return {row for row, time in enumerate(times) if time is None or time <= now}


def said_by(nodes: Sequence[TextNode], passages: Sequence[Passage], now: datetime) -> list[int]:
    """Places of the nodes of which everything was said by now."""
    known = rows_by(passages, now)
    return [place for place, node in enumerate(nodes) if known.issuperset(node.leaves)]


def as_unit(node: TextNode, passages: Sequence[Passage], kind: UnitKind) -> Unit:
    """A node as the tasks of the product read it: a passage, or a text of that kind on the day of its newest passage.

    What rests on one speaker alone has his or her name.
    """
    newest = units_of(passages[node.leaves[-1] :][:1])[0]
    if not node.written:
        return newest
    names = {passages[row].message.name for row in node.leaves}
    name = names.pop() if len(names) == 1 else None
    return replace(newest, kind=kind, text=node.text, role="memory", name=name, end=len(node.text))


def as_passage(node: TextNode, passages: Sequence[Passage]) -> Passage:
    """What a reader reads of a node: the passage, or its text as a document of the day of its newest passage."""
    if not node.written:
        return passages[node.leaves[0]]
    newest = passages[node.leaves[-1]]
    message = Message("document", node.text, newest.message.timestamp)
    return replace(newest, message=message, text=node.text, start=0)


def ranked_leaves(
    nodes: Sequence[TextNode],  # best first
    similarity: Tensor,  # [n] of the passages with the question
) -> list[int]:
    """Rows that a ranking of nodes stands for: of each node the passage below it that is nearest to the question.

    One that a better node stands for already is passed over, so that ten nodes have no more places than ten passages.
    """
    order = similarity.tolist()
    found: dict[int, None] = {}
    for node in nodes:
        left = [row for row in node.leaves if row not in found]
        if left:
            found[max(left, key=lambda row: (order[row], -row))] = None
    return list(found)
