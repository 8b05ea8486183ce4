"""Join networks into one level, as PyTorch Geometric batches graphs, so that one call clusters them all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nscma_torch.hierarchy.level import NUMBER_BITS, Level


def joined(levels: Sequence[Level]) -> Level:
    """Join networks into one level; each number then includes its network's position.

    Raises `MissingDependencyError` if there are several networks and torch-geometric is not installed.
    """
    if len(levels) == 1:  # avoids PyG, whose import takes longer than one small network
        return levels[0]
    from nscma_torch.hierarchy.pyg_network import Batch, Network, level_of

    return level_of(Batch.from_data_list([Network.of(level) for level in levels]))


def apart(level: Level) -> list[Level]:
    """Split a level into its networks, restoring their own numbers."""
    count = len(level.next_ids)
    if count == 1:
        return [level]
    split, within = level.split, (1 << NUMBER_BITS) - 1
    of_node, of_persona = level.nodes >> NUMBER_BITS, split.ids >> NUMBER_BITS
    of_edge = of_node[split.edge_index[0]]
    nodes, edges, personas = (torch.bincount(of, minlength=count) for of in (of_node, of_edge, of_persona))
    first = nodes.cumsum(0) - nodes  # row of each network
    parts = zip(
        _cut(level.nodes & within, nodes),
        _cut(split.edge_index - first[of_edge], edges),
        _cut(split.persona & within, edges),
        _cut(split.ids & within, personas),
        _cut(split.owner - first[of_persona], personas),
        _cut(level.weight, edges),
        _cut(level.cut, edges),
        _cut(level.labels & within, personas),
        _cut(level.next_ids, torch.ones_like(level.next_ids)),
        strict=True,
    )
    return [Level.of(*tensors) for tensors in parts]


def _cut(values: Tensor, sizes: Tensor) -> tuple[Tensor, ...]:
    """Split `values` along the last axis into parts with these sizes."""
    return torch.split(values, sizes.tolist(), dim=-1)
