"""The structures and strategies of structural memory, answered by the run's reader from what is retrieved.

Zeng et al. 2024, "On the Structural Memory of LLM Agents": chunks, knowledge triples, atomic facts, summaries or all
four (mixed), retrieved in a single step, reranked or iteratively, and read as they are (memory-only) or as the messages
behind them (memory-doc). The sensitivity options have the paper's letters. A strategy of `nscma_torch.search` ranks;
`iterative` there weighs all rounds, unless `retrieval.iterative.ranked_by` is the paper's "last-question".

Evidence is the ranking of places, what was read before what a single-step search of the structure finds beside it; how
a fact or a summary has places says `eval.metrics.evidence_places`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Cost, Reply, Shared
from eval.systems.costs import Meter, together
from eval.systems.documents import RANKED
from eval.systems.memories import USER, MemoryOptions, MemorySystem, Remembered, setup_of
from eval.systems.options import options_of
from nscma_torch.core.config import Section, override
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Hit, Message, Scope, UnitKind
from nscma_torch.search.context import RetrievalContext
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.search.strategies import STRATEGIES
from nscma_torch.text.files.documents import BLOCK_CHARS

Structure = Literal["chunk", "triple", "atomic_fact", "summary", "mixed"]
KINDS: Mapping[Structure, tuple[UnitKind, ...]] = MappingProxyType(
    {
        "chunk": ("chunk",),
        "triple": ("triple",),
        "atomic_fact": ("atomic_fact",),
        "summary": ("summary",),
        "mixed": ("chunk", "triple", "atomic_fact", "summary"),
    }
)


class StructureOptions(Section):
    """Options of kind structures."""

    structure: Structure = Field("chunk", description="What is retrieved.")
    strategy: Literal["single-step", "rerank", "iterative"] = Field("single-step", description="How.")
    answering: Literal["memory-only", "memory-doc"] = Field(
        "memory-only", description="Whether the reader gets what was retrieved, or the messages behind it."
    )
    k: int = Field(10, gt=0, description="K: memories that a search brings; what reranking looks at.")
    r: int = Field(5, gt=0, description="R: memories that are left after reranking.")
    t: int = Field(5, gt=0, description="T: memories of a round that the next question is made of.")
    n: int = Field(3, gt=0, description="N: most rounds of iterative retrieval.")
    summaries: Literal["clusters", "documents"] = Field(
        "clusters", description="What a summary is of: a cluster of the hierarchy, or one message, as in the paper."
    )
    section_chars: int = Field(BLOCK_CHARS, ge=0, description="As of kind nscma.")
    config: dict[str, Any] = Field({}, description="As of kind nscma.")


class StructureSession:
    """A memory without gate, asked for one structure by one strategy."""

    def __init__(self, own: Remembered, options: StructureOptions, shared: Shared) -> None:
        self._own = own
        self._options = options
        self._shared = shared

    def read(self, messages: Sequence[Message]) -> Cost:
        """Store the messages and make the structures of them."""
        return self._own.read(messages)

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        """Retrieve and have it read."""
        meter = Meter(self._own.engine)
        with meter.stage("retrieve"):
            hits = self._retrieved(question, now)
        reply = self._shared.reader.answer(question, self._own.passages(hits), options=options, now=now)
        cost = together(meter.cost(), reply.cost)
        kinds = KINDS[self._options.structure]
        ranked = self._own.ranked(question, hits, self._shared.embedder)
        further = self._own.searched(question, now, self._shared, RANKED, kinds=kinds, strategy="single-step")
        return replace(reply, evidence=tuple(dict.fromkeys((*ranked, *further))), cost=cost)

    def _retrieved(self, question: str, now: datetime) -> list[Hit]:
        wanted, parts = self._options, self._own.memory.components
        skew = timedelta(seconds=parts.config.limits.max_clock_skew)
        bounds = Bounds(Scope(USER), now, skew, KINDS[wanted.structure])
        graphs, tasks = (lambda: parts.fact_graphs), (lambda: parts.tasks)
        settings = override(
            parts.config.retrieval,
            {
                "rerank": {"looked_at": wanted.k, "kept": wanted.r},
                "iterative": {"refinements": wanted.n, "refined_from": wanted.t},
            },
        )
        context = RetrievalContext(parts.searcher, parts.database, graphs, tasks, bounds, settings=settings)
        hits = list(context.hits(STRATEGIES[wanted.strategy](context, question, wanted.k).scores).values())
        return parts.retriever.behind(question, hits, bounds) if wanted.answering == "memory-doc" else hits

    def store_bytes(self) -> int:
        """Of the database's files."""
        return self._own.store_bytes()


def make_structures(section: Mapping[str, Any], shared: Shared) -> MemorySystem:
    """Kind structures; only what the structure is made of is extracted and summarised."""
    options = options_of(StructureOptions(), section)
    extracted = options.structure in ("triple", "atomic_fact", "mixed")
    summarised = options.structure in ("summary", "mixed")
    memory = MemoryOptions(config=options.config, graph=extracted, section_chars=options.section_chars)
    of_clusters = options.summaries == "clusters"
    units = ["triple", "atomic_fact"] if extracted else []  # both, so that structures can share a store
    units += ["summary"] if summarised and not of_clusters else []
    hierarchy = {"enabled": summarised and of_clusters}
    below = {"gate": {"rule": "everything"}, "hierarchy": hierarchy, "facts": {"units": units}}
    setup = setup_of(memory, shared, below)
    if lacking := {"triple", "atomic_fact"}.intersection(KINDS[options.structure]) - {*setup.config.facts.units}:
        raise ConfigError(f"structure {options.structure!r} needs {min(lacking)!r}: add it to facts.units")
    return MemorySystem(section["name"], options, setup, shared, lambda own: StructureSession(own, options, shared))
