"""Zep's communities (Rasmussen et al. 2025, section 2.3): label propagation, and extension by single entities.

A new entity goes to the community that most of its neighbours are in (ties: the larger one), whose summary and name are
written again with it, so that labels need not be propagated each time. A summary is made of the members' summaries, in
parts where they do not fit a prompt (map-reduce), and a name with the key terms of it is what is searched for.

Ours beside the paper, which says periodically: labels are propagated anew when the graph has twice as many entities as
the last time. A member alone is no community. Without an engine summaries are extracted, and a name is those of the
three members with most facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from eval.systems.language import Language
from eval.systems.temporal_graph import TemporalGraph
from nscma_kernels import label_propagation

_SUMMARIZE = (
    "Summarize what is known of these, who and which belong together: what joins them, and what matters of each."
)
_NAME = (
    "Write a heading for the text, with the names and the terms that one would search for it by. Use at most {words} "
    "words, and write nothing but the heading."
)
_WORDS = 12  # of a name
_NAMED = 3  # members that name a community, without an engine


@dataclass(slots=True)
class Community:
    """Entities that belong together."""

    members: list[int]
    name: str = ""
    summary: str = ""

    @property
    def text(self) -> str:
        """As it is searched and read."""
        return f"{self.name}: {self.summary}"


class Communities:
    """The communities of a graph.

    Args:
        words: longest summary.

    Attributes:
        found: all of them.
    """

    def __init__(self, language: Language, words: int) -> None:
        self._language = language
        self._words = words
        self._next = 2  # entities from which on labels are propagated again
        self.found: list[Community] = []

    def update(self, graph: TemporalGraph, new: Sequence[int]) -> None:
        """After an episode that brought these new entities. Raises the engine's `EngineError`."""
        if len(graph.entities) >= self._next:
            self._next = 2 * len(graph.entities)
            self.found = [Community(members) for members in propagated(graph)]
            self._write(graph, self.found, [[graph.entities[own].text for own in one.members] for one in self.found])
            return
        joined: dict[int, list[int]] = {}
        for entity in new:
            place = self.nearest(graph, entity)
            if place is not None:
                self.found[place].members.append(entity)
                joined.setdefault(place, []).append(entity)
        changed = [self.found[place] for place in joined]
        texts = [
            [self.found[place].summary, *(graph.entities[own].text for own in added)] for place, added in joined.items()
        ]
        self._write(graph, changed, texts)

    def nearest(self, graph: TemporalGraph, entity: int) -> int | None:
        """The community that most neighbours of an entity are in, None where none is in one."""
        joined = {end for row in graph.touching([entity]) for end in graph.facts[row].ends if end != entity}
        held = {place: len(joined.intersection(one.members)) for place, one in enumerate(self.found)}
        held = {place: count for place, count in held.items() if count}
        return min(held, key=lambda place: (-held[place], -len(self.found[place].members), place), default=None)

    def _write(self, graph: TemporalGraph, communities: Sequence[Community], texts: Sequence[Sequence[str]]) -> None:
        """Summaries of the texts, and names."""
        if not communities:
            return
        paragraphs = [[text.replace("\n", "\n\n") for text in own] for own in texts]  # a line is a sentence
        summaries = self._language.summaries(paragraphs, _SUMMARIZE, words=self._words)
        if self._language.engine is None:
            held = Counter(end for fact in graph.facts for end in fact.ends)
            order = [sorted(one.members, key=lambda own: (-held[own], own))[:_NAMED] for one in communities]
            names = [", ".join(graph.entities[own].name for own in best) for best in order]
        else:
            told = [{"text": text} for text in summaries]
            names = self._language.write(_NAME.format(words=_WORDS), told, words=_WORDS)
        for one, summary, name in zip(communities, summaries, names, strict=True):
            one.summary, one.name = summary, name


def propagated(graph: TemporalGraph) -> list[list[int]]:
    """The entities that share a label, two of them at least, the community of the smallest row first."""
    weights = graph.weights()
    if not weights:
        return []
    edges = torch.tensor(list(weights), dtype=torch.int64).T
    labels = label_propagation(edges, torch.tensor(list(weights.values())).float(), len(graph.entities)).tolist()
    found: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        found.setdefault(label, []).append(row)
    return [members for members in found.values() if len(members) > 1]
