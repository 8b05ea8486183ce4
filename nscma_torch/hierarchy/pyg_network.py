"""A network in the hierarchy as PyTorch Geometric data."""

from __future__ import annotations

from typing import Any

from nscma_torch.core.extras import import_torch_geometric
from nscma_torch.hierarchy.level import NUMBER_BITS, Level

import_torch_geometric("clustering several networks at once")
from torch_geometric.data import Batch, Data  # noqa: E402 - after the line that says what to do where it is missing

__all__ = ["Batch", "Network", "level_of"]

_NUMBERS = frozenset({"number", "persona", "persona_id", "cluster"})


class Network(Data):  # type: ignore[misc] # PyG has no types
    """A single network as PyG `Data`, on its level's device.

    Attributes:
        edge_index: [2, E] int64, node rows in both directions, ordered by (row, column).
        edge_weight: [E] float32.
        cut: [E] bool, True for edges that do not hold a cluster together.
        number: [n] int64, the nodes' numbers.
        persona: [E] int64, id of the persona that connects the edge's first node to the second.
        persona_id, owner, cluster: [P] int64, id, row and cluster of each persona.
        next_id: [1] int64, the smallest unused id.

    In a PyG `Batch`, rows continue from network to network, and numbers and ids have their network's position in the
    bits above the lower `NUMBER_BITS`; a batch thus corresponds to a `Level` with several networks.
    """

    @classmethod
    def of(cls, level: Level) -> Network:
        """Build the network for a level."""
        split = level.split
        return cls(
            num_nodes=len(level.nodes),
            edge_index=split.edge_index,
            edge_weight=level.weight,
            cut=level.cut,
            number=level.nodes,
            persona=split.persona,
            persona_id=split.ids,
            owner=split.owner,
            cluster=level.labels,
            next_id=level.next_ids,
        )

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the offset added to an attribute for each preceding network in a `Batch`."""
        if key in _NUMBERS:
            return 1 << NUMBER_BITS
        return self.num_nodes if key == "owner" else super().__inc__(key, value, *args, **kwargs)


def level_of(network: Data) -> Level:
    """Build the level for a `Network`, or for a `Batch` of several."""
    return Level.of(
        network.number,
        network.edge_index,
        network.persona,
        network.persona_id,
        network.owner,
        network.edge_weight,
        network.cut,
        network.cluster,
        network.next_id,
    )
