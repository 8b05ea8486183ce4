"""CAM alone: the hierarchy over all chunks, without gate and facts, read by the run's reader.

"CAM: A Constructivist View of Agentic Memory for LLM-Based Reading Comprehension" (2025). Its table of variants by
options: online (batches are integrated as they come) or offline (built once), without hierarchy (the foundational
network alone), without flexibility (every node belongs to one cluster), and its three retrievals, which compare the
question with nodes by their cosine alone. Active nodes reach the reader, summaries and chunks (section 4.2); that
summaries may be left out measures what they are worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Shared
from eval.systems.memories import MemorySystem
from eval.systems.nscma import NscmaOptions, nscma
from eval.systems.options import merged, options_of
from nscma_torch.core.config import Section
from nscma_torch.text.files.documents import BLOCK_CHARS


class CamOptions(Section):
    """Options of kind cam."""

    development: Literal["online", "offline"] = Field("online", description="How the hierarchy comes about.")
    batch: int = Field(64, gt=0, description="Messages that are integrated at once, online.")
    hierarchical: bool = Field(True, description="Whether there are summaries above the network of chunks.")
    flexible: bool = Field(True, description="Whether a node may belong to several clusters.")
    retrieval: Literal["prune-and-grow", "traversal", "global"] = Field("prune-and-grow", description="Strategy.")
    read: Literal["nodes", "chunks"] = Field("nodes", description="Whether the reader gets summaries too, or chunks.")
    top_k: int = Field(10, gt=0, description="Nodes that are read.")
    section_chars: int = Field(BLOCK_CHARS, ge=0, description="As of kind nscma.")
    config: dict[str, Any] = Field({}, description="As of kind nscma.")


def make_cam(section: Mapping[str, Any], shared: Shared) -> MemorySystem:
    """Kind cam."""
    options = options_of(CamOptions(), section)
    hierarchy: dict[str, Any] = {"enabled": True, "overlapping": options.flexible}
    if not options.hierarchical:
        hierarchy["max_levels"] = 0
    own = {
        "gate": {"rule": "everything"},
        "hierarchy": hierarchy,
        "retrieval": {
            "strategy": options.retrieval,
            "kinds": ["chunk", "summary"] if options.read == "nodes" else ["chunk"],
            "nodes": "cosine",
            "prune_and_grow": {"grown": 0, "association": 0.0},
        },
    }
    offline = options.development == "offline"
    made = NscmaOptions(
        answering="reader",
        graph=False,
        rebuild=offline,
        flush_every=0 if offline else options.batch,
        top_k=options.top_k,
        section_chars=options.section_chars,
        config=merged(own, options.config),
    )
    return nscma(section["name"], made, shared)
