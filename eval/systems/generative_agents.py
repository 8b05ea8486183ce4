"""The memory of Generative Agents (Park et al. 2023, "Generative Agents: Interactive Simulacra of Human Behavior").

Everything that is said goes into a memory stream with its importance, rated from 1 to 10. A memory is retrieved by
recency + importance + relevance: 0.995 to the power of the hours since its last retrieval, the rating, and the cosine
with the question, each brought to [0, 1] over all memories (section 4.1, "Memory and Retrieval"). When the importance
of the latest messages sums up to more than 150, the 100 most recent memories are asked for 3 questions; of what is
retrieved for each, 5 insights are written that cite it, and go into the stream as memories, with a rating of their own,
to be retrieved and reflected on (section 4.2, "Reflection").

Ours beside the paper: an agent watches a town, this one reads a conversation, and plans nothing. 30 memories are
retrieved, as in the authors' code (`new_retrieve`, reverie/backend_server/persona/cognitive_modules/retrieve.py of
joonspk-research/generative_agents); a part that all memories have alike counts 0.5 there and here. A question of the
benchmark does not count as a retrieval, for it must not change a later answer; what has no time never ages. Without an
engine ratings are by cues, questions name topics, and an insight counts how often one came up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, embed_beginnings, said
from eval.systems.language import Language
from eval.systems.options import options_of
from eval.systems.text_nodes import TextNode, as_passage, as_unit, leaves_below, ranked_leaves, said_by
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.episodic.index.scaled_search import scaled


class GenerativeAgentsOptions(Section):
    """Options of kind generative-agents."""

    top_k: int = Field(30, gt=0, description="Memories that are read, or that a question of a reflection retrieves.")
    decay: float = Field(0.995, gt=0, le=1, description="What recency is multiplied with for each hour.")
    threshold: float = Field(150.0, gt=0, description="Sum of importance after which there is a reflection.")
    recent: int = Field(100, gt=0, description="Newest memories that the questions of a reflection are of.")
    questions: int = Field(3, gt=0, description="Questions of a reflection.")
    insights: int = Field(5, gt=0, description="Most insights for each of them.")


@dataclass(slots=True)
class Memory:
    """One record of the stream.

    Attributes:
        importance: from 1 to 10.
        accessed: when it was last retrieved, or made; None where nobody knows.
    """

    node: TextNode
    importance: int
    accessed: datetime | None


class MemoryStream:
    """The stream: passages and what was concluded from them, in the order they came.

    Attributes:
        memories: in that order.
    """

    def __init__(self, language: Language, embedder: Embedder, options: GenerativeAgentsOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._said = torch.empty(0, 0)  # vectors of the passages alone
        self.memories: list[Memory] = []
        self._vectors: list[Tensor] = []

    def keep(self, passages: Sequence[Passage]) -> None:
        """Take in the passages one by one, reflecting on the way."""
        self._passages = passages
        if not passages:
            return
        nodes = [TextNode(said(passage), (row,)) for row, passage in enumerate(passages)]
        ratings = self._rated(nodes)
        self._said = self._embedder.embed([node.text for node in nodes]).cpu()
        total = 0.0
        for passage, node, rating, vector in zip(passages, nodes, ratings, self._said, strict=True):
            self.memories.append(Memory(node, rating, passage.message.timestamp))
            self._vectors.append(vector)
            total += rating
            if total > self._options.threshold:
                self._reflect(passage.message.timestamp)
                total = 0.0

    def _rated(self, nodes: Sequence[TextNode]) -> list[int]:
        return self._language.tasks.rate([as_unit(node, self._passages, "reflection") for node in nodes])

    def _reflect(self, now: datetime | None) -> None:
        """Ask what the newest memories raise, and keep what is concluded."""
        recent = [memory.node for memory in self.memories[-self._options.recent :]]
        units = [as_unit(node, self._passages, "reflection") for node in recent]
        (questions,) = self._language.tasks.questions([units], self._options.questions)
        asked = []
        for question in questions:
            found = [self.memories[place] for place in self._retrieved(question, now)]
            for memory in found:
                memory.accessed = memory.accessed and now
            asked.append((question, [memory.node for memory in found]))
        put = [(question, [as_unit(node, self._passages, "reflection") for node in nodes]) for question, nodes in asked]
        lines = self._language.tasks.reflections(put, self._options.insights) if put else []
        new: dict[str, TextNode] = {}
        for (_, nodes), own in zip(asked, lines, strict=True):
            for line in own[: self._options.insights]:
                leaves = leaves_below([nodes[source] for source in line.sources])
                new.setdefault(line.text, TextNode(line.text, leaves, written=True))
        if new:
            vectors = embed_beginnings(self._embedder, list(new))
            for node, rating, vector in zip(new.values(), self._rated(list(new.values())), vectors, strict=True):
                self.memories.append(Memory(node, rating, now))
                self._vectors.append(vector)

    def _retrieved(self, question: str, now: datetime | None) -> list[int]:
        """Places of the best `top_k` of all memories."""
        scores = self.scores(question, now, range(len(self.memories)))
        order: list[int] = scores.argsort(descending=True, stable=True).tolist()
        return order[: self._options.top_k]

    def scores(self, question: str, now: datetime | None, places: Sequence[int]) -> Tensor:
        """Recency, importance and relevance of the memories at these places [m], each in [0, 1], together."""
        memories = [self.memories[place] for place in places]
        hours = torch.tensor([_hours(memory.accessed, now) for memory in memories], dtype=torch.float64)
        importance = torch.tensor([memory.importance for memory in memories], dtype=torch.float64)
        vectors = torch.stack([self._vectors[place] for place in places])
        relevance = (vectors @ self._embedder.embed_query(question).cpu()).double()
        return scaled(self._options.decay**hours) + scaled(importance) + scaled(relevance)

    def find(self, question: str, now: datetime) -> Found:
        """The best `top_k` memories of what was said by now."""
        known = said_by([memory.node for memory in self.memories], self._passages, now)
        if not known:
            return Found((), ())
        order = self.scores(question, now, known).argsort(descending=True, stable=True).tolist()
        nodes = [self.memories[known[place]].node for place in order]
        leaves = ranked_leaves(nodes, self._said @ self._embedder.embed_query(question).cpu())[:RANKED]
        read = [as_passage(node, self._passages) for node in nodes[: self._options.top_k]]
        return Found(read, [self._passages[row] for row in leaves])

    def store_bytes(self) -> int:
        """Of texts and vectors."""
        written = sum(len(memory.node.text.encode()) for memory in self.memories if memory.node.written)
        return text_bytes(self._passages) + written + sum(vector.nbytes for vector in self._vectors)


def _hours(since: datetime | None, now: datetime | None) -> float:
    return max(0.0, (now - since).total_seconds() / 3600) if since is not None and now is not None else 0.0


def make_generative_agents(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind generative-agents."""
    options = options_of(GenerativeAgentsOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(MemoryStream(Language(shared, engine), shared.embedder, options)),
    )
