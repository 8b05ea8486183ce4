"""Keys for the retrieval strategies. If the default differs from a paper, a value of the key selects the paper's
variant."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nscma_torch.core.config.section import Section


class RerankStrategyConfig(Section):
    """The rerank strategy (Structural Memory section 3.2)."""

    looked_at: int = Field(50, gt=0, description="K: number of search results to rescore; 100 in the paper.")
    kept: int = Field(
        0, ge=0, description="R: number of units returned; 0 returns the requested number. The paper uses 10 to 75."
    )


class IterativeStrategyConfig(Section):
    """The iterative strategy (Structural Memory section 3.2)."""

    ranked_by: Literal["all-rounds", "last-question"] = Field(
        "all-rounds",
        description="'last-question' searches with q_N, which is q_0 refined N times, as in the paper; 'all-rounds' "
        "sums the scores from N searches, each with half the weight of the previous one.",
    )
    refinements: int = Field(
        3, gt=0, description="N: number of refinements, or of searches with 'all-rounds'; 1 to 4 in the paper."
    )
    refined_from: int = Field(
        5, gt=0, description="T: number of units from a round used to write the next question; 50 to 75 in the paper."
    )


class TraversalStrategyConfig(Section):
    """The traversal strategy (CAM section 4.2, hierarchical traversal)."""

    width: int = Field(20, gt=0, description="Number of summaries to open on each level.")


class PruneAndGrowStrategyConfig(Section):
    """The prune-and-grow strategy (CAM section 4.2)."""

    candidates: int = Field(20, gt=0, description="s: number of nodes judged in the first round, from all levels.")
    grown: int = Field(
        20,
        ge=0,
        description="Number of neighbours and children of active nodes to judge per round, best first; 0 judges all, "
        "as in CAM.",
    )
    rounds: int = Field(6, gt=0, description="Maximum rounds of judging, including the first.")
    association: float = Field(
        0.2,
        ge=0,
        description="Fraction of an active node's score that is added to its neighbours and children; 0 in CAM.",
    )
    returned: Literal["best", "active"] = Field(
        "best", description="Nodes to return: the requested number of active nodes, or the whole active set, as in CAM."
    )
