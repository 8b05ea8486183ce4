"""Keys of the retrieval strategies; where a paper differs from the default, a key's value selects it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nscma_torch.core.config.section import Section


class RerankStrategyConfig(Section):
    """The rerank strategy (Structural Memory section 3.2)."""

    looked_at: int = Field(50, gt=0, description="K: units of the search that are scored again; the paper: 100.")
    kept: int = Field(
        0, ge=0, description="R: units that are left; 0 for as many as are asked for. The paper: 10 to 75."
    )


class IterativeStrategyConfig(Section):
    """The iterative strategy (Structural Memory section 3.2)."""

    ranked_by: Literal["all-rounds", "last-question"] = Field(
        "all-rounds",
        description="'last-question' searches with q_N, refined N times from q_0, as the paper does; 'all-rounds' "
        "adds up N searches, each for half of the one before.",
    )
    refinements: int = Field(3, gt=0, description="N: refinements, or searches with 'all-rounds'; the paper: 1 to 4.")
    refined_from: int = Field(
        5, gt=0, description="T: units of a round that the next question is made of; the paper: 50, to 75."
    )


class TraversalStrategyConfig(Section):
    """The traversal strategy (CAM section 4.2, hierarchical traversal)."""

    width: int = Field(20, gt=0, description="Summaries that are opened on each level.")


class PruneAndGrowStrategyConfig(Section):
    """The prune-and-grow strategy (CAM section 4.2)."""

    candidates: int = Field(20, gt=0, description="s: nodes of all levels that are judged first.")
    grown: int = Field(
        20,
        ge=0,
        description="Nodes beside and below active ones that a round judges, best first; 0 for all, as in CAM.",
    )
    rounds: int = Field(6, gt=0, description="Most rounds of judging, the first included.")
    association: float = Field(
        0.2, ge=0, description="Share of an active node's score that it lends to nodes beside and below it; CAM: 0."
    )
    returned: Literal["best", "active"] = Field(
        "best", description="As many active nodes as are asked for, or the whole active set, as in CAM."
    )
