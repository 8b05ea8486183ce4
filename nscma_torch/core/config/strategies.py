"""Keys of the retrieval strategies; where a paper differs from the default, a key's value selects it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nscma_torch.core.config.section import Section


class RerankStrategyConfig(Section):
    """The rerank strategy (Structural Memory section 3.2)."""

    looked_at: int = Field(50, gt=0, description="K: units of the search to score again; the paper: 100.")
    kept: int = Field(0, ge=0, description="R: units returned; 0 for the number requested. The paper: 10 to 75.")


class IterativeStrategyConfig(Section):
    """The iterative strategy (Structural Memory section 3.2)."""

    ranked_by: Literal["all-rounds", "last-question"] = Field(
        "all-rounds",
        description="'last-question' searches with q_N, refined N times from q_0, as in the paper; 'all-rounds' adds"
        " up N searches, each with half the weight of the one before.",
    )
    refinements: int = Field(3, gt=0, description="N: refinements, or searches with 'all-rounds'; the paper: 1 to 4.")
    refined_from: int = Field(
        5, gt=0, description="T: units of a round used for the next question; the paper: 50 to 75."
    )


class TraversalStrategyConfig(Section):
    """The traversal strategy (CAM section 4.2, hierarchical traversal)."""

    width: int = Field(20, gt=0, description="Summaries opened on each level.")


class PruneAndGrowStrategyConfig(Section):
    """The prune-and-grow strategy (CAM section 4.2)."""

    candidates: int = Field(20, gt=0, description="s: nodes of all levels judged first.")
    grown: int = Field(
        20,
        ge=0,
        description="Nodes beside and below active ones judged per round, best first; 0 for all, as in CAM.",
    )
    rounds: int = Field(6, gt=0, description="Maximum rounds of judging, including the first.")
    association: float = Field(
        0.2, ge=0, description="Share of an active node's score added to nodes beside and below it; CAM: 0."
    )
    returned: Literal["best", "active"] = Field(
        "best", description="Return the requested number of active nodes, or the whole active set, as in CAM."
    )
