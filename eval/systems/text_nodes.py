"""Nodes of a tree or graph that a system makes of passages: a passage itself, or a text written about several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from eval.harness.contract import Passage
from nscma_torch.records import Message


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
